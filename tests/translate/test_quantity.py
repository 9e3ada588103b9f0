"""Quantities are read as the API server reads them and printed as it prints them (S10)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.translate import quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (8000, 8000),
        ("8000", 8000),
        ("8k", 8000),
        ("8Ki", 8192),
        ("1e3", 1000),
        ("8E0", 8),
        ("1E", 10**18),
        ("15Gi", 15 << 30),
        ("15360Mi", 15 << 30),
        ("8000m", 8),
        ("8000.0", 8000),
        ("+5", 5),
        ("-1", -1),
        (" 7 ", 7),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1500m", Fraction(3, 2)),
        ("1n", Fraction(1, 10**9)),
        (2.5, Fraction(5, 2)),
        (1e21, 10**21),
        (None, 0),
    ],
)
def test_S10_the_full_grammar_is_read_exactly(text: object, number: Fraction) -> None:
    assert quantity.parse(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "8000 MiB",
        "1e",
        "e3",
        "--1",
        "0x10",
        "1_000",
        "8ki",
        "8K",
        "٣",
        True,
        [],
        {},
        float("inf"),
        "1" * 600,
    ],
)
def test_S10_anything_else_is_an_error_that_shows_what_was_read(text: object) -> None:
    with pytest.raises(quantity.QuantityError, match="is not a number"):
        quantity.parse(text)


def test_S10_absurd_exponents_cost_no_memory() -> None:
    assert quantity.parse("1e999999999") > quantity.INT64_MAX
    assert 0 < quantity.parse("1e-999999999") < 1


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("8000", "8k"),
        (3000, "3k"),
        ("8000.0", "8k"),
        ("8000m", "8"),
        ("1024Mi", "1Gi"),
        ("15360Mi", "15Gi"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("1500001", "1500001"),
        ("17179869184", "17179869184"),
        ("16Gi", "16Gi"),
        ("8000Mi", "8000Mi"),
        ("10240", "10240"),
        ("1000000", "1M"),
        ("0", "0"),
        ("-1", "-1"),
    ],
)
def test_S10_canonical_form_is_what_the_api_server_prints(written: object, printed: str) -> None:
    """Observed on Kubernetes 1.36.3."""
    assert quantity.canonical(written) == printed


@given(st.integers(min_value=-(2**70), max_value=2**70), st.sampled_from(["", "k", "M", "Ki", "Mi", "Gi"]))
def test_S10_canonical_form_keeps_the_value(number: int, suffix: str) -> None:
    assert quantity.parse(quantity.canonical(f"{number}{suffix}")) == quantity.parse(f"{number}{suffix}")


@given(st.text(max_size=80))
def test_shown_text_is_one_short_printable_line(text: str) -> None:
    shown = quantity.shown(text)
    assert len(shown) <= 42
    assert shown.isprintable()
