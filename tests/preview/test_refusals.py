"""What cannot be read is refused with its position, what was read and what to do; at bounded cost."""

from __future__ import annotations

import gzip
import time

import pytest

from app.preview import ManifestError, read
from app.preview.documents import MAX_BYTES, MAX_DOCUMENTS
from app.preview.nodes import MAX_DEPTH
from tests.preview.bad import HOSTILE


def error(text: str | bytes) -> ManifestError:
    errors = [document.error for document in read(text).documents if document.error is not None]
    assert len(errors) == 1, errors
    return errors[0]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("a:\n\tb: 1\n", "tab", 2, 1, "blanks only"),
        ("a:\n-\tb: 1\n  c: 2\n", "tab", 2, 2, "blanks only"),
        ("a:\n  - \tb: 1\n", "tab", 2, 5, "blanks only"),
        ("-\t- a\n", "tab", 1, 2, "blanks only"),
        ("?\ta\n", "tab", 1, 2, "blanks only"),
        ("a:\n  b: 1\n   c: 2\n", "yaml-syntax", 3, 5, "quote values that hold a colon"),
        ("a:\n  - b\n c: 1\n", "yaml-syntax", 3, 2, "indent"),
        ("a: - b\n", "yaml-syntax", 1, 4, "list on its own line"),
        ("a: 'open\nb: 1\n", "yaml-syntax", 3, 1, "a quote is not closed"),
        ("a: [1, 2\nb: 3\n", "yaml-syntax", 2, 2, "close braces and brackets"),
        ("a: @b\n", "yaml-syntax", 1, 4, "quote values that start with @"),
        ("a: {b: http://c?d}\n", "yaml-syntax", 1, 8, "quote http://c?d"),
        ("a: key: value\n", "yaml-syntax", 1, 7, "quote values that hold a colon"),
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1, "first in line 1"),
        ("x:\n  limits: {nvidia.com/gpu: 1, nvidia.com/gpu: 2}\n", "duplicate-key", 2, 31, "'nvidia.com/gpu'"),
        ('{\n "a": 1,\n "a": 2\n}', "duplicate-key", 3, 2, "first in line 2"),
        ("10: a\n0xa: b\n", "duplicate-key", 2, 1, "'10'"),
        ("a: &x [*x]\n", "anchor-in-itself", 1, 8, "&x"),
        ("a: *nobody\n", "unknown-anchor", 1, 4, "&nobody"),
        ("<<: 3\n", "merge", 1, 5, "mappings only"),
        ("a: .inf\n", "not-json", 1, 4, "no form in JSON"),
        ("a: !!int x\n", "not-json", 1, 4, "'x' is no int"),
        ("~: a\n", "complex-key", 1, 1, "quote it"),
        ("[a]: b\n", "complex-key", 1, 1, "quote it"),
        ("{a: b}: c\n", "complex-key", 1, 1, "quote it"),
        ("a: { {b: c}: d }\n", "complex-key", 1, 6, "quote it"),
        ("a: 1\n--- b\n", "separator", 2, 4, "next line"),
        ("a: 1\n...\nb: 2\n", "yaml-syntax", 3, 1, "start documents with ---"),
        ("a: 1\r---\rb: 2\r", "after-document-end", 2, 1, "write --- between documents"),
        ('{\n  "a": 1\n  "b": 2\n}', "json-syntax", 3, 3, "commas"),
        ('{"a": 1} x', "json-syntax", 1, 10, "commas"),
        ('{"a": "\\ud800"}', "yaml-syntax", 1, 10, "Unicode"),
        ("a: \x01\n", "binary", None, None, "YAML or JSON"),
        ("a: \u0085\ufffe\n", "yaml-syntax", 1, 5, "U+FFFE"),
        (b"a: 1\nb: caf\xe9\n", "not-utf8", 2, 7, "0xe9"),
        ("a: 1\n".encode("utf-16"), "not-utf8", None, None, "UTF-16"),
        (gzip.compress(b"a: 1", mtime=0), "binary", None, None, "unpack"),
        (b"\x7fELF\x02\x01\x01\x00", "binary", None, None, "binary data"),
    ],
)
def test_bad_text_is_refused_with_its_place_and_a_way_out(
    text: str | bytes, code: str, line: int | None, column: int | None, words: str
) -> None:
    found = error(text)
    assert (found.code, found.line, found.column) == (code, line, column), found
    assert words in str(found)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{{- if .Values.gpu }}\nkind: Pod\n{{- end }}\n", 1, 1),
        ("kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n", 3, 9),
        ("kind: Pod\nmetadata:\n  name: {{ .Release.Name }}-gpu\n", 3, 9),
        ("kind: Pod\nspec:\n  {{- with .Values.x }}\n  a: 1\n", 3, 3),
        ('kind: Pod\nspec:\n  a: "{{ quoted }}"\n  {{ template "x" . }}\n', 4, 3),
        ("a:\n  {{ .Values.key }}: b\n", 2, 3),
        ("a: {{ .Values.b }}\n", 1, 4),
        ("- {{ item }}\n", 1, 3),
        ("{% if a %}\nb: 1\n{% endif %}\n", 1, 1),
        ("a: {% raw %}\n", 1, 4),
        ("a: 1\n{# why #}\nb: 2\n", 2, 1),
    ],
)
def test_a_template_is_recognised(text: str, line: int, column: int) -> None:
    found = error(text)
    assert (found.code, found.line, found.column) == ("template-not-rendered", line, column)
    assert "helm template" in str(found.hint)


def test_braces_that_yaml_can_mean_are_no_template() -> None:
    assert read('a: "{{ inputs.parameters.x }}"\nb: {c: {d: 1}}\n').documents[0].error is None


def test_positions_count_from_the_start_of_the_input() -> None:
    found = error("a: 1\n---\n# x\nb: 1\nb: 2\n")
    assert (found.document, found.line, found.column) == (1, 5, 1)
    assert str(found).startswith("line 5, column 1: the key 'b' is there twice, first in line 4")


def test_limits_are_told() -> None:
    assert error("a" * (MAX_BYTES + 1)).code == "too-large"
    assert error("a: 1\n---\n" * (MAX_DOCUMENTS + 1)).code == "too-many-documents"
    assert len(read("a: 1\n---\n" * MAX_DOCUMENTS).documents) == MAX_DOCUMENTS


def nested(depth: int, opening: str, closing: str) -> str:
    return f"{opening * depth}1{closing * depth}"


def test_nesting_is_bounded_and_deep_manifests_are_read() -> None:
    assert read("a: " + nested(MAX_DEPTH - 1, "[", "]")).documents[0].error is None
    assert read('{"a":' + nested(MAX_DEPTH - 1, "[", "]") + "}").documents[0].error is None
    assert error("a: " + nested(MAX_DEPTH, "[", "]")).code == "nested-too-deep"
    assert error('{"a":' + nested(MAX_DEPTH, "[", "]") + "}").code == "nested-too-deep"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_is_refused_in_no_time(text: str) -> None:
    start = time.perf_counter()
    assert read(text).documents[0].error is not None
    assert time.perf_counter() - start < 5


def test_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.preview.nodes.MAX_NODES", 1000)
    monkeypatch.setattr("app.preview.jsondoc.MAX_NODES", 1000)
    found = error("apiVersion: v1\nkind: X\nd: [" + "1," * 1000 + "]\n")
    assert (found.code, found.line) == ("too-many-values", 3)
    assert error('{"apiVersion": "v1", "kind": "X", "d": [' + "1," * 1000 + "1]}").code == "too-many-values"
