"""Parses one YAML document into a tree that knows where everything stands in the text.

libyaml scans, which is the scanner that kubectl's own was ported from, so both accept the same documents.
The tree exists beside the values because a preview points at positions and rewrites only what changes.
Depth, size and the expansion of aliases are bounded while parsing, before any value is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import yaml

from app.preview.errors import Code, ManifestError
from app.preview.hints import hint_for

MAX_DEPTH = 200
"""Nested collections. Manifests stay below 30, the schemas of large CustomResourceDefinitions below 80."""
MAX_NODES = 1_000_000
"""Values of one input: what 7 MiB of ordinary manifests hold is half of it."""
MAX_EXPANDED = 16 * 1024 * 1024
"""Characters and values that an input may hold once its aliases are written out; 7 MiB without aliases stay below."""


class Kind(Enum):
    """What a node is."""

    SCALAR = "scalar"
    SEQUENCE = "sequence"
    MAPPING = "mapping"
    ALIAS = "alias"


@dataclass(slots=True)
class Node:
    """One value of the document and its place in the text."""

    kind: Kind
    start: int
    """Offset of its first character, of its anchor or tag where it has one."""
    end: int
    """Offset behind its last character; without trailing comments and blank lines."""
    line: int
    """Of the input, from 0."""
    column: int
    """From 0; of a block collection: the column of its first key or dash."""
    text: str = ""
    """Content of a scalar, name of an alias."""
    tag: str | None = None
    anchor: str | None = None
    plain: bool = False
    """A scalar without quotes."""
    flow: bool = False
    """A collection in braces or brackets."""
    children: list[Node] = field(default_factory=list, repr=False)
    """Items of a sequence; keys and values of a mapping in turn."""
    target: Node | None = None
    """What an alias stands for."""
    weight: int = 1
    """Characters and values in it once its aliases are written out."""
    aliased: bool = False
    """An alias is in it somewhere."""

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """Keys and values of a mapping, in the order of the text."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    @property
    def resolved(self) -> Node:
        """The node itself, or what an alias stands for."""
        return self if self.target is None else self.target


@dataclass(slots=True)
class Budget:
    """What the documents of one input have used of its limits."""

    values: int = 0
    expanded: int = 0
    """Characters and values, with aliases written out."""
    words: dict[str, str] = field(default_factory=dict, repr=False)
    """Every text once: keys and most values of manifests are there a thousand times."""


def too_many_values() -> ManifestError:
    """More values than an input may hold."""
    return ManifestError(Code.TOO_MANY_VALUES, f"more than {MAX_NODES:,} values in one input", hint="split it")


def parse(text: str, first_line: int = 0, budget: Budget | None = None) -> Node | None:
    """The tree of one document; None when it is empty.

    Args:
        first_line: lines of the input before the text; nodes and errors count from the start of the input.
        budget: of the input; None = the document is all of it.

    Raises:
        ManifestError: for what is no YAML, or more of it than the limits allow.
    """
    try:
        return _Builder(text, first_line, budget or Budget()).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        code, message, hint, line, column = hint_for(text, error.problem or "not YAML", line, column)
        raise ManifestError(code, message, line=first_line + line + 1, column=column + 1, hint=hint) from error
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="ignore")  # libyaml counts bytes
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ManifestError(Code.YAML_SYNTAX, message, line=first_line + line, column=column) from error


_BLOCKS = frozenset("|>")
"""Styles of block scalars."""
_NO_CHILDREN: list[Node] = []
"""Shared by all leaves: a list for each would double the memory of a tree."""


