"""What the scheduler gave to a row of pods, so that two runs compare: cards of one kind may change places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.cluster.testbed.allocation import Allocation
from tests.cluster.testbed.api import Api

JSON = Any
Key = tuple[str, str]
"""Pool and name of a device."""
_OF_ONE_CARD = {"uuid", "parentUUID", "minor", "index", "pcieRoot", "pciBusID", "numa", "numaNode"}
"""Attributes that tell a card from its equals, by the last part of their name."""


def kinds_of_devices(api: Api) -> Mapping[Key, str]:
    """For each published device what it is: driver, attributes and capacities, without what only this one has."""
    kinds = {}
    for published in api.list("ResourceSlice"):
        for device in published["spec"]["devices"]:
            attributes = {
                name: value
                for name, value in device.get("attributes", {}).items()
                if name.rpartition("/")[2] not in _OF_ONE_CARD
            }
            capacity = {name: value["value"] for name, value in device.get("capacity", {}).items()}
            kind = (published["spec"]["driver"], sorted(attributes.items()), sorted(capacity.items()))
            kinds[published["spec"]["pool"]["name"], device["name"]] = repr(kind)
    return kinds


def comparable(rows: Iterable[Iterable[Allocation]], kinds: Mapping[Key, str]) -> list[list[JSON]]:
    """The allocations with each device named by its kind and by the order in which it was first given.

    Args:
        rows: for each object, in the order they were applied, what its pods got.
        kinds: what :func:`kinds_of_devices` says.
    """
    numbers: dict[str, dict[Key, int]] = {}
    seen = []
    for row in rows:
        pods = []
        for one in sorted(row, key=lambda allocation: allocation.cards):  # replicas are equals
            devices = []
            for device in sorted(one.devices, key=lambda device: (device.claim, device.request, device.device)):
                kind = kinds[device.pool, device.device]
                known = numbers.setdefault(kind, {})
                number = known.setdefault((device.pool, device.device), len(known))
                devices.append((device.claim, device.request, kind, number, dict(device.consumed)))
            pods.append((one.node, devices))
        seen.append(pods)
    return seen
