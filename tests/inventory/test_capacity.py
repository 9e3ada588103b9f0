"""How much of a device a request takes, and what never fits (KEP-5075)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from app.inventory.capacity import demand
from app.inventory.model import Device, number, read_slice
from tests.inventory.machines import HAMI, device, resource_slice

RANGE = {"default": "10Gi", "validRange": {"min": "1Mi", "max": "10Gi", "step": "1Mi"}}
COARSE = {"default": "8", "validRange": {"min": "2", "max": "10", "step": "4"}}
NO_STEP = {"default": "1", "validRange": {"min": "1"}}
VALUES = {"default": "1", "validValues": ["1", "2", "4"]}
MIB = 1 << 20


def card(value: str, policy: Any = None, *, shared: bool = True) -> Device:
    """A device with one capacity."""
    capacity = {"value": value, **({"requestPolicy": policy} if policy else {})}
    item = device("card", {}, "1Gi", capacity={"memory": capacity}, allowMultipleAllocations=shared)
    return read_slice(resource_slice("s", HAMI, "a", [item])).devices[0]


@pytest.mark.parametrize(
    ("value", "policy", "asked", "taken"),
    [
        ("10Gi", None, "3Gi", 3072 * MIB),
        ("10Gi", None, "10Gi", 10240 * MIB),
        ("10Gi", None, "10737418241", None),
        ("10Gi", None, "0", 0),
        ("10Gi", None, "-5", -5),
        ("10Gi", None, "500m", Fraction(1, 2)),
        ("10Gi", None, None, 10240 * MIB),
        ("10Gi", RANGE, None, 10240 * MIB),
        ("10Gi", RANGE, "1", MIB),
        ("10Gi", RANGE, "-5", MIB),
        ("10Gi", RANGE, "1048577", 2 * MIB),
        ("10Gi", RANGE, "8000M", 7630 * MIB),
        ("10Gi", RANGE, "10Gi", 10240 * MIB),
        ("10Gi", RANGE, "10241Mi", None),
        ("20Gi", RANGE, "10241Mi", None),
        ("5Gi", RANGE, None, None),
        ("10", COARSE, None, 8),
        ("10", COARSE, "1", 2),
        ("10", COARSE, "2", 2),
        ("10", COARSE, "2500m", 6),
        ("10", COARSE, "7", 10),
        ("9", COARSE, "7", None),
        ("10", COARSE, "11", None),
        ("10", NO_STEP, "1500m", Fraction(3, 2)),
        ("10", NO_STEP, "11", None),
        ("4", VALUES, None, 1),
        ("4", VALUES, "0", 1),
        ("4", VALUES, "3", 4),
        ("4", VALUES, "4", 4),
        ("9", VALUES, "5", None),
        ("3", VALUES, "3", None),
    ],
)
def test_an_amount_is_rounded_up_as_the_policy_says(
    value: str, policy: Any, asked: str | None, taken: int | Fraction | None
) -> None:
    requests = {} if asked is None else {"memory": number(asked)}
    assert demand(requests, card(value, policy)) == (None if taken is None else {"memory": taken})


def test_a_capacity_that_is_not_published_under_this_very_name_never_fits() -> None:
    assert demand({"cores": 0}, card("10Gi")) is None
    assert demand({f"{HAMI}/memory": 1}, card("10Gi")) is None


def test_a_whole_device_is_filtered_by_amounts_all_the_same() -> None:
    assert demand({"memory": number("10Gi")}, card("10Gi", shared=False)) is not None
    assert demand({"memory": number("11Gi")}, card("10Gi", shared=False)) is None
