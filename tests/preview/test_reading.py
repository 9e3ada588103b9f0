"""Manifests are read as kubectl reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.preview import read

KUBECTL = json.loads((Path(__file__).parent / "kubectl.json").read_text())["cases"]


def values(text: str | bytes) -> list[Any]:
    return [document.value for document in read(text).documents if document.error is None]


@pytest.mark.parametrize("case", KUBECTL, ids=lambda case: repr(case["text"])[:60])
def test_S10_every_scalar_and_stream_is_read_as_kubectl_reads_it(case: dict[str, Any]) -> None:
    """``kubectl.json`` holds what the decoder of kubectl made of each text."""
    source = read(case["text"])
    assert any(document.error for document in source.documents) == case["error"]
    if not case["error"]:
        found = [document.value for document in source.documents]
        assert found == case["documents"]
        assert [type(v) for v in leaves(found) if not isinstance(v, int | float) or isinstance(v, bool)] == [
            type(v) for v in leaves(case["documents"]) if not isinstance(v, int | float) or isinstance(v, bool)
        ]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, list) else [value]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [("8000", 8000), ('"8k"', "8k"), ("8k", "8k"), ("1e3", 1000), ("0.5", 0.5), ("1.0", 1), ("010", 8), ("0x10", 16)],
)
def test_S10_quantities_keep_their_exact_value(written: str, read_as: Any) -> None:
    (value,) = values(f"limits: {{nvidia.com/gpumem: {written}}}")
    assert value == {"limits": {"nvidia.com/gpumem": read_as}}
    assert type(value["limits"]["nvidia.com/gpumem"]) is type(read_as)


def test_each_alias_gets_a_value_of_its_own() -> None:
    """Two containers that are one object in memory would both change when one does."""
    (value,) = values("a: &x {b: [1]}\nc: *x\nd: *x\n")
    assert value["a"] == value["c"] == value["d"]
    assert len({id(value[key]) for key in "acd"}) == len({id(value[key]["b"]) for key in "acd"}) == 3


def test_empty_documents_and_comments_are_passed_over() -> None:
    source = read("# head\n---\n---\n# only\n---\na: 1\n--- # tail\n\n---\nb: 2\n...\n")
    assert [(d.index, d.value, d.line) for d in source.documents] == [(0, {"a": 1}, 5), (1, {"b": 2}, 9)]
    assert values("# a\rtext\n") == ["text"], "a bare carriage return ends a comment"
    assert values("") == values("\n\n") == values("# nothing\n") == values("null\n") == []


def test_windows_files_and_byte_order_marks_are_read() -> None:
    assert values(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n---\r\nc: 3\r\n") == [{"a": 1, "b": "x\ny\n"}, {"c": 3}]


def test_json_is_read_one_object_after_the_other() -> None:
    assert values('{"a": 1}{"b": "\\ud83d\\ude00"}\n\n{"c":\t[1]}') == [{"a": 1}, {"b": "😀"}, {"c": [1]}]
    assert values('{"a": 1}\n---\nb: 2\n') == [{"a": 1}, {"b": 2}]


def test_one_unreadable_document_does_not_hide_the_others() -> None:
    source = read("a: 1\n---\nb: [\n---\nc: 3\n---\n\td: 4\n")
    assert [document.value for document in source.documents] == [{"a": 1}, None, {"c": 3}, None]
    errors = [document.error for document in source.documents if document.error is not None]
    assert [(error.document, error.line) for error in errors] == [(1, 4), (3, 7)]


def test_documents_know_their_place_in_the_text() -> None:
    text = '# head\n---\na: 1\n--- # next\n{"b": 2} {"c": 3}\n---\nd: 4'
    source = read(text)
    assert [text[d.start : d.end] for d in source.documents] == ["a: 1\n", '{"b": 2}', '{"c": 3}', "d: 4"]


def test_numbers_beyond_64_bits_are_read_as_the_api_server_reads_them() -> None:
    digits = "9" * 30
    assert values(f'{{"a": {digits}, "b": -1{digits}}}') == values(f"a: {digits}\nb: -1{digits}\n")
    assert values(f'{{"a": {2**64 - 1}, "b": {-(2**63)}}}') == [{"a": 2**64 - 1, "b": -(2**63)}]
    assert values('{"a": 1e400}') == values("a: 1e400") == [{"a": "1e400"}]
    assert values(f"a: {'9' * 5000}\n") == [{"a": "9" * 5000}], "no number, and no reason to count its digits"
