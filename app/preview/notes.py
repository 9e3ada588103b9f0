"""What goes to stderr beside a rendering: refusals, warnings, and what stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

from app.preview.converted import Converted
from app.preview.documents import Source
from app.preview.explain import stays_because
from app.preview.positions import place
from app.preview.printable import printable
from app.preview.report import Item, Preview
from app.translate.containers import mapping

Position = tuple[int | None, int | None]
"""Line and column, from 1, as far as they are known."""


def refusals(preview: Preview) -> Iterator[str]:
    """A line for each document or pod that would not run, with file, line and column where they are known."""
    for item in preview.refused:
        if item.error is not None:
            hint = f" ({item.error.hint})" if item.error.hint else ""
            where = item.error.line, item.error.column
            yield _line("error", item.source, where, f"{item.error.message}{hint}")
            continue
        for note, why in zip(item.notes, item.why(), strict=True):
            yield _about(item.outcome.value, item, item.position(note), why)


def notes(preview: Preview, converted: Converted) -> Iterator[str]:
    """Warnings of the pods, and what to know before applying the converted manifests."""
    for item in preview.items:
        yield from (_about("warning", item, item.position(note), note.message) for note in item.warnings)
        if item.stays:
            yield _about("note", item, item.position(), stays_because(item))
        metadata = mapping(item.manifest.get("metadata"))
        if item.changed is not None and metadata.get("generateName") and not metadata.get("name"):
            where = place(item.document, (*item.path, "metadata", "generateName"))
            yield _about("note", item, where, "has a generateName, so kubectl create must be used, not apply")
    for source, document in converted.afresh:
        text = f"document {document.index + 1} was written afresh, its comments could not be kept"
        yield _line("note", source, place(document, ()), text)


def _about(word: str, item: Item, where: Position | None, text: str) -> str:
    return _line(word, item.source, where, f"{item.title}: {text}")


def _line(word: str, source: Source, where: Position | None, text: str) -> str:
    """``WORD: FILE:LINE:COLUMN: TEXT``, as compilers print it."""
    numbers = [str(number) for number in where or () if number is not None]
    return printable(f"{word}: {':'.join((source.name or 'stdin', *numbers))}: {text}")
