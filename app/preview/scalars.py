"""YAML scalars as kubectl reads them (S10): YAML 1.1 as in the Go library behind ``sigs.k8s.io/yaml``.

``yes`` and ``on`` are booleans, ``010`` is 8, ``0x10`` is 16, ``1e3`` is 1000, ``1_000`` is 1000, dates
are text. Observed with the YAML decoder of k8s.io/apimachinery 0.36; ``tests/preview/kubectl.json`` holds what it said.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from decimal import Decimal
from typing import Final

Scalar = str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NOT_JSON: Final = frozenset(
    (".nan", ".NaN", ".NAN", *(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")))
)
_STARTS_NUMBER: Final = frozenset("+-.0123456789")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES: Final = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
INT64_MIN, _INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_MAX_NUMBER = 512
"""Longer texts are never numbers here; Python would refuse to read more than 4,300 digits anyway."""
_LARGEST_PLAIN = 1e21
"""Go prints whole floats below this without an exponent, so that the API server reads an integer."""


class ScalarError(ValueError):
    """A scalar that contradicts its tag or has no form in JSON; the message says which."""


def resolve(text: str, tag: str | None, *, plain: bool) -> Scalar:
    """The value of a scalar.

    Args:
        text: its content, after unquoting.
        tag: an explicit tag, if any.
        plain: written without quotes.

    Raises:
        ScalarError: for ``.inf``, ``.nan`` and for content that its tag does not allow.
    """
    if tag is None:
        return _natural(text) if plain else text
    name = tag.removeprefix(_TAG)
    if name == "binary":
        return _binary(text)
    if name not in ("bool", "int", "float", "null"):
        return text
    value = _natural(text)
    read = "null" if value is None else type(value).__name__
    if read == name or (name, read) == ("float", "int"):
        return value
    raise ScalarError(f"{text[:40]!r} is no {name}, as its tag !!{name} says")


def key_text(value: Scalar) -> str | None:
    """The text of a mapping key in JSON; None for ``null``, which is no key."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def whole(number: float) -> int | float:
    """A float as JSON carries it: whole numbers lose their fraction, so that a quantity stays an integer."""
    if number.is_integer() and abs(number) < _LARGEST_PLAIN:
        return int(Decimal(repr(number)))
    return number


def _natural(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS_NUMBER or len(text) > _MAX_NUMBER:
        return text
    if text in _NOT_JSON:
        raise ScalarError(f"{text} has no form in JSON")
    digits = text.replace("_", "")
    integer = _INTEGER.fullmatch(digits)
    if integer is not None:
        group = integer.lastgroup or "dec"
        number = int(integer[group], _BASES[group])
        if integer["sign"] == "-":
            number = -number
        if INT64_MIN <= number <= (_INT64_MAX if integer["sign"] else UINT64_MAX):
            return number
    if _FLOAT.fullmatch(digits) is None:
        return text
    floating = float(digits)
    return text if math.isinf(floating) else whole(floating)


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ScalarError("the content of !!binary is no text in base64") from error
