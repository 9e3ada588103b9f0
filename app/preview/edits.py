"""Edits of YAML text by position: members removed from and added to collections, without touching their neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.preview import emit
from app.preview.nodes import Kind, Node


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A key with its value, or an item of a list (``key`` is None)."""

    node: Node
    key: Node | None

    @property
    def start(self) -> int:
        """Offset of the key, or of the item."""
        return self.node.start if self.key is None else self.key.start

    @property
    def end(self) -> int:
        """Offset behind the value."""
        return self.node.end if self.key is None else max(self.key.end, self.node.end)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a text and what stands in its place."""

    old: str
    new: str


class Edits:
    """Replacements in one text. They may touch each other; only removals may overlap."""

    def __init__(self, text: str, style: emit.Style) -> None:
        self._text = text
        self.style = style
        self._edits: list[tuple[int, int, str]] = []

    def __len__(self) -> int:
        return len(self._edits)

    def put(self, start: int, end: int, new: str) -> None:
        """Replaces what stands between two offsets."""
        self._edits.append((start, end, new))

    def parts(self, newline: str) -> list[Part]:
        """The text as stretches that stay and stretches that change; new lines end as told."""
        parts: list[Part] = []
        at = 0
        for start, end, new in sorted(self._edits, key=lambda edit: edit[:2]):
            if start > at:
                parts.append(Part(self._text[at:start], self._text[at:start]))
            parts.append(Part(self._text[max(at, start) : end], new.replace("\n", newline)))
            at = max(at, end)
        return [*parts, Part(self._text[at:], self._text[at:])]

    def behind_colon(self, entry: Entry) -> int:
        """Offset behind the colon of an entry in a block mapping."""
        key = entry.node if entry.key is None else entry.key
        return self._text.index(":", key.end) + 1

    def behind_dash(self, parent: Node, entry: Entry) -> int:
        """Offset behind the dash of an item in a block list."""
        at = entry.start
        while self._text[at : at + 1] != "-" or at - self._line_start(at) != parent.column:
            at -= 1
        return at + 1

    def end_of_line(self, at: int) -> int:
        """Offset of the line's end, before its newline."""
        return at + len(self._text[at : self._line_end(at)].rstrip("\r\n"))

    def put_value(self, after: int, end: int, new: str) -> None:
        """Replaces a value behind a colon or dash; what starts on a line of its own leaves a comment where it is.

        Args:
            after: offset behind the colon or dash.
            end: offset behind the value.
            new: as :mod:`app.preview.emit` writes it, with its last newline.
        """
        line_end = self._line_end(end)
        if new.startswith("\n") and self._text[end:line_end].lstrip(" ").startswith("#"):
            self.put(after, end, "")
            self._put_lines(line_end, new[1:])
        else:
            self.put(after, end, new.removesuffix("\n"))

    def remove_anchor(self, node: Node) -> None:
        """Removes the anchor in front of a value that stays."""
        end = node.start + len(f"&{node.anchor}")
        if self._text[node.start : end] == f"&{node.anchor}":
            behind = self._text[end : end + 1] == " "
            self.put(node.start - (not behind), end + behind, "")

    def write_out(self, parent: Node, merge: Entry, values: Mapping[str, Any]) -> None:
        """Writes the members behind a merge key in its place."""
        if parent.flow:
            self.put(merge.start, merge.end, emit.flow(values)[1:-1])
        else:
            text = emit.block(values, parent.column, self.style)
            self.put(merge.start, merge.end, text.strip(" ").removesuffix("\n"))

    def members(
        self, node: Node, entries: Sequence[Entry], kept: Sequence[Entry], added: Mapping[str, Any] | Sequence[Any]
    ) -> None:
        """Removes the entries of a collection that are not kept (one at least is), and adds members behind them."""
        remaining = set(kept)
        stays = [entry in remaining for entry in entries]
        if node.flow:
            self._remove_inside(entries, stays)
            if added:
                self.put(kept[-1].end, kept[-1].end, ", " + emit.flow(added)[1:-1])
            return
        for index, entry in enumerate(entries):
            if not stays[index]:
                follower = next((e for e, stay in zip(entries[index:], stays[index:], strict=True) if stay), None)
                self._remove_lines(entry, follower)
        if added:
            self._append_lines(node, kept[-1], emit.block(added, node.column, self.style))

    def _remove_lines(self, entry: Entry, follower: Entry | None) -> None:
        start = self._line_start(entry.start)
        if not self._text[start : entry.start].strip():
            self.put(start, self._line_end(entry.end), "")
        elif follower is not None:
            self.put(entry.start, follower.start, "")  # the first key behind a dash: the next one takes its place

    def _append_lines(self, node: Node, last: Entry, lines: str) -> None:
        at = self._line_end(last.end)
        # Comments below the last member that are indented like it, or further, belong to it.
        least = node.column + (node.kind is Kind.SEQUENCE)
        while True:
            end = self._line_end(at)
            line = self._text[at:end]
            bare = line.lstrip(" ")
            if not bare.startswith("#") or len(line) - len(bare) < least:
                break
            at = end
        self._put_lines(at, lines)

    def _put_lines(self, at: int, lines: str) -> None:
        if at and self._text[at - 1] != "\n":
            lines = "\n" + lines.removesuffix("\n")  # the last line of a text that ends without a newline
        self.put(at, at, lines)

    def _remove_inside(self, entries: Sequence[Entry], stays: Sequence[bool]) -> None:
        """Removes entries between braces or brackets, each with one comma."""
        seen = False
        for index, entry in enumerate(entries):
            if stays[index]:
                seen = True
            elif seen:
                self.put(entries[index - 1].end, entry.end, "")
            else:
                self.put(entry.start, entries[index + 1].start, "")

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """Offset behind the newline that ends the line."""
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end + 1
