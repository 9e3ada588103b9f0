"""Reads a stream of JSON objects, as ``kubectl get -o json`` and most generators write them."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from app.preview.errors import Code, ManifestError
from app.preview.nodes import MAX_DEPTH, MAX_NODES, Budget, too_many_values
from app.preview.scalars import INT64_MIN, UINT64_MAX, whole

_BLANK = re.compile(r"[ \t\r\n]*")
_MAX_DIGITS = 20
"""Of 2^64 - 1, or of -2^63 with its sign."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str, first_line: int, budget: Budget) -> list[tuple[dict[str, Any], int, int]]:
    """Each object with its start and end in the text.

    Args:
        first_line: lines of the input before the text.
        budget: of the input.

    Raises:
        ManifestError: ``json-syntax`` with its position; other problems without one, since Python's decoder
            does not tell where a value stands.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_object, parse_float=_float, parse_int=_integer, parse_constant=_constant
    )
    found: list[tuple[dict[str, Any], int, int]] = []
    at = _skip(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            message = f"JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            raise _syntax(message, first_line + error.lineno, error.colno) from error
        except RecursionError:
            raise ManifestError(Code.NESTED_TOO_DEEP, f"more than {MAX_DEPTH} collections inside each other") from None
        if not isinstance(value, dict):
            line = first_line + text.count("\n", 0, at) + 1
            raise _syntax("JSON: an object was expected", line, at - text.rfind("\n", 0, at))
        _check(value, budget, escapes=_SURROGATE.search(text, at, end) is not None)
        found.append((value, at, end))
        at = _skip(text, end)
    return found


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _syntax(message: str, line: int, column: int) -> ManifestError:
    return ManifestError(
        Code.JSON_SYNTAX, message, line=line, column=column, hint="check quotes, commas and braces before it"
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ManifestError(Code.DUPLICATE_KEY, f"the key {name!r} is there twice", hint="remove one of them")
    return found


def _float(text: str) -> int | float | str:
    """What no float holds stays text, as in YAML, so that messages can show it."""
    number = float(text)
    return text if math.isinf(number) else whole(number)


def _integer(text: str) -> int | float | str:
    """Beyond 64 bits the API server reads a float, too."""
    if len(text) <= _MAX_DIGITS and INT64_MIN <= (number := int(text)) <= UINT64_MAX:
        return number
    return _float(text)


def _constant(name: str) -> NoReturn:
    raise ManifestError(Code.NOT_JSON, f"{name} has no form in JSON")


def _check(value: dict[str, Any], budget: Budget, *, escapes: bool) -> None:
    """Bounds depth and size as for YAML, and refuses halves of surrogate pairs, which no UTF-8 text holds."""
    level = [value]
    for depth in range(MAX_DEPTH + 1):
        deeper: list[Any] = []
        for one in level:
            children = one.values() if isinstance(one, dict) else one
            budget.values += len(one)
            deeper += [child for child in children if isinstance(child, dict | list)]
            if escapes and not all(_encodable(text) for text in (*one, *children) if isinstance(text, str)):
                raise ManifestError(Code.NOT_UTF8, "half of a surrogate pair is no character")
        if budget.values > MAX_NODES:
            raise too_many_values()
        if not deeper:
            return
        if depth == MAX_DEPTH - 1:
            raise ManifestError(Code.NESTED_TOO_DEEP, f"more than {MAX_DEPTH} collections inside each other")
        level = deeper


def _encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
