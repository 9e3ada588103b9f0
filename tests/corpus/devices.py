"""Evaluates device selectors on made-up devices, with Google's CEL runtime and the functions that Kubernetes adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from app.translate import quantity


def _quantity(text: str) -> int:
    number = quantity.parse(text)
    assert number.denominator == 1, f"{text} is no whole number"
    return number.numerator


_INT, _STRING = cel.Type.INT, cel.Type.STRING
_ENVIRONMENT = cel.NewEnv(
    variables={"device": cel.Type.DYN},
    extensions=[ext_strings.ExtStrings()],
    functions=[
        # Quantities are their integers here, which compare as quantities do.
        cel.FunctionDecl("quantity", [cel.Overload("quantity_string", _INT, [_STRING], False, _quantity)]),
        cel.FunctionDecl(
            "compareTo",
            [cel.Overload("compare_int_int", _INT, [_INT, _INT], True, lambda a, b: (a > b) - (a < b))],
        ),
    ],
)


@cache
def _program(expression: str) -> Any:
    return _ENVIRONMENT.compile(expression)


def device(driver: str, *, memory_mib: int | None = None, **attributes: Any) -> Mapping[str, Any]:
    """A device as CEL sees it; capacities are integers."""
    capacity = {} if memory_mib is None else {"memory": memory_mib << 20}
    return {
        "driver": driver,
        "allowMultipleAllocations": True,
        "attributes": {driver: attributes},
        "capacity": {driver: capacity},
    }


def accepts(selectors: Iterable[Mapping[str, Any]] | None, one: Mapping[str, Any]) -> bool:
    """All selectors accept the device; an evaluation error counts as none of it, as it would stop the scheduler."""
    results = [_program(s["cel"]["expression"]).eval(data={"device": one}).value() for s in selectors or ()]
    assert all(isinstance(result, bool) for result in results), f"a selector ends in {results}"
    return all(results)


def mebibytes(text: str) -> Fraction:
    """A quantity of bytes in MiB."""
    return quantity.parse(text) / (1 << 20)
