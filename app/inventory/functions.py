"""The functions that Kubernetes adds to CEL: quantities, versions, lists and sets.

CEL values that Python functions take and return are plain, so a quantity is the map ``{"quantity": "3/2"}`` and a
version ``{"semver": "1.2.3-rc.1"}``: two of them are equal exactly when they are equal in Kubernetes. An error of a
function is an error of the expression, as there.

Kubernetes also has URLs, addresses, named formats and ``find``. No selector of a device was seen with them, so they are
left out, and an expression that uses them counts as one that cannot be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from app.translate import quantity

if TYPE_CHECKING:
    from cel_expr_python import cel

Boxed = Mapping[str, str]
"""A quantity or a version as CEL sees it."""
_QUANTITY: Final = "quantity"
_SEMVER: Final = "semver"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LENIENT: Final = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(.*)")


def box_quantity(value: Fraction | int) -> Boxed:
    """A quantity as CEL sees it."""
    return {_QUANTITY: str(value)}


def box_version(text: str) -> Boxed:
    """A version as CEL sees it: without build metadata, which does not count in comparisons.

    Raises:
        ValueError: the text is no semantic version.
    """
    if _VERSION.fullmatch(text) is None:
        raise ValueError(f"{quantity.shown(text)} is not a semantic version")
    return {_SEMVER: text.partition("+")[0]}


def declarations(cel: Any) -> list[cel.FunctionDecl]:
    """The functions for ``cel.NewEnv``; takes the module, which costs 50 ms and 20 MiB to import."""
    kind = cel.Type
    boxed, whole, text, flag, values = kind.Map(kind.STRING, kind.STRING), kind.INT, kind.STRING, kind.BOOL, kind.LIST
    member, free = True, False
    rows: Sequence[tuple[str, bool, Any, list[Any], Callable[..., Any]]] = (
        ("quantity", free, boxed, [text], lambda one: box_quantity(quantity.parse(one))),
        ("isQuantity", free, flag, [text], lambda one: _is(quantity.parse, one)),
        ("semver", free, boxed, [text], box_version),
        ("semver", free, boxed, [text, flag], _semver),
        ("isSemver", free, flag, [text], lambda one: _is(box_version, one)),
        ("isSemver", free, flag, [text, flag], lambda one, lenient: _is(_semver, one, lenient)),
        ("compareTo", member, whole, [boxed, boxed], _compare),
        ("isGreaterThan", member, flag, [boxed, boxed], lambda a, b: _compare(a, b) > 0),
        ("isLessThan", member, flag, [boxed, boxed], lambda a, b: _compare(a, b) < 0),
        ("add", member, boxed, [boxed, boxed], lambda a, b: box_quantity(_exact(a) + _exact(b))),
        ("add", member, boxed, [boxed, whole], lambda a, b: box_quantity(_exact(a) + b)),
        ("sub", member, boxed, [boxed, boxed], lambda a, b: box_quantity(_exact(a) - _exact(b))),
        ("sub", member, boxed, [boxed, whole], lambda a, b: box_quantity(_exact(a) - b)),
        ("sign", free, whole, [boxed], lambda a: (_exact(a) > 0) - (_exact(a) < 0)),
        ("isInteger", member, flag, [boxed], lambda a: _exact(a).denominator == 1),
        ("asInteger", member, whole, [boxed], _as_integer),
        ("asApproximateFloat", member, kind.DOUBLE, [boxed], lambda a: float(_exact(a))),
        ("major", member, whole, [boxed], lambda a: _parts(a)[0][0]),
        ("minor", member, whole, [boxed], lambda a: _parts(a)[0][1]),
        ("patch", member, whole, [boxed], lambda a: _parts(a)[0][2]),
        ("sets.contains", free, flag, [values, values], lambda a, b: all(one in a for one in b)),
        ("sets.intersects", free, flag, [values, values], lambda a, b: any(one in a for one in b)),
        (
            "sets.equivalent",
            free,
            flag,
            [values, values],
            lambda a, b: all(one in a for one in b) and all(one in b for one in a),
        ),
        ("sum", member, kind.DYN, [values], sum),
        ("min", member, kind.DYN, [values], min),
        ("max", member, kind.DYN, [values], max),
        ("isSorted", member, flag, [values], lambda a: all(x <= y for x, y in pairwise(a))),
    )
    grouped: dict[str, list[Any]] = {}
    for name, is_member, result, parameters, function in rows:
        overloads = grouped.setdefault(name, [])
        overloads.append(cel.Overload(f"{name}_{len(overloads)}", result, parameters, is_member, function))
    return [cel.FunctionDecl(name, overloads) for name, overloads in grouped.items()]


def _exact(value: Boxed) -> Fraction:
    if _QUANTITY not in value:
        raise ValueError("no such overload: not a quantity")
    return Fraction(value[_QUANTITY])


def _parts(value: Boxed) -> tuple[tuple[int, int, int], tuple[tuple[bool, int, str], ...] | None]:
    """The three numbers, and the parts of a pre-release in their order of precedence; None = none, which is later."""
    if _SEMVER not in value:
        raise ValueError("no such overload: not a semantic version")
    match = _VERSION.fullmatch(value[_SEMVER])
    if match is None:
        raise ValueError(f"{value[_SEMVER]} is not a semantic version")
    numbers = (int(match[1]), int(match[2]), int(match[3]))
    if match[4] is None:
        return numbers, None
    # Numeric parts come before the others and compare as numbers.
    return numbers, tuple((not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in match[4].split("."))


def _compare(left: Boxed, right: Boxed) -> int:
    if _QUANTITY in left or _QUANTITY in right:
        return (_exact(left) > _exact(right)) - (_exact(left) < _exact(right))
    first, second = (
        (numbers, pre is None, pre or ()) for numbers, pre in (_parts(left), _parts(right))
    )  # a version without a pre-release is later than one with
    return (first > second) - (first < second)


def _semver(text: str, lenient: bool) -> Boxed:
    """A version; leniently also ``v1.2`` and ``01.2.3``."""
    match = _LENIENT.fullmatch(text) if lenient else None
    if match is None:
        return box_version(text)
    return box_version(".".join(str(int(part or 0)) for part in match.groups()[:3]) + match[4])


def _is(reader: Callable[..., object], *arguments: object) -> bool:
    """Whether a function can read its arguments."""
    try:
        reader(*arguments)
    except ValueError:
        return False
    return True


def _as_integer(value: Boxed) -> int:
    exact = _exact(value)
    if exact.denominator != 1 or abs(exact) > quantity.INT64_MAX:
        raise ValueError("cannot convert value to integer")
    return math.floor(exact)
