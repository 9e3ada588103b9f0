"""Collects the inputs of a command line: files, directories, standard input."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol, TypeVar

from app.preview.documents import MAX_BYTES, Source, read, unreadable
from app.preview.errors import Code, ManifestError

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read from a directory, as kubectl does."""
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What makes a directory a kustomization, and its other files patches and parts of manifests."""
T = TypeVar("T")


class Track(Protocol):
    """Passes things on one by one, and may show how far it is."""

    def __call__(self, things: Sequence[T], what: str) -> Iterable[T]:
        """Args: the things, and what is done to them as one word."""


def untracked(things: Sequence[T], what: str) -> Iterable[T]:
    """Shows nothing."""
    del what
    return things


def collect(
    paths: Iterable[str], stdin: BinaryIO, *, recursive: bool = False, track: Track = untracked
) -> list[Source]:
    """Every input, in the order given; the files of a directory by name.

    Args:
        paths: files, directories, and ``-`` for standard input.
        stdin: where ``-`` reads from.
        recursive: also read directories in directories.
        track: shows progress.

    Returns:
        A source for each; what cannot be opened is a source with that error.
    """
    found = [one for path in paths for one in _expanded(path, recursive=recursive)]
    return [one if isinstance(one, Source) else _read(one, stdin) for one in track(found, "reading")]


def _expanded(path: str, *, recursive: bool) -> list[str | Source]:
    """The files of a directory; anything else is itself."""
    if path == STDIN or not Path(path).is_dir():
        return [path]
    try:
        found = sorted(_files(Path(path), recursive=recursive))
    except OSError as error:
        return [_cannot_open(error.filename, error)]
    hint = None if recursive else "add --recursive for the directories in it"
    return [_kustomization(one) if one.is_dir() else str(one) for one in found] or [
        _failed(path, Code.NO_FILES, f"no {', '.join(SUFFIXES)} file in it", hint)
    ]


def _files(folder: Path, *, recursive: bool) -> Iterator[Path]:
    """Files with manifests, and directories that only kustomize can read."""
    entries = list(folder.iterdir())
    if any(entry.name in KUSTOMIZATIONS for entry in entries):
        yield folder
        return
    for entry in entries:
        if entry.is_dir():
            if recursive and not entry.name.startswith(".") and not entry.is_symlink():  # a link may lead back here
                yield from _files(entry, recursive=True)
        elif entry.suffix in SUFFIXES:
            yield entry


def _read(path: str, stdin: BinaryIO) -> Source:
    if path == STDIN:
        return read(stdin.read(MAX_BYTES + 1))  # one byte more than allowed: enough to tell
    file = Path(path)
    if file.name in KUSTOMIZATIONS:
        return _kustomization(file.parent)
    try:
        with file.open("rb") as opened:
            return read(opened.read(MAX_BYTES + 1), str(file))
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        return _cannot_open(path, error)


def _cannot_open(path: str, error: OSError | ValueError) -> Source:
    why = error.strerror if isinstance(error, OSError) else error
    return _failed(path, Code.CANNOT_OPEN, f"cannot be opened: {why}", None)


def _kustomization(folder: Path) -> Source:
    message = "a kustomization: only kustomize can put its patches and bases together"
    hint = f"let it do that: kubectl kustomize {shlex.quote(str(folder))} | hami-dra-webhook preview -"
    return _failed(str(folder), Code.KUSTOMIZATION, message, hint)


def _failed(name: str, code: Code, message: str, hint: str | None) -> Source:
    return unreadable(ManifestError(code, message, hint=hint), name)
