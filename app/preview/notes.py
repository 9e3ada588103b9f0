"""What goes to stderr beside a rendering: refusals, warnings, and what stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

from app.preview.converted import Converted
from app.preview.explain import stays_because
from app.preview.report import Item, Preview
from app.translate.containers import mapping


def refusals(preview: Preview) -> Iterator[str]:
    """A line for each document or pod that would not run, with file, line and column where they are known."""
    for item in preview.refused:
        for why in item.why():
            if item.error is None:
                yield f"{item.outcome.value}: {_place(item)}{item.title}: {why}"
            else:
                numbers = [str(n) for n in (item.error.line, item.error.column) if n is not None]
                hint = f" ({item.error.hint})" if item.error.hint else ""
                yield f"error: {':'.join((item.source.name or 'stdin', *numbers))}: {item.error.message}{hint}"


def notes(preview: Preview, converted: Converted) -> Iterator[str]:
    """Warnings of the pods, and what to know before applying the converted manifests."""
    for item in preview.items:
        yield from (f"warning: {_place(item)}{item.title}: {note.message}" for note in item.warnings)
        if item.stays:
            yield f"note: {_place(item)}{item.title}: {stays_because(item)}"
        metadata = mapping(item.manifest.get("metadata"))
        if item.changed is not None and metadata.get("generateName") and not metadata.get("name"):
            yield f"note: {_place(item)}{item.title}: has a generateName, so kubectl create must be used, not apply"
    for document in converted.afresh:
        yield f"note: document {document.index + 1} was written afresh, its comments could not be kept"


def _place(item: Item) -> str:
    return f"{item.source.name}: " if item.source.name else ""
