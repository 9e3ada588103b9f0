"""The one error of reading manifests: a word, a sentence, the position and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Code(StrEnum):
    """What is wrong with a document, as a word for machines (``docs/preview.md`` says more of each)."""

    TOO_LARGE = "too-large"
    TOO_MANY_DOCUMENTS = "too-many-documents"
    TOO_MANY_VALUES = "too-many-values"
    NESTED_TOO_DEEP = "nested-too-deep"
    ALIASES_EXPAND_TOO_FAR = "aliases-expand-too-far"
    CANNOT_OPEN = "cannot-open"
    NO_FILES = "no-files"
    BINARY = "binary"
    NOT_UTF8 = "not-utf8"
    YAML_SYNTAX = "yaml-syntax"
    JSON_SYNTAX = "json-syntax"
    TAB = "tab"
    TEMPLATE_NOT_RENDERED = "template-not-rendered"
    DUPLICATE_KEY = "duplicate-key"
    COMPLEX_KEY = "complex-key"
    MERGE = "merge"
    UNKNOWN_ANCHOR = "unknown-anchor"
    ANCHOR_IN_ITSELF = "anchor-in-itself"
    NOT_JSON = "not-json"
    SEPARATOR = "separator"
    AFTER_DOCUMENT_END = "after-document-end"
    NOT_A_MANIFEST = "not-a-manifest"


@dataclass(eq=False)
class ManifestError(ValueError):
    """A document that cannot be read.

    Positions are those of an editor, counted from 1; ``document`` is the index in the input, counted from 0
    among the documents that hold something, as in the report.
    """

    code: Code
    message: str
    """What was read and why it cannot be."""
    document: int = 0
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    """What to do instead."""

    def __str__(self) -> str:
        return f"{self.where}{self.message}" + (f" ({self.hint})" if self.hint else "")

    @property
    def where(self) -> str:
        """The position as text, ``line 3, column 7: ``; empty where no position is known."""
        parts = [f"{word} {number}" for word, number in (("line", self.line), ("column", self.column)) if number]
        return f"{', '.join(parts)}: " if parts else ""

    def of(self, document: int) -> ManifestError:
        """The same error as one of a document of the input."""
        return replace(self, document=document)
