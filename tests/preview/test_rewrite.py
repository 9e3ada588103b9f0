"""Changed values are edited into the text; nobody else's characters move."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.preview.construct import construct
from app.preview.nodes import parse
from app.preview.rewrite import Rewritten, rewrite
from tests.preview.styles import write

KEYS = st.sampled_from(["alpha", "beta", "gamma", "delta", "nvidia.com/gpu", "yes", "a b"])
SCALARS = st.one_of(
    st.integers(-5, 5), st.booleans(), st.none(), st.sampled_from(["plain", "it's", "8k", "on", "#", ""])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
CHECK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def rewritten(text: str, value: Any, newline: str = "\n") -> Rewritten:
    root = parse(text)
    assert root is not None
    return rewrite(text, root, construct(root), value, newline)


def said(text: str) -> Any:
    root = parse(text)
    return None if root is None else construct(root)


@st.composite
def documents(draw: st.DrawFn, *, anchors: bool = True) -> tuple[str, Any]:
    value = draw(DOCUMENTS)
    return write(draw, value, anchors=anchors), copy.deepcopy(value)


def changed(draw: st.DrawFn, value: Any) -> Any:
    """A value with members removed, added, replaced and appended."""
    if isinstance(value, dict):
        kept = {key: changed(draw, one) for key, one in value.items() if draw(st.integers(0, 3))}
        return {**kept, **draw(st.dictionaries(st.sampled_from(["new", "newer"]), VALUES, max_size=1))}
    if isinstance(value, list):
        return [*(changed(draw, one) for one in value), *draw(st.lists(VALUES, max_size=1))]
    # No conversion puts a boolean in the place of the number that Python takes for it.
    return draw(st.one_of(st.just(value), SCALARS.filter(lambda one: one != value or type(one) is type(value))))


def grown(draw: st.DrawFn, value: Any) -> Any:
    """A value with members added to collections that hold some."""
    if isinstance(value, dict):
        more = draw(st.dictionaries(st.sampled_from(["new", "newer"]), VALUES, max_size=1)) if value else {}
        return {**{key: grown(draw, one) for key, one in value.items()}, **more}
    if isinstance(value, list):
        return [*(grown(draw, one) for one in value), *(draw(st.lists(VALUES, max_size=1)) if value else [])]
    return value


@given(documents(), st.data())
@CHECK
def test_any_change_in_any_style_says_the_new_value(document: tuple[str, Any], data: st.DataObject) -> None:
    text, value = document
    wanted = changed(data.draw, value)
    result = rewritten(text, wanted)
    assert said(result.text) == wanted
    assert result.comments_kept
    assert "".join(part.old for part in result.parts) == text


@given(documents(anchors=False), st.data())
@CHECK
def test_what_is_only_added_to_loses_no_character(document: tuple[str, Any], data: st.DataObject) -> None:
    text, value = document
    wanted = grown(data.draw, value)
    result = rewritten(text, wanted)
    assert said(result.text) == wanted
    assert all(part.old in ("", part.new) for part in result.parts)


@given(documents(), st.data())
@CHECK
def test_windows_lines_stay_windows_lines(document: tuple[str, Any], data: st.DataObject) -> None:
    text, value = document
    wanted = changed(data.draw, value)
    result = rewritten(text.replace("\n", "\r\n"), wanted, "\r\n")
    assert said(result.text) == wanted
    assert "\n" not in result.text.replace("\r\n", "")


@given(documents())
@CHECK
def test_no_change_is_no_edit(document: tuple[str, Any]) -> None:
    text, value = document
    assert rewritten(text, value).text == text


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("a: 1 # one\nb: 2 # two\n", {"a": 3, "b": 2}, "a: 3 # one\nb: 2 # two\n"),
        ("a: 1\n# of b\nb: 2\n# of c\nc: 3\n", {"a": 1, "c": 3}, "a: 1\n# of b\n# of c\nc: 3\n"),
        (
            "m:\n  a: 1\n  # last\n# next\nz: 1\n",
            {"m": {"a": 1, "b": 2}, "z": 1},
            "m:\n  a: 1\n  # last\n  b: 2\n# next\nz: 1\n",
        ),
        ("l:\n- 1\n# of m\nm: 1\n", {"l": [1, 2], "m": 1}, "l:\n- 1\n- 2\n# of m\nm: 1\n"),
        (
            "l:\n    - a: 1\n",
            {"l": [{"a": 1}], "m": {"z": [{"b": 2}]}},
            "l:\n    - a: 1\nm:\n  z:\n      - b: 2\n",
        ),
        ("l:\n- a: 1\n  b: 2\n", {"l": [{"b": 2}]}, "l:\n- b: 2\n"),
        ("{a: 1, b: 2, c: 3}\n", {"b": 2}, "{b: 2}\n"),
        ("{a: 1, # one\n b: 2, # two\n c: 3}\n", {"a": 1, "c": 3, "d": 4}, "{a: 1, # two\n c: 3, d: 4}\n"),
        ("m: {a: 1}\n", {"m": {}}, "m: {}\n"),
        ("m:\n  a: 1\n  b: 2\nz: 1\n", {"m": {"c": 3}, "z": 1}, "m:\n  c: 3\nz: 1\n"),
        ("m: # why\n  a: 1 # one\n", {"m": {"c": 3}}, "m: # why\n  c: 3\n"),
        ("m: &x\n  a: 1\n  b: 2 # two\nz: 1\n", {"m": {"c": 3}, "z": 1}, "m:\n  c: 3\nz: 1\n"),
        ("m: {a: 1} # why\nz: 1\n", {"m": {"c": [3]}, "z": 1}, "m: # why\n  c:\n  - 3\nz: 1\n"),
        ("m: null # why", {"m": [{"c": 3}]}, "m: # why\n- c: 3"),
        ("m:\nz: 1\n", {"m": {"c": 3}, "z": 1}, "m:\n  c: 3\nz: 1\n"),
        ("a: 1", {"a": 1, "b": 2}, "a: 1\nb: 2"),
        ("a: |\n  text\nb: 1\n", {"a": "text\n", "b": 1, "c": 2}, "a: |\n  text\nb: 1\nc: 2\n"),
        ("b: 1\na: |\n  text\n", {"a": "text\n", "b": 1, "c": 2}, "b: 1\na: |\n  text\nc: 2\n"),
        ("b: 1\na: |\n  text\n\n# end\n", {"b": 1, "c": 2}, "b: 1\nc: 2\n\n# end\n"),
    ],
)
def test_edits_look_as_if_a_person_had_made_them(text: str, value: Any, expected: str) -> None:
    result = rewritten(text, value)
    assert result.text == expected
    assert result.comments_kept


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 2}, "b": {"k": 1}}, "a: {k: 2}\nb:\n  k: 1\n"),
        ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 2}}, "a: {k: 1}\nb:\n  k: 2\n"),
        ("a: &x {k: 1}\nb: *x\nc: *x\n", {"a": {"k": 1}, "b": {"k": 1}, "c": 3}, "a: &x {k: 1}\nb: *x\nc: 3\n"),
        ("a: &x\n  k: 1\nb: *x\n", {"a": {"k": 1, "l": 2}, "b": {"k": 1}}, "a:\n  k: 1\n  l: 2\nb:\n  k: 1\n"),
        ("a: &x [1]\nb: [*x, *x]\n", {"b": [[1], [1]]}, "b: [[1], [1]]\n"),
        (
            "a: &x {k: &w [1]}\nb: *x\nc: *w\n",
            {"a": {"k": [1, 2]}, "b": {"k": [1]}, "c": [1]},
            "a: {k: [1, 2]}\nb:\n  k:\n  - 1\nc:\n- 1\n",
        ),
        (
            "a: &x {k: 1}\nb:\n  <<: *x\n  m: 2\n",
            {"a": {"k": 1}, "b": {"k": 1, "m": 3}},
            "a: &x {k: 1}\nb:\n  <<: *x\n  m: 3\n",
        ),
        (
            "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  m: 2\n",
            {"a": {"k": 1, "l": 2}, "b": {"l": 2, "m": 2}},
            "a: {k: 1, l: 2}\nb:\n  l: 2\n  m: 2\n",
        ),
        (
            "a: &x {k: 1}\nb: {<<: *x, m: 2}\n",
            {"a": {"k": 2}, "b": {"k": 1, "m": 2}},
            "a: {k: 2}\nb: {k: 1, m: 2}\n",
        ),
        ("a: &x {k: 1}\nb:\n  <<: *x # merged\n  m: 2\n", {"a": {}, "b": {"m": 2}}, "a: {}\nb:\n  m: 2\n"),
        ("a: &unused 1\nb: 2\n", {"a": 1, "b": 3}, "a: &unused 1\nb: 3\n"),
    ],
)
def test_aliases_of_changed_values_are_written_out_and_the_others_stay(text: str, value: Any, expected: str) -> None:
    result = rewritten(text, value)
    assert result.text == expected
    assert result.comments_kept


def test_a_text_that_cannot_be_edited_is_written_afresh_and_says_so() -> None:
    """A keep block ends with blank lines that belong to it, so nothing can stand behind them."""
    result = rewritten("# c\na: |+\n  text\n\n", {"a": "text\n\n", "b": 1})
    assert said(result.text) == {"a": "text\n\n", "b": 1}
    assert not result.comments_kept
