"""Values that are written are read back as the same values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.preview import emit
from app.preview.construct import construct
from app.preview.nodes import parse

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
    st.sampled_from(
        [
            "yes",
            "n",
            "~",
            "null",
            "010",
            "0x1f",
            "1e3",
            "8k",
            ".inf",
            "-",
            "---",
            "a: b",
            "a #b",
            "<<",
            "{{ x }}",
            "@x",
            "'",
            '"',
        ]
    ),
    st.sampled_from(
        [
            "a\nb",
            "a\nb\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a\n  b\n",
            "a\r\nb",
            "a\n \n",
            "\t\n",
            "a\u2028b\n",
            "x: 1\ny: 2\n",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(-(2**63), 2**64 - 1), st.booleans(), st.none(), st.sampled_from([0.5, -1e-7, 1e300])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=10,
)


def read_back(text: str) -> Any:
    tree = parse(text)
    return None if tree is None else construct(tree)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([emit.Style(), emit.Style(4, 2), emit.Style(2, 2)]))
@settings(max_examples=300, deadline=None)
def test_a_block_is_read_back_as_it_was(value: dict[str, Any], style: emit.Style) -> None:
    assert read_back(emit.block(value, 0, style)) == value


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_what_stands_inside_braces_is_read_back_as_it_was(value: Any) -> None:
    assert read_back(f"{{a: {emit.flow(value)}, b: [{emit.flow(value)}]}}") == {"a": value, "b": [value]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("example.org/app:1", "example.org/app:1"),
        ("8000Mi", "8000Mi"),
        ("true", '"true"'),
        ("1", '"1"'),
        ("y", '"y"'),
        ('{"a":"b"}', '\'{"a":"b"}\''),
        ("", '""'),
        ("a b c", "a b c"),
        ("ends:", '"ends:"'),
    ],
)
def test_quotes_stand_only_where_they_are_needed(value: str, text: str) -> None:
    assert emit.scalar(value) == text


def test_lines_of_text_stay_lines() -> None:
    assert emit.block({"args": ["set -e\nrun\n"], "x": 1}) == "args:\n- |\n  set -e\n  run\nx: 1\n"
