"""The converted manifests: what ``kubectl apply -f -`` gets, as like the input as can be.

Templates come first. An input that nothing changes comes back byte for byte; in a changed one only the changed
values differ. JSON has no comments to keep and becomes YAML as soon as anything else is printed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.preview import emit
from app.preview.documents import BOM, Document, Source
from app.preview.edits import Part
from app.preview.report import Item, Preview
from app.preview.rewrite import rewrite
from app.preview.workloads import put


@dataclass(slots=True)
class Converted:
    """The templates and the converted text of each input."""

    templates: list[dict[str, Any]]
    sources: list[tuple[Source, list[Part]]]
    afresh: list[tuple[Source, Document]] = field(default_factory=list)
    """Documents whose comments could not be kept."""
    parts: dict[int, list[Part]] = field(default_factory=dict, repr=False)
    """Those of each document, by its identity."""

    def text_of(self, document: Document) -> str:
        """The converted text of one document."""
        return "".join(part.new for part in self.parts[id(document)])

    @property
    def changes(self) -> bool:
        """Anything differs from the input."""
        return any(part.old != part.new for _, parts in self.sources for part in parts)

    def yaml(self) -> str:
        """Everything as one stream of YAML documents."""
        pieces = [emit.block(template) for template in self.templates]
        pieces += ["".join(part.new for part in parts) for _, parts in self.sources]
        if len(pieces) == 1:
            return pieces[0]
        text = ""
        for piece in (piece.removeprefix(BOM) for piece in pieces):
            if text and not text.endswith("\n"):
                text += "\n"
            text += piece if not text or piece.startswith("---") else f"---\n{piece}"
        return text


def convert(preview: Preview) -> Converted:
    """The converted form of an input, also of one with documents that are refused: those stay as they are.

    What cannot be read is replaced by a comment that says so.
    """
    changed: dict[int, list[Item]] = {}
    for item in preview.items:
        if item.changed is not None:
            changed.setdefault(id(item.document), []).append(item)
    converted = Converted(_templates(preview), [])
    verbatim = len(preview.sources) == 1 and not changed
    for source in preview.sources:
        parts = list(_parts(source, changed, verbatim, converted))
        converted.sources.append((source, parts))
    return converted


def _templates(preview: Preview) -> list[dict[str, Any]]:
    """The templates of rewritten objects, each once; the webhook itself writes those of pods that it converts."""
    found: dict[tuple[str | None, str], dict[str, Any]] = {}
    for item in preview.items:
        if item.changed is not None and item.decision is not None:
            for template in item.decision.templates:
                found.setdefault((item.namespace, template.name), template.body(item.namespace))
    return list(found.values())


def _parts(source: Source, changed: Mapping[int, list[Item]], verbatim: bool, converted: Converted) -> Iterator[Part]:
    at = 0
    before: Document | None = None
    for document in source.documents:
        between = source.text[at : document.start]
        separated = before is None or before.root is not None or "---" in between
        yield Part(between, between if separated or verbatim else "---\n")
        parts = list(_document(source, document, changed.get(id(document), []), verbatim, converted))
        converted.parts[id(document)] = parts
        yield from parts
        at, before = document.end, document
    yield Part(source.text[at:], source.text[at:])


def _document(
    source: Source, document: Document, items: list[Item], verbatim: bool, converted: Converted
) -> Iterable[Part]:
    text = source.text[document.start : document.end]
    if document.error is not None:
        return [Part(text, f"# left out, cannot be read: {' '.join(str(document.error).split())}\n")]
    value = put(document.value, ((item.path, item.changed) for item in items)) if items else document.value
    if document.root is None:
        return [Part(text, text if verbatim else emit.block(value))]
    if not items:
        return [Part(text, text)]
    rewritten = rewrite(text, document.root, document.value, value, source.newline)
    if not rewritten.comments_kept:
        converted.afresh.append((source, document))
    return rewritten.parts
