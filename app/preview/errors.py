"""What can be wrong with an input or a request: a word, a sentence, the position and what to do about it.

Every door says it in one shape: ``{"code", "message", "document", "line", "column", "path", "hint"}``, as a reason of
the report and as ``{"error": …}`` where a whole request is refused.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final


class Code(StrEnum):
    """What is wrong with a document or a request, as a word for machines (``docs/preview.md`` says more of each)."""

    TOO_LARGE = "too-large"
    TOO_MANY_DOCUMENTS = "too-many-documents"
    TOO_MANY_VALUES = "too-many-values"
    NESTED_TOO_DEEP = "nested-too-deep"
    ALIASES_EXPAND_TOO_FAR = "aliases-expand-too-far"
    CANNOT_OPEN = "cannot-open"
    NO_FILES = "no-files"
    KUSTOMIZATION = "kustomization"
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

    INVALID_OPTION = "invalid-option"
    REFUSED = "refused"
    NOT_FOUND = "not-found"
    METHOD_NOT_ALLOWED = "method-not-allowed"
    NOT_ACCEPTABLE = "not-acceptable"
    UNSUPPORTED_BODY = "unsupported-body"
    CROSS_SITE = "cross-site"
    TOO_SLOW = "too-slow"
    TOOK_TOO_LONG = "took-too-long"
    TOO_MUCH_MEMORY = "too-much-memory"
    ANSWER_TOO_LARGE = "answer-too-large"
    BUSY = "busy"
    INTERNAL_ERROR = "internal-error"


STATUS: Final[Mapping[Code, int]] = {
    Code.INVALID_OPTION: 400,
    Code.CROSS_SITE: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_ACCEPTABLE: 406,
    Code.TOO_SLOW: 408,
    Code.TOO_LARGE: 413,
    Code.UNSUPPORTED_BODY: 415,
    Code.REFUSED: 422,
    Code.TOOK_TOO_LONG: 422,
    Code.TOO_MUCH_MEMORY: 422,
    Code.ANSWER_TOO_LARGE: 422,
    Code.INTERNAL_ERROR: 500,
    Code.BUSY: 503,
}
"""HTTP status of what concerns a whole request. All other codes are reasons in a report, which is a 200."""


def shape(code: str, message: str, *, document: int | None = None, **place: Any) -> dict[str, Any]:
    """The one shape of an error.

    Args:
        document: index in the input, counted from 0.
        place: ``line`` and ``column`` (from 1), ``path`` and ``hint``, where they are known.
    """
    known = {name: place.get(name) for name in ("line", "column", "path", "hint")}
    return {"code": str(code), "message": message, "document": document, **known}


class RequestError(Exception):
    """A request that is refused as a whole.

    Args:
        code: one of :data:`STATUS`.
        message: what was read and why it cannot be.
        path: what it is about, such as the name of an option.
        hint: what to do instead.
        causes: the single problems, where there are several; each in the one shape.
        headers: of the answer.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        path: str | None = None,
        hint: str | None = None,
        causes: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers
        self.body = {"error": {**shape(code, message, path=path, hint=hint), "causes": list(causes)}}

    @property
    def status(self) -> int:
        """Of the answer."""
        return STATUS[self.code]


def fault_of(error: Exception) -> str:
    """Which fault of ours, and where. Neither its message nor its values: they may hold what somebody wrote."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"


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

    def shape(self) -> dict[str, Any]:
        """In the one shape of all errors."""
        place = {"line": self.line, "column": self.column, "hint": self.hint}
        return shape(self.code, self.message, document=self.document, **place)

    @property
    def where(self) -> str:
        """The position as text, ``line 3, column 7: ``; empty where no position is known."""
        parts = [f"{word} {number}" for word, number in (("line", self.line), ("column", self.column)) if number]
        return f"{', '.join(parts)}: " if parts else ""

    def of(self, document: int) -> ManifestError:
        """The same error as one of a document of the input."""
        return replace(self, document=document)
