"""Collects the inputs of a command line: files, directories, standard input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from app.preview.documents import MAX_BYTES, Source, read, unreadable
from app.preview.errors import Code, ManifestError

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read from a directory, as kubectl does."""


def collect(paths: Iterable[str], stdin: BinaryIO, *, recursive: bool = False) -> list[Source]:
    """Every input, in the order given; the files of a directory by name.

    Args:
        paths: files, directories, and ``-`` for standard input.
        stdin: where ``-`` reads from.
        recursive: also read directories in directories.

    Returns:
        A source for each; what cannot be opened is a source with that error.
    """
    sources: list[Source] = []
    for path in paths:
        if path == STDIN:
            sources.append(read(stdin.read(MAX_BYTES + 1)))
        elif Path(path).is_dir():
            files = sorted(_files(Path(path), recursive=recursive))
            hint = None if recursive else "add --recursive for the directories in it"
            missing = _failed(path, Code.NO_FILES, f"no {', '.join(SUFFIXES)} file in it", hint)
            sources += [_read_file(file) for file in files] or [missing]
        else:
            sources.append(_read_file(Path(path)))
    return sources


def _files(folder: Path, *, recursive: bool) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir():
            if recursive and not entry.name.startswith("."):
                yield from _files(entry, recursive=True)
        elif entry.suffix in SUFFIXES:
            yield entry


def _read_file(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            return read(file.read(MAX_BYTES + 1), str(path))  # one byte more than allowed: enough to tell
    except OSError as error:
        return _failed(str(path), Code.CANNOT_OPEN, f"cannot be opened: {error.strerror}", None)


def _failed(name: str, code: Code, message: str, hint: str | None) -> Source:
    return unreadable(ManifestError(code, message, hint=hint), name)
