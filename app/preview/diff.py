"""A unified diff of the input and its converted form, in the format of ``diff -u``.

Nothing is compared: the rewriting knows what it changed, so a diff costs no more than its output, and one
document never passes for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from app.preview import emit
from app.preview.converted import Converted
from app.preview.edits import Part

TEMPLATES_FILE: Final = "resourceclaimtemplates.yaml"
"""Name of the new file that a diff shows the templates as."""
_CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HUNK = re.compile(r"@@ -\d+,(\d+) \+\d+,(\d+) @@")
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f\udc80-\udcff]')
"""What a name in quotes holds as octal numbers of bytes; Python keeps those that are no UTF-8 as U+DC80 to U+DCFF."""
_COLOURS: Final = {"-": "31", "+": "32", "@": "36"}
"""Red, green and cyan, as git has them."""


def render_diff(converted: Converted, folder: Path | None = None) -> str:
    """The diff; ``patch -p0`` applies it. Empty when nothing changes.

    Args:
        converted: the input and what it becomes.
        folder: where ``patch`` will run. Files below it are named from there, since absolute names and such with ``..``
            are refused by ``patch``. None = names stay as they were given.
    """
    lines: list[str] = []
    if converted.templates:
        text = "---\n".join(emit.block(template) for template in converted.templates)
        lines += ["--- /dev/null\n", f"+++ {TEMPLATES_FILE}\n", *_hunks([Part("", text)])]
    for source, parts in converted.sources:
        # What cannot be read stays in the file: a comment in its place would lose it.
        unread = {id(part) for one in source.documents if one.error is not None for part in converted.parts[id(one)]}
        hunks = list(_hunks(Part(part.old, part.old) if id(part) in unread else part for part in parts))
        if hunks:
            name = _in_header(_below(source.name or "stdin.yaml", folder))
            lines += [f"--- {name}\n", f"+++ {name}\n", *hunks]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def painted(diff: str) -> str:
    """A diff with the colours of a terminal. Line ends stay outside of them, so that a pager may cut lines."""
    old = new = 0
    """Lines that the hunk still holds: outside of one, dashes are those of a file's name."""
    lines = []
    for line in _LINE.findall(diff):
        header = _HUNK.match(line) if not old and not new else None
        if header is not None:
            old, new = int(header[1]), int(header[2])
            colour = _COLOURS["@"]
        elif old or new:
            old, new = old - (line[0] in " -"), new - (line[0] in " +")
            colour = _COLOURS.get(line[0], "")
        else:
            colour = "" if line.startswith("\\") else "1"
        text = line.rstrip("\r\n")
        lines.append(f"\x1b[{colour}m{text}\x1b[0m{line[len(text) :]}" if colour else line)
    return "".join(lines)


def _below(name: str, folder: Path | None) -> str:
    """A name as ``patch`` takes it, where the file is below the folder."""
    path = Path(name)
    if folder is None or not (path.is_absolute() or ".." in path.parts):
        return name
    real, root = path.parent.resolve() / path.name, folder.resolve()
    return str(real.relative_to(root)) if real.is_relative_to(root) else name


def _in_header(name: str) -> str:
    """A name as ``diff`` writes it and ``patch`` reads it: without its tab a blank would end it."""
    if _ESCAPED.search(name):
        return '"' + _ESCAPED.sub(lambda match: f"\\{ord(match[0]) & 0xFF:03o}", name) + '"'
    if name.startswith(" "):  # `patch` skips blanks in front of a name
        return f'"{name}"'
    return f"{name}\t" if " " in name else name


def _hunks(parts: Iterable[Part]) -> Iterator[str]:
    hunk = _Hunk()
    for same, old, new in _blocks(parts):
        if not same:
            hunk.change(old, new)
        elif hunk.open and len(old) > 2 * _CONTEXT:
            yield from hunk.close(old)
        else:
            hunk.keep(old)
    yield from hunk.close([])


class _Hunk:
    """One hunk being written, and the line numbers on both sides."""

    def __init__(self) -> None:
        self.open = False
        self._lines: list[str] = []
        self._old = self._new = 0
        """Lines behind us."""

    def keep(self, lines: list[str]) -> None:
        """Lines that stay: context of an open hunk, or perhaps of the next one."""
        self._old, self._new = self._old + len(lines), self._new + len(lines)
        self._lines += [f" {line}" for line in lines]
        if not self.open:
            self._lines = self._lines[-_CONTEXT:]

    def change(self, old: list[str], new: list[str]) -> None:
        """Lines that differ."""
        self.open = True
        self._old, self._new = self._old + len(old), self._new + len(new)
        self._lines += [f"-{line}" for line in old]
        self._lines += [f"+{line}" for line in new]

    def close(self, lines: list[str]) -> Iterator[str]:
        """The hunk, ended by the first of the lines that stay; the last of them may start the next one."""
        if self.open:
            first, lines = lines[:_CONTEXT], lines[_CONTEXT:]
            self.keep(first)
            yield self._header()
            yield from self._lines
            self.open, self._lines = False, []
        self.keep(lines)

    def _header(self) -> str:
        old = sum(line[0] != "+" for line in self._lines)
        new = sum(line[0] != "-" for line in self._lines)
        return f"@@ -{_range(self._old, old)} +{_range(self._new, new)} @@\n"


def _range(behind: int, length: int) -> str:
    # A range without lines names the line before it.
    return f"{behind - length + 1 if length else behind},{length}"


def _blocks(parts: Iterable[Part]) -> Iterator[tuple[bool, list[str], list[str]]]:
    """Stretches that stay and stretches that change, in turn, as whole lines."""
    block: tuple[bool, list[str], list[str]] | None = None
    for part in _whole_lines(parts):
        same = part.old == part.new
        old, new = _LINE.findall(part.old), _LINE.findall(part.new)
        if block is not None and block[0] is same:
            block[1].extend(old)
            block[2].extend(new)
        else:
            if block is not None:
                yield block
            block = (same, old, new)
    if block is not None:
        yield block


def _whole_lines(parts: Iterable[Part]) -> Iterator[Part]:
    """The same parts, cut and joined so that each starts and ends with a line."""
    old = new = ""
    for part in parts:
        if part.old != part.new:
            old, new = old + part.old, new + part.new
            if f"\n{old}"[-1] == f"\n{new}"[-1] == "\n":
                yield Part(old, new)
                old = new = ""
            continue
        text = part.old
        if old or new:
            cut = text.find("\n") + 1 or len(text)
            old, new, text = old + text[:cut], new + text[:cut], text[cut:]
            if not old.endswith("\n"):
                continue
            yield Part(old, new)
        cut = text.rfind("\n") + 1
        if cut:
            yield Part(text[:cut], text[:cut])
        old = new = text[cut:]
    if old or new:
        yield Part(old, new)