class _Builder:
    """Turns libyaml's events into a tree."""

    def __init__(self, text: str, first_line: int, budget: Budget) -> None:
        self._text = text
        self._first_line = first_line
        self._budget = budget
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._root: Node | None = None

    def build(self) -> Node | None:
        # Half of the time of a preview is spent from here on, hence the plain loop and positional arguments below.
        next_event: Callable[[], Any] = yaml.CBaseLoader(self._text).get_event
        handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._finish,
            yaml.SequenceEndEvent: self._finish,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        budget = self._budget
        while (event := next_event()) is not None:
            handle = handlers.get(type(event))
            if handle is not None:
                handle(event)
            if budget.values > MAX_NODES:
                raise self._placed(event, too_many_values())
        if self._root is not None:
            budget.expanded += self._root.weight
        return self._root

    def _document(self, event: Any) -> None:
        if self._root is not None:
            hint = "write --- between documents; kubectl does not read what follows ..."
            raise self._at(event, Code.AFTER_DOCUMENT_END, "text after the end of the document", hint)

    def _scalar(self, event: Any) -> None:
        budget, mark, style, anchor = self._budget, event.start_mark, event.style, event.anchor
        text = budget.words.setdefault(event.value, event.value)
        start, end = mark.index, event.end_mark.index
        if style in _BLOCKS:
            # Its event ends where the next token starts; its content ends with its last line.
            end = start + len(self._text[start:end].rstrip())
        node = Node(
            Kind.SCALAR, start, end, self._first_line + mark.line, mark.column,
            text, event.tag, anchor, not style, False, _NO_CHILDREN, None, len(text) + 1, False,
        )  # fmt: skip
        budget.values += 1
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        parent.children.append(node)
        parent.weight += node.weight
        if parent.flow and not style and "?" in text:
            # libyaml reads it since 0.2.0; the port in kubectl is older.
            message = "kubectl does not read ? inside braces without quotes"
            raise self._at(event, Code.YAML_SYNTAX, message, f"quote {text[:40]}")

    def _start(self, event: Any) -> None:
        mark, anchor = event.start_mark, event.anchor
        kind = Kind.MAPPING if type(event) is yaml.MappingStartEvent else Kind.SEQUENCE
        end, column, flow = event.end_mark.index, mark.column, bool(event.flow_style)
        if kind is Kind.SEQUENCE and not flow:
            # The event ends before the first dash, or behind it when the list is not indented.
            dash = end - (self._text[end : end + 1] != "-")
            column = dash - self._text.rfind("\n", 0, dash) - 1
        node = Node(
            kind, mark.index, end, self._first_line + mark.line, column,
            "", event.tag, anchor, False, flow, [], None, 1, False,
        )  # fmt: skip
        self._budget.values += 1
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node
        self._open.append(node)
        if len(self._open) > MAX_DEPTH:
            raise self._at(event, Code.NESTED_TOO_DEEP, f"more than {MAX_DEPTH} collections inside each other")

    def _finish(self, event: Any) -> None:
        node = self._open.pop()
        children = node.children
        if node.flow:
            node.end = event.end_mark.index
        elif children:
            node.end = children[-1].end
            if node.kind is Kind.MAPPING:
                first = children[0]
                node.end = max(node.end, children[-2].end)
                node.line, node.column = first.line, first.column
        if self._open:
            parent = self._open[-1]
            parent.weight += node.weight
            parent.aliased |= node.aliased

    def _alias(self, event: Any) -> None:
        name = str(event.anchor)
        target = self._anchors.get(name)
        if target is None:
            hint = f"write &{name} where the value is first used; anchors do not reach across ---"
            raise self._at(event, Code.UNKNOWN_ANCHOR, f"*{name} has no anchor &{name} before it", hint)
        if any(target is node for node in self._open):
            raise self._at(event, Code.ANCHOR_IN_ITSELF, f"the value of anchor &{name} holds *{name}")
        mark = event.start_mark
        node = Node(
            Kind.ALIAS, mark.index, event.end_mark.index, self._first_line + mark.line, mark.column,
            name, target=target, weight=target.weight, aliased=True, children=_NO_CHILDREN,
        )  # fmt: skip
        self._budget.values += 1
        if self._open:
            parent = self._open[-1]
            parent.children.append(node)
            parent.weight += node.weight
            parent.aliased = True
        if self._budget.expanded + sum(parent.weight for parent in self._open) > MAX_EXPANDED:
            raise self._at(event, Code.ALIASES_EXPAND_TOO_FAR, "written out, the aliases hold more than 16 MiB")

    def _at(self, event: Any, code: Code, message: str, hint: str | None = None) -> ManifestError:
        return self._placed(event, ManifestError(code, message, hint=hint))

    def _placed(self, event: Any, error: ManifestError) -> ManifestError:
        mark = event.start_mark
        return replace(error, line=self._first_line + mark.line + 1, column=mark.column + 1)
