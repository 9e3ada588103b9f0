"""CEL device selectors that are safe for any text and any device.

Two things make a selector dangerous: user text that is pasted instead of escaped, and an attribute that
one device lacks (the scheduler then gives up on the pod instead of passing the device over).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

MAX_EXPRESSION_BYTES = 10_240
"""CELSelectorExpressionMaxLength of resource.k8s.io, in bytes of UTF-8."""
MAX_SELECTORS = 32
"""DeviceSelectorsMaxSize: selectors of one request, all of which must hold."""
NOTHING = "false"
"""A selector that no device satisfies."""


class TooLongError(ValueError):
    """A list does not fit; ``fits`` is how many of its names would."""

    def __init__(self, fits: int) -> None:
        self.fits = fits
        super().__init__(f"only {fits} names fit")


def literal(text: str) -> str:
    """A CEL string literal. JSON escapes are valid CEL, surrogate pairs are not: non-ASCII stays raw."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)


def _names(names: Iterable[str]) -> str:
    return ",".join(literal(name) for name in names)


def _split(driver: str, name: str) -> tuple[str, str]:
    """Domain and identifier of an attribute or capacity; a bare name belongs to the driver's domain."""
    domain, _, identifier = name.rpartition("/")
    return domain or driver, identifier


def qualified(driver: str, name: str) -> str:
    """The fully qualified form that constraints need: ``domain/identifier``."""
    return "/".join(_split(driver, name))


def _access(kind: str, driver: str, name: str) -> tuple[str, str]:
    """Guard and value of ``device.<kind>`` for a name."""
    domain, identifier = _split(driver, name)
    owner = f"device.{kind}[{literal(domain)}]"
    return f"{literal(identifier)} in {owner}", f"{owner}.{identifier}"


def equals(driver: str, attribute: str, value: str) -> str:
    """The attribute is there and has this value."""
    guard, item = _access("attributes", driver, attribute)
    return f"{guard} && {item} == {literal(value)}"


def memory(driver: str, capacity: str, comparison: str, amount: str) -> str:
    """The capacity is there and compares to the quantity ``amount``: ``==``, ``>=``."""
    guard, item = _access("capacity", driver, capacity)
    return f"{guard} && {item}.compareTo(quantity({literal(amount)})) {comparison} 0"


def is_one_of(driver: str, attribute: str, values: Sequence[str]) -> list[str]:
    """The attribute is one of the values, exactly. One expression: an allow list cannot be split.

    Raises:
        TooLongError: when the list does not fit.
    """
    guard, item = _access("attributes", driver, attribute)
    return _allow(values, f"{guard} && {item} in [", "]")


def is_none_of(driver: str, attribute: str, values: Sequence[str]) -> list[str]:
    """The attribute is none of the values, or is missing. Long lists are split over several expressions.

    Raises:
        TooLongError: when even 32 expressions do not hold the list.
    """
    guard, item = _access("attributes", driver, attribute)
    return _deny(values, f"!({guard} && {item} in [", "])")


def product_contains_any(driver: str, attribute: str, parts: Sequence[str]) -> list[str]:
    """The product name, prefixed as HAMi registers it, contains one of the lower-case parts (S51).

    Raises:
        TooLongError: when the list does not fit.
    """
    guard, name = _product(driver, attribute)
    return _allow(parts, f"{guard} && [", f"].exists(t, {name}.contains(t))")


def product_contains_none(driver: str, attribute: str, parts: Sequence[str]) -> list[str]:
    """The product name contains none of the lower-case parts, or is missing (S51).

    Raises:
        TooLongError: when even 32 expressions do not hold the list.
    """
    guard, name = _product(driver, attribute)
    return _deny(parts, f"!({guard} && [", f"].exists(t, {name}.contains(t)))")


def _product(driver: str, attribute: str) -> tuple[str, str]:
    guard, item = _access("attributes", driver, attribute)
    # HAMi registers a card as NVIDIA-<product> unless the product starts with NVIDIA already.
    return guard, f'({item}.startsWith("NVIDIA") ? {item} : "NVIDIA-" + {item}).lowerAscii()'


def _fitting(values: Sequence[str], before: str, after: str) -> int:
    """How many leading values fit one expression."""
    room = MAX_EXPRESSION_BYTES - len((before + after).encode()) + 1  # the first name needs no comma
    for count, value in enumerate(values):
        room -= len(literal(value).encode()) + 1
        if room < 0:
            return count
    return len(values)


def _allow(values: Sequence[str], before: str, after: str) -> list[str]:
    if not values:
        return [NOTHING]
    fits = _fitting(values, before, after)
    if fits < len(values):
        raise TooLongError(fits)
    return [f"{before}{_names(values)}{after}"]


def _deny(values: Sequence[str], before: str, after: str) -> list[str]:
    expressions: list[str] = []
    start = 0
    while start < len(values):
        fits = _fitting(values[start:], before, after)
        # Half of the selectors at most: the request needs room for the allow lists, the size and the profile.
        if fits == 0 or len(expressions) == MAX_SELECTORS // 2 - 2:
            raise TooLongError(start)
        expressions.append(f"{before}{_names(values[start : start + fits])}{after}")
        start += fits
    return expressions
