"""Parses one YAML document into a tree that knows where everything stands in the text.

libyaml scans, which is the scanner that kubectl's own was ported from, so both accept the same documents.
The tree exists beside the values because a preview points at positions and rewrites only what changes.
Depth, size and the expansion of aliases are bounded while parsing, before any value is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import yaml

from app.preview.errors import Code, ManifestError
from app.preview.hints import hint_for

MAX_DEPTH = 200
"""Nested collections. Manifests stay below 30, the schemas of large CustomResourceDefinitions below 80."""
MAX_NODES = 1_000_000
"""Values of one document: what 7 MiB of ordinary manifest hold is half of it."""
MAX_EXPANDED = 16 * 1024 * 1024
"""Characters and values that a document may hold once its aliases are written out; 7 MiB without aliases stay below."""


class Kind(Enum):
    """What a node is."""

    SCALAR = "scalar"
    SEQUENCE = "sequence"
    MAPPING = "mapping"
    ALIAS = "alias"


_LEAVES = (Kind.SCALAR, Kind.ALIAS)


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


def parse(text: str, first_line: int = 0) -> Node | None:
    """The tree of one document; None when it is empty.

    Args:
        first_line: lines of the input before the text; nodes and errors count from the start of the input.

    Raises:
        ManifestError: for what is no YAML, or more of it than the limits allow.
    """
    try:
        return _Builder(text, first_line).build()
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


_NO_CHILDREN: list[Node] = []
"""Shared by all leaves: a list for each would double the memory of a tree."""


class _Builder:
    """Turns libyaml's events into a tree."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._root: Node | None = None
        self._nodes = 0

    def build(self) -> Node | None:
        for event in yaml.parse(self._text, Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._finish(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
                hint = "write --- between documents; kubectl does not read what follows ..."
                raise self._at(event, Code.AFTER_DOCUMENT_END, "text after the end of the document", hint)
        return self._root

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark, event.end_mark
        # A block scalar's event ends where the next token starts; its content ends with its last line.
        block = event.style in ("|", ">")
        stop = start.index + len(self._text[start.index : end.index].rstrip()) if block else end.index
        node = self._node(Kind.SCALAR, event, stop)
        node.text, node.tag = event.value, event.tag
        node.plain = not event.style
        if node.plain and "?" in event.value and self._open and self._open[-1].flow:
            # libyaml reads it since 0.2.0; the port in kubectl is older.
            message = "kubectl does not read ? inside braces without quotes"
            raise self._at(event, Code.YAML_SYNTAX, message, f"quote {event.value[:40]}")
        node.weight = 1 + len(event.value)
        self._add(node, event)

    def _start(self, event: Any) -> None:
        kind = Kind.MAPPING if isinstance(event, yaml.MappingStartEvent) else Kind.SEQUENCE
        node = self._node(kind, event, event.end_mark.index)
        node.flow = bool(event.flow_style)
        if kind is Kind.SEQUENCE and not node.flow:
            # The event ends before the first dash, or behind it when the list is not indented.
            dash = event.end_mark.index - (self._text[event.end_mark.index : event.end_mark.index + 1] != "-")
            node.column = dash - self._text.rfind("\n", 0, dash) - 1
        self._add(node, event)
        self._open.append(node)
        if len(self._open) > MAX_DEPTH:
            raise self._at(event, Code.NESTED_TOO_DEEP, f"more than {MAX_DEPTH} collections inside each other")

    def _finish(self, event: Any) -> None:
        node = self._open.pop()
        if node.flow:
            node.end = event.end_mark.index
        elif node.children:
            node.end = node.children[-1].end
            if node.kind is Kind.MAPPING:
                node.end = max(node.end, node.children[-2].end)
                node.line, node.column = node.children[0].line, node.children[0].column
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
        node = self._node(Kind.ALIAS, event, event.end_mark.index)
        node.text, node.target, node.weight, node.aliased = name, target, target.weight, True
        self._add(node, event)
        if sum(parent.weight for parent in self._open) > MAX_EXPANDED:
            raise self._at(event, Code.ALIASES_EXPAND_TOO_FAR, "written out, the aliases hold more than 16 MiB")

    def _add(self, node: Node, event: Any) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._at(event, Code.TOO_MANY_VALUES, f"more than {MAX_NODES:,} values in one document", "split it")
        if node.kind is not Kind.ALIAS and event.anchor is not None:
            node.anchor = event.anchor
            self._anchors[event.anchor] = node
        if self._open:
            parent = self._open[-1]
            parent.children.append(node)
            if node.kind in _LEAVES:
                parent.weight += node.weight
                parent.aliased |= node.aliased
        else:
            self._root = node

    def _node(self, kind: Kind, event: Any, end: int) -> Node:
        mark = event.start_mark
        children = _NO_CHILDREN if kind in _LEAVES else []
        return Node(kind, mark.index, end, self._first_line + mark.line, mark.column, children=children)

    def _at(self, event: Any, code: Code, message: str, hint: str | None = None) -> ManifestError:
        mark = event.start_mark
        return ManifestError(code, message, line=self._first_line + mark.line + 1, column=mark.column + 1, hint=hint)
