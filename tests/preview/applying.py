"""Applies a unified diff, as ``patch`` does, and refuses one whose line numbers or context are wrong."""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def apply(diff: str, texts: dict[str, str]) -> dict[str, str]:
    """The texts by file name after the diff; new files are added."""
    lines = _LINE.findall(diff)
    changed = dict(texts)
    at = 0
    while at < len(lines):
        assert lines[at].startswith("--- "), lines[at]
        old_name, new_name = lines[at][4:-1], lines[at + 1][4:-1]
        at += 2
        old = _LINE.findall("" if old_name == "/dev/null" else changed[old_name])
        new: list[str] = []
        taken = 0
        while at < len(lines) and (hunk := _HUNK.fullmatch(lines[at])):
            start, count, new_start, new_count = map(int, hunk.groups())
            first = start - 1 if count else start
            new += old[taken:first]
            assert len(new) == (new_start - 1 if new_count else new_start)
            at += 1
            taken, before = first, len(new)
            while at < len(lines) and lines[at][0] in " +-" and not lines[at].startswith("--- "):
                sign, line = lines[at][0], lines[at][1:]
                at += 1
                if at < len(lines) and lines[at].startswith("\\"):
                    line, at = line.removesuffix("\n"), at + 1
                if sign in " -":
                    assert old[taken] == line, (old[taken], line)
                    taken += 1
                if sign in " +":
                    new.append(line)
            assert (taken - first, len(new) - before) == (count, new_count)
        changed[new_name] = "".join([*new, *old[taken:]])
    return changed
