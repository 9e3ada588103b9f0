"""Kubernetes quantities: the full grammar of ``resource.Quantity``, exact, without floats (S10).

The API server re-prints quantities before a webhook sees them (``8000`` arrives as ``"8k"``), and a
manifest may hold plain JSON numbers, so every reader must accept every spelling.
"""

from __future__ import annotations

import re
from fractions import Fraction

from app.translate.memory import remembered

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_SUFFIX: dict[str | None, Fraction] = {
    None: Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    **{letter: Fraction(1000 ** (i + 2)) for i, letter in enumerate("MGTPE")},
    **{f"{letter}i": Fraction(1024 ** (i + 1)) for i, letter in enumerate("KMGTPE")},
}
_MAX_EXPONENT = 64
"""Clamping keeps ``1e999999999`` from eating memory; both ends stay what they are: beyond 64 bits, and a fraction."""
_MAX_TEXT = 512
"""Longer texts are refused unread: the API server's own limit for a readable number is far below."""
_DECIMAL_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
INT64_MAX = 2**63 - 1


class QuantityError(ValueError):
    """The value is not a quantity; the message says what was read."""


def parse(value: object) -> Fraction:
    """The exact number behind a quantity: text, a JSON number, or None for 0 (what ``null`` means to the API server).

    Raises:
        QuantityError: for anything else, also booleans, ``inf`` and text outside the grammar.
    """
    if value is None:
        return Fraction(0)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"{shown(value)} is not a number")
    if isinstance(value, int):
        return Fraction(value)
    return _parse_text(value.strip() if isinstance(value, str) else repr(value))


def integer(value: object) -> int | None:
    """The quantity as an integer; None when it is a fraction.

    Raises:
        QuantityError: when the value is not a quantity.
    """
    if type(value) is int:
        return value
    return _integer_text(value.strip()) if isinstance(value, str) else _whole(parse(value))


@remembered()
def _integer_text(text: str) -> int | None:
    return _whole(_parse_text(text))


def _whole(number: Fraction) -> int | None:
    return number.numerator if number.denominator == 1 else None


@remembered()
def _parse_text(text: str) -> Fraction:
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if match is None:
        raise QuantityError(f"{shown(text)} is not a number")
    exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(match["exponent"] or 0)))
    number = Fraction(match["number"]) * _SUFFIX[match["suffix"]] * Fraction(10) ** exponent
    return -number if match["sign"] == "-" else number


def canonical(value: object) -> str:
    """The quantity as the API server prints it: ``8000`` → ``8k``, ``1024Mi`` → ``1Gi``, ``1500m`` stays.

    Raises:
        QuantityError: when the value is not a quantity.
    """
    if isinstance(value, str):
        return _canonical_text(value.strip())
    return _canonical(parse(value), binary=False)


@remembered()
def _canonical_text(text: str) -> str:
    return _canonical(_parse_text(text), binary=text.endswith("i"))


def _canonical(number: Fraction, *, binary: bool) -> str:
    if number.denominator != 1:
        milli = number * 1000
        return f"{-(-milli.numerator // milli.denominator)}m"
    base, suffixes = (1024, _BINARY_SUFFIXES) if binary else (1000, _DECIMAL_SUFFIXES)
    whole, step = number.numerator, 0
    while whole and whole % base == 0 and step < len(suffixes) - 1:
        whole, step = whole // base, step + 1
    return f"{whole}{suffixes[step]}"


def shown(value: object, limit: int = 40) -> str:
    """A value from a manifest as text that is safe and short enough for a message."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: limit + 1])
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return f'"{text}"' if isinstance(value, str) else text
