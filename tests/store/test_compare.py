"""Claim specs are compared by value, and lost fields are found."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from app.cluster import gates
from app.cluster.compare import dropped, normalise, same
from tests.store.kit import claim_spec

Spec = dict[str, Any]


def full() -> Spec:
    """A spec with everything that the translation writes, and more."""
    return {
        "devices": {
            "requests": [
                {
                    "name": "a",
                    "exactly": {
                        "deviceClassName": "c",
                        "count": 2,
                        "selectors": [{"cel": {"expression": "true"}}],
                        "capacity": {"requests": {"memory": "8192Mi", "cores": "50"}},
                        "tolerations": [{"key": "k", "effect": "NoSchedule"}],
                    },
                },
                {
                    "name": "b",
                    "firstAvailable": [
                        {"name": "x", "deviceClassName": "c", "capacity": {"requests": {"memory": "1Gi"}}},
                        {"name": "y", "deviceClassName": "d"},
                    ],
                },
            ],
            "constraints": [{"requests": ["a"], "distinctAttribute": "c/uuid"}],
            "config": [{"opaque": {"driver": "d", "parameters": {"memory": "1024Mi", "empty": {}}}}],
        }
    }


def exactly(spec: Spec) -> Spec:
    result: Spec = spec["devices"]["requests"][0]["exactly"]
    return result


@pytest.mark.parametrize("spelling", ["8Gi", "8388608Ki", 8589934592, "8589934592", "8589934592000m"])
def test_quantities_are_numbers(spelling: str | int) -> None:
    other = full()
    exactly(other)["capacity"]["requests"]["memory"] = spelling
    assert same(full(), other)


@pytest.mark.parametrize("spelling", ["8G", "8193Mi", "0"])
def test_other_quantities_differ(spelling: str) -> None:
    other = full()
    exactly(other)["capacity"]["requests"]["memory"] = spelling
    assert not same(full(), other)
    assert dropped(full(), other) == []


def test_defaults_of_the_api_are_filled_in() -> None:
    other = full()
    exactly(other)["allocationMode"] = "ExactCount"
    exactly(other)["tolerations"][0]["operator"] = "Equal"
    for sub in other["devices"]["requests"][1]["firstAvailable"]:
        sub |= {"allocationMode": "ExactCount", "count": 1}
    assert same(full(), other)


def test_a_count_of_zero_is_one_as_the_api_server_stores_it() -> None:
    assert same(claim_spec(count=0), claim_spec(count=1))


def test_all_devices_have_no_count() -> None:
    assert not same(claim_spec(allocationMode="All"), claim_spec())
    assert normalise(claim_spec(allocationMode="All"))["devices"]["requests"][0]["exactly"].get("count") is None


def test_nulls_and_empty_parts_mean_nothing() -> None:
    other = full()
    other["controller"] = None
    exactly(other) | {"adminAccess": None}
    exactly(other)["adminAccess"] = None
    other["devices"]["requests"][1]["firstAvailable"][1]["selectors"] = []
    assert same(full(), other)
    assert same({"devices": {}}, {"devices": {"requests": [], "constraints": None}})


def test_opaque_parameters_are_not_interpreted() -> None:
    other = full()
    other["devices"]["config"][0]["opaque"]["parameters"]["memory"] = "1Gi"
    assert not same(full(), other)


def test_the_order_of_requests_counts() -> None:
    other = full()
    other["devices"]["requests"].reverse()
    assert not same(full(), other)


def test_comparing_changes_neither_side() -> None:
    a, b = full(), full()
    exactly(b)["count"] = 3
    same(a, b)
    dropped(a, b)
    assert a == full()
    assert exactly(b)["tolerations"] == [{"key": "k", "effect": "NoSchedule"}]


def test_nothing_is_dropped_from_an_equal_spec() -> None:
    assert dropped(full(), deepcopy(full())) == []


def test_the_outermost_lost_field_is_named() -> None:
    other = full()
    del exactly(other)["capacity"]
    del other["devices"]["requests"][1]["firstAvailable"][0]["capacity"]
    del other["devices"]["constraints"][0]["distinctAttribute"]
    assert dropped(full(), other) == [
        "devices.requests[0].exactly.capacity",
        "devices.requests[1].firstAvailable[0].capacity",
        "devices.constraints[0].distinctAttribute",
    ]


def test_a_lost_entry_of_a_list_is_named() -> None:
    other = full()
    other["devices"]["requests"].pop()
    assert dropped(full(), other) == ["devices.requests[1]"]


def test_an_added_field_is_no_loss_but_a_difference() -> None:
    other = full()
    exactly(other)["selectors"].append({"cel": {"expression": "false"}})
    assert dropped(full(), other) == []
    assert not same(full(), other)


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        (
            "spec.spec.devices.constraints[0].matchAttribute: Required value",
            ("devices.constraints[0].distinctAttribute",),
        ),
        ("spec.spec.devices.requests[0].name: Required value", ()),
        ("spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: compilation failed", ()),
    ],
)
def test_a_validation_error_is_traced_to_the_hole_of_a_gated_field(message: str, paths: tuple[str, ...]) -> None:
    assert gates.refused(full(), message) == paths
