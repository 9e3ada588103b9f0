"""Changes values in YAML text and leaves every other character as it is.

A tree of positions (:mod:`app.preview.nodes`) is compared with the wanted value, and only what differs is
edited: comments, key order, quotes, indentation, anchors and line ends of the rest survive because nobody
writes them anew. The result is read back and compared; should it differ, the document is written afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.preview import emit
from app.preview.construct import construct, is_merge, key_of, merge_sources
from app.preview.edits import Edits, Entry, Part
from app.preview.nodes import Kind, Node
from app.preview.verify import reads_as


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The text of a document with another value."""

    parts: tuple[Part, ...]
    comments_kept: bool
    """False when the document had to be written afresh."""

    @property
    def text(self) -> str:
        """The new text."""
        return "".join(part.new for part in self.parts)


def rewrite(text: str, root: Node, old: Any, value: Any, newline: str = "\n") -> Rewritten:
    """The text of a document, changed so that it says ``value``.

    Args:
        text: of the document.
        root: its tree.
        old: what it says now.
        value: what it shall say; members that are not in it are removed, new ones stand behind the old ones.
        newline: how lines end.
    """
    style = _style(root)
    rewriter = _Rewriter(Edits(text, style))
    rewriter.visit(root, old, value, _Place(0, 0, inside=False))
    rewriter.drop_idle_anchors(root)
    rewritten = Rewritten(tuple(rewriter.edits.parts(newline)), comments_kept=True)
    if reads_as(rewritten.text, value):
        return rewritten
    # Some construct came out broken.
    return Rewritten((Part(text, emit.block(value, 0, style).replace("\n", newline)),), comments_kept=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands."""

    after: int
    """Offset behind the colon or dash before it."""
    indent: int
    """Column of that key or dash."""
    inside: bool
    """Inside braces or brackets."""
    dash: bool = False
    """Behind a dash."""


class _Rewriter:
    """Walks tree and wanted value in the order of the text, so that an alias comes after what it stands for."""

    def __init__(self, edits: Edits) -> None:
        self.edits = edits
        self._changed: set[int] = set()
        """Identities of nodes whose text no longer says what aliases to them mean."""
        self._gone: set[int] = set()
        """Identities of nodes whose text is no longer there."""

    def visit(self, node: Node, old: Any, new: Any, place: _Place) -> None:
        """Edits one value; ``old`` is what it says now."""
        if node.target is not None:
            if old != new or id(node.target) in self._changed:
                self._replace(node, new, place)
            return
        if old == new and not (node.aliased and self._changed):
            return
        before = len(self.edits)
        if node.kind is Kind.MAPPING and isinstance(new, Mapping):
            self._mapping(node, old, new, place)
        elif node.kind is Kind.SEQUENCE and isinstance(new, Sequence) and len(new) >= len(old) > 0:
            self._sequence(node, old, new)
        elif old != new:
            self._replace(node, new, place)
        if len(self.edits) > before:
            self._changed.add(id(node))

    def drop_idle_anchors(self, root: Node) -> None:
        """Removes anchors whose aliases were all written out; those that nobody used before stay."""
        used: dict[int, bool] = {}
        anchored: list[Node] = []
        for node in _walk(root) if root.aliased else ():
            if node.target is not None:
                used[id(node.target)] = used.get(id(node.target), False) or id(node) not in self._gone
            elif node.anchor is not None and id(node) not in self._gone:
                anchored.append(node)
        for node in anchored:
            if used.get(id(node)) is False:
                self.edits.remove_anchor(node)

    def _mapping(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any], place: _Place) -> None:
        entries = [Entry(value, key) for key, value in node.pairs]
        names = [None if is_merge(key) else key_of(key, node) for key, _ in node.pairs]
        merged = [name for name in old if name not in names]
        written_out: dict[str, Any] | None = None
        if None in names and self._merge_breaks(entries, names, merged, old, new):
            written_out = {name: new[name] for name in merged if name in new}
        kept = [
            entry
            for entry, name in zip(entries, names, strict=True)
            if (written_out != {} if name is None else name in new)
        ]
        added = {name: value for name, value in new.items() if name not in old}
        if not kept:
            self._replace(node, new, place)
            return
        for entry, name in zip(entries, names, strict=True):
            if entry not in kept:
                self._forget(entry.node)
            elif name is not None:
                says = construct(entry.node) if None in names else old[name]
                self.visit(entry.node, says, new[name], self._place_of(entry, node))
            elif written_out:
                self._forget(entry.node)
                self.edits.write_out(node, entry, written_out)
                written_out = {}
        self.edits.members(node, entries, kept, added)

    def _merge_breaks(
        self,
        entries: Sequence[Entry],
        names: Sequence[str | None],
        merged: Sequence[str],
        old: Mapping[str, Any],
        new: Mapping[str, Any],
    ) -> bool:
        """What is merged in no longer says what the mapping shall hold."""
        sources = [
            source for e, name in zip(entries, names, strict=True) if name is None for source in merge_sources(e.node)
        ]
        return any(id(source.resolved) in self._changed for source in sources) or any(
            name not in new or new[name] != old[name] for name in merged
        )

    def _sequence(self, node: Node, old: Sequence[Any], new: Sequence[Any]) -> None:
        entries = [Entry(item, None) for item in node.children]
        for entry, says, wanted in zip(entries, old, new[: len(old)], strict=True):
            self.visit(entry.node, says, wanted, self._place_of(entry, node))
        self.edits.members(node, entries, entries, list(new[len(old) :]))

    def _place_of(self, entry: Entry, parent: Node) -> _Place:
        if parent.flow:
            return _Place(entry.node.start, parent.column, inside=True)
        if entry.key is None:
            return _Place(self.edits.behind_dash(parent, entry), parent.column, inside=False, dash=True)
        return _Place(self.edits.behind_colon(entry), parent.column, inside=False)

    def _replace(self, node: Node, new: Any, place: _Place) -> None:
        self._forget(node)
        if place.inside:
            self.edits.put(node.start, node.end, emit.flow(new))
            return
        # What stands behind the last line of a block goes with that line; behind anything else it stays.
        block = bool(node.children) and not node.flow
        end = self.edits.end_of_line(node.end) if block else node.end
        same_kind = node.kind is Kind.MAPPING and isinstance(new, Mapping)
        same_kind |= node.kind is Kind.SEQUENCE and isinstance(new, Sequence) and not isinstance(new, str)
        if same_kind and new and block and node.anchor is None and node.tag is None:
            text = emit.block(new, node.column, self.edits.style)  # a comment behind the key stays
            self.edits.put(node.start, end, text.strip(" ").removesuffix("\n"))
            return
        write = emit.after_dash if place.dash else emit.after_key
        self.edits.put_value(place.after, end, write(new, place.indent, self.edits.style))

    def _forget(self, node: Node) -> None:
        for one in _walk(node):
            self._changed.add(id(one))
            self._gone.add(id(one))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _style(root: Node) -> emit.Style:
    """The indentation of a document, as its first nested mapping and its first list below a key show it."""
    step = dash = None
    for node in _walk(root):
        if node.kind is not Kind.MAPPING or node.flow:
            continue
        for _, value in node.pairs:
            if value.flow or not value.children:
                continue
            if value.kind is Kind.MAPPING and step is None:
                step = value.column - node.column
            elif value.kind is Kind.SEQUENCE and dash is None:
                dash = value.column - node.column
        if step is not None and dash is not None:
            break
    return emit.Style(step or emit.DEFAULT.step, emit.DEFAULT.dash if dash is None else dash)
