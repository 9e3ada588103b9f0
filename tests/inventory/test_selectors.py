"""CEL selectors as the scheduler evaluates them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.inventory.model import Device, read_slice
from app.inventory.selectors import Selector, UnreadableError
from tests.inventory.machines import device, resource_slice

OWN = 'device.attributes["gpu.example.com"]'
CAPACITY = 'device.capacity["gpu.example.com"]'
ATTRIBUTES = {
    "model": {"string": "Fast 9"},
    "minor": {"int": 3},
    "healthy": {"bool": True},
    "driverVersion": {"version": "580.126.9-rc.1+build"},
    "example.org/rack": {"string": "r7"},
}


def published(name: str = "card", **attributes: object) -> Device:
    """A device of the driver gpu.example.com."""
    item = device(name, {}, "16Gi", capacity={"cores": {"value": "2500m"}}, allowMultipleAllocations=True)
    item["attributes"] = {**ATTRIBUTES, **attributes}
    return read_slice(resource_slice("s", "gpu.example.com", "a", [item])).devices[0]


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        "device.allowMultipleAllocations",
        f'{OWN}.model == "Fast 9"',
        f'{OWN}["model"].lowerAscii().contains("fast")',
        f'{OWN}.model.matches("^Fast [0-9]$")',
        f"{OWN}.minor == 3 && {OWN}.minor > 2.5",
        f"{OWN}.healthy",
        'device.attributes["example.org"].rack == "r7"',
        'device.attributes[device.driver].model.startsWith("Fast")',
        f'"model" in {OWN} && !("nosuch" in {OWN})',
        f"has({OWN}.model) && !has({OWN}.nosuch)",
        f'{OWN}.?nosuch.orValue("none") == "none"',
        f'{OWN}[?"model"].orValue("none") == "Fast 9"',
        f'["fast", "slow"].exists(t, {OWN}.model.lowerAscii().startsWith(t))',
        f'cel.bind(own, {OWN}, own.minor == 3 && own.model != "")',
        f'{OWN}.driverVersion.isGreaterThan(semver("580.126.8"))',
        f'{OWN}.driverVersion.isLessThan(semver("580.126.9"))',
        f'{OWN}.driverVersion.compareTo(semver("580.126.9-rc.2")) == -1',
        f'{OWN}.driverVersion == semver("580.126.9-rc.1")',
        f"{OWN}.driverVersion.major() == 580 && {OWN}.driverVersion.patch() == 9",
        'semver("v1.2", true) == semver("1.2.0") && isSemver("1.0.0") && !isSemver("1.0")',
        f'{CAPACITY}.memory.compareTo(quantity("16Gi")) == 0',
        f'{CAPACITY}.memory == quantity("16384Mi")',
        f'{CAPACITY}.memory.isGreaterThan(quantity("16e9"))',
        f'{CAPACITY}.memory.sub(quantity("1Gi")).isLessThan(quantity("16Gi"))',
        f"{CAPACITY}.memory.asInteger() == 17179869184 && {CAPACITY}.cores.asApproximateFloat() == 2.5",
        f"!{CAPACITY}.cores.isInteger() && sign({CAPACITY}.cores) == 1",
        f'{CAPACITY}.cores.add(1).isGreaterThan(quantity("3499m"))',
        'isQuantity("1.5Gi") && !isQuantity("1.5X")',
        'sets.contains(["gpu.example.com", "other"], [device.driver])',
        'sets.intersects([1, 2], [2, 3]) && sets.equivalent(["a", "b"], ["b", "a", "a"])',
        "[1, 2, 3].sum() == 6 && [1, 3].max() == 3 && [2, 1].min() == 1 && [1, 2].isSorted()",
    ],
)
def test_a_device_is_selected(expression: str) -> None:
    assert Selector(expression)(published()) is True


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.other.com"',
        f'{OWN}.minor == "3"',
        f'{OWN}.driverVersion == "580.126.9-rc.1"',
        f'{CAPACITY}.memory.compareTo(quantity("16385Mi")) >= 0',
        '"nosuch.example.com" in device.attributes',
        '"x" in device.attributes["nosuch.example.com"]',
        'device.attributes.exists(domain, domain == "nosuch.example.com")',
        'device.attributes["nosuch.example.com"].size() > 0',
        'has(device.capacity["nosuch.example.com"].memory)',
    ],
)
def test_a_device_is_passed_over(expression: str) -> None:
    assert Selector(expression)(published()) is False


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (f'{OWN}.nosuch == "x"', 'Key not found in map : "nosuch"'),
        ('device.attributes["nosuch.example.com"].x == 1', 'Key not found in map : "x"'),
        (f"{OWN}.model", "the result of type string is no boolean"),
        (f'{OWN}.model.compareTo(semver("1.0.0")) == 0', "No matching overloads found : (string).compareTo(map)"),
        (f'{OWN}.driverVersion.compareTo(quantity("1")) == 0', "no such overload: not a quantity"),
        (f'{CAPACITY}.memory.compareTo(quantity("much")) == 0', '"much" is not a number'),
        (f"{CAPACITY}.cores.asInteger() == 2", "cannot convert value to integer"),
    ],
)
def test_an_error_is_neither_a_match_nor_its_opposite(expression: str, error: str) -> None:
    assert Selector(expression)(published()) == error


@pytest.mark.parametrize(
    "expression",
    [f'{OWN}.nosuch == "x" || {OWN}.minor == 3', f'{OWN}.minor == 3 || {OWN}.nosuch == "x"'],
)
def test_an_error_beside_a_true_alternative_does_no_harm(expression: str) -> None:
    assert Selector(expression)(published()) is True


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("nosuch(device)", "undeclared reference to 'nosuch'"),
        ("device.driver ==", "Syntax error"),
        ("1 > 'a'", "no matching overload"),
        (f'"{"x" * 10_300}" != ""', "longer than 10240 bytes"),
    ],
)
def test_an_expression_that_does_not_compile_says_why(expression: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        Selector(expression)


def test_an_attribute_that_the_scheduler_does_not_know_spoils_the_device() -> None:
    for attribute, why in (
        ({"strings": ["a"]}, "attribute extra: a type that the scheduler does not know"),
        ({"version": "1.0"}, 'attribute extra: "1.0" is not a semantic version'),
    ):
        assert Selector("true")(published(extra=attribute)) == why


class Counted:
    """A program that counts how often it runs."""

    def __init__(self, program: object) -> None:
        self.program, self.runs = program, 0

    def eval(self, **options: object) -> object:
        """Run it."""
        self.runs += 1
        return self.program.eval(**options)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("expression", "runs"),
    [
        (f'{OWN}.model == "Fast 9" && "minor" in {OWN}', 1),
        (f'{OWN}["minor"] == 3 && has({OWN}.model) && {OWN}.?healthy.orValue(false)', 1),
        (f'{OWN}.model == "Fast 9" && {OWN}.uuid != ""', 50),
        (f'{OWN}.exists(id, id == "model")', 50),
        ('device.attributes.exists(domain, domain == "example.org")', 50),
        (f"cel.bind(own, {OWN}, own.minor == 3)", 50),
        (f'{OWN}["mo" + "del"] == "Fast 9"', 50),
    ],
)
def test_devices_that_an_expression_cannot_tell_apart_are_evaluated_once(expression: str, runs: int) -> None:
    selector = Selector(expression)
    counted = selector._program = Counted(selector._program)
    assert all(selector(published(f"card-{i}", uuid={"string": f"GPU-{i}"})) is True for i in range(50))
    assert counted.runs == runs


def test_the_runtime_is_loaded_when_a_selector_needs_it_and_not_before() -> None:
    code = "import sys, app.inventory, app.preview.examine; sys.exit('cel_expr_python.cel' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
