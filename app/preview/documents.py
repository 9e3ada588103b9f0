"""Reads manifests as kubectl does: YAML or JSON, one or many documents, each with its place in the input.

One unreadable document does not hide the others: it is kept with its error. What concerns the input as a
whole (not text, too large) gives a single document with that error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.preview.construct import construct
from app.preview.errors import Code, ManifestError
from app.preview.jsondoc import read_json
from app.preview.nodes import Budget, Node, parse
from app.preview.reviews import Requested, is_review, reviewed

MAX_BYTES: Final = 7 * 1024 * 1024
"""As the API server's own limit for a review with two copies of a pod, far above etcd's 1.5 MiB for one object."""
MAX_DOCUMENTS: Final = 1000
"""Documents of one input that hold something."""

BOM: Final = "\ufeff"
"""What some editors write in front of a text; kubectl passes over it."""
_SEPARATOR = re.compile(r"^---(?P<rest>.*)$", re.MULTILINE)
_EMPTY = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_LIKE_JSON = re.compile(r'\s*\{\s*["}]')
_CONTROL: Final = frozenset(range(32)) - {9, 10, 12, 13}
_SNIFFED = 8192
"""Bytes looked at to tell text from binary data."""


@dataclass(slots=True)
class Document:
    """One document that holds something."""

    index: int
    """Among the documents of its source that hold something, from 0."""
    start: int
    """Offset of its text in the source, behind the line that separates it from the one before."""
    end: int
    line: int
    """Lines of the source before it."""
    value: Any = None
    """What kubectl would send; None when it cannot be read."""
    root: Node | None = None
    """Where everything stands; None for JSON, which needs no care for comments."""
    request: Requested | None = None
    """What the AdmissionReview around it asks, where there is one and the value is a pod."""
    error: ManifestError | None = None


@dataclass(slots=True)
class Source:
    """One input: a file, standard input, the body of a request."""

    name: str | None
    """Path of the file; None for standard input and requests."""
    text: str
    documents: list[Document] = field(default_factory=list)

    @property
    def readable_name(self) -> str | None:
        """The name, also where its bytes are no text: JSON holds no others."""
        return None if self.name is None else self.name.encode(errors="backslashreplace").decode()

    @property
    def newline(self) -> str:
        """How its lines end."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


def read(data: bytes | str, name: str | None = None) -> Source:
    """Reads one input. Never raises for bad input: errors stand in the documents."""
    try:
        text = _decode(data)
    except ManifestError as error:
        return unreadable(error, name)
    source = Source(name, text)
    for document in _documents(text):
        if document.index == MAX_DOCUMENTS:
            hint = "split the input"
            return unreadable(
                ManifestError(Code.TOO_MANY_DOCUMENTS, f"more than {MAX_DOCUMENTS:,} documents", hint=hint), name
            )
        if is_review(document.value):
            _unwrap(document)
        source.documents.append(document)
    return source


def _unwrap(document: Document) -> None:
    """Replaces an AdmissionReview by its object, which has no text of its own."""
    try:
        (document.value, document.request), document.root = reviewed(document.value), None
    except ManifestError as error:
        line = document.line + 1
        document.value, document.error = None, replace(error, document=document.index, line=line, column=1)


def unreadable(error: ManifestError, name: str | None) -> Source:
    """An input of which nothing can be read."""
    return Source(name, "", [Document(0, 0, 0, 0, error=error)])


def _decode(data: bytes | str) -> str:
    if len(data) > MAX_BYTES:
        raise ManifestError(Code.TOO_LARGE, f"more than {MAX_BYTES >> 20} MiB", hint="split the input")
    raw = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    if raw.startswith(b"\x1f\x8b"):
        raise ManifestError(
            Code.BINARY, "compressed data, not text", hint="unpack it first; charts also need rendering"
        )
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ManifestError(Code.NOT_UTF8, "UTF-16 text", hint="save it as UTF-8; kubectl reads nothing else")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise ManifestError(Code.NOT_UTF8, message, line=line, column=column, hint="save it as UTF-8") from error
    if not _CONTROL.isdisjoint(raw[:_SNIFFED]):
        raise ManifestError(Code.BINARY, "binary data, not text", hint="give files that hold YAML or JSON")
    return text


def _documents(text: str) -> Iterator[Document]:
    index, budget = 0, Budget()
    for start, end, line, rest in _chunks(text):
        if rest:
            message = f"text behind the separator ---: {rest[:40]}"
            error = ManifestError(Code.SEPARATOR, message, index, line, 4, "start the document on the next line")
            yield Document(index, start, end, line, error=error)
            index += 1
            continue
        for document in _read_chunk(text, start, end, line, budget):
            document.index = index
            if document.error is not None:
                document.error = document.error.of(index)
            yield document
            index += 1


def _chunks(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Start, end, lines before, and text behind the separator that opens it, for each part between separators.

    kubectl splits by lines before it parses, so a separator counts wherever it stands at the start of a line.
    """
    start, line, rest = len(BOM) if text.startswith(BOM) else 0, 0, ""
    for match in _SEPARATOR.finditer(text):
        yield start, match.start(), line, rest
        line += text.count("\n", start, match.end()) + 1
        start = min(match.end() + 1, len(text))
        behind = match["rest"].strip()
        rest = "" if behind.startswith("#") else behind
    yield start, len(text), line, rest


def _read_chunk(text: str, start: int, end: int, line: int, budget: Budget) -> Iterator[Document]:
    chunk = text[start:end]
    empty = _EMPTY.match(chunk)
    if empty is not None and empty.end() == len(chunk):
        return
    syntax: ManifestError | None = None
    if _LIKE_JSON.match(chunk):
        try:
            at, before = 0, line
            for value, first, last in read_json(chunk, line, budget):
                at, before = first, before + chunk.count("\n", at, first)
                yield Document(0, start + first, start + last, before, value)
        except ManifestError as error:
            syntax = error if error.code == Code.JSON_SYNTAX else None  # YAML's reader knows where the others stand
        else:
            return
    document = Document(0, start, end, line)
    try:
        document.root = parse(chunk, line, budget)
        document.value = None if document.root is None else construct(document.root)
    except ManifestError as error:
        document.error = error if syntax is None or error.code == Code.TEMPLATE_NOT_RENDERED else syntax
    if document.value is not None or document.error is not None:
        yield document
