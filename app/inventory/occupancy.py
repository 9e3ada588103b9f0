"""What existing claims have taken: whole devices, and amounts of shared ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.inventory.model import DeviceKey, Number, number

JSON = Any


@dataclass(slots=True)
class Occupancy:
    """The devices that are given away now. Allocations with admin access take nothing."""

    whole: set[DeviceKey] = field(default_factory=set)
    """Devices that one claim has for itself."""
    shared: set[DeviceKey] = field(default_factory=set)
    """Devices that claims have shares of."""
    amounts: dict[DeviceKey, dict[str, Number]] = field(default_factory=dict)
    """What the shares of a device take, by capacity name, added up."""

    def takes(self, device: DeviceKey) -> bool:
        """Anybody has it, or a share of it."""
        return device in self.whole or device in self.shared

    def add(self, claim: Mapping[str, JSON]) -> None:
        """Counts the allocation of a ResourceClaim; one without an allocation counts nothing."""
        allocation = (claim.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            if result.get("adminAccess"):
                continue
            key = (str(result["driver"]), str(result["pool"]), str(result["device"]))
            if not result.get("shareID"):
                self.whole.add(key)
                continue
            self.shared.add(key)
            if result.get("consumedCapacity") is not None:
                amounts = self.amounts.setdefault(key, {})
                for name, value in result["consumedCapacity"].items():
                    amounts[name] = amounts.get(name, 0) + number(value)


def occupancy(claims: Iterable[Mapping[str, JSON]]) -> Occupancy:
    """What these ResourceClaims take."""
    result = Occupancy()
    for claim in claims:
        result.add(claim)
    return result
