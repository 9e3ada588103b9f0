"""What the scheduler gave to a pod, read from its generated claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.translate import quantity
from tests.cluster.testbed.api import Api

JSON = Any


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One device of one claim: an entry of ``status.allocation.devices.results``."""

    claim: str
    """Name of the entry in the pod's ``spec.resourceClaims``."""
    request: str
    """``request``, or ``request/alternative`` for prioritized lists."""
    driver: str
    pool: str
    device: str
    consumed: Mapping[str, str] = field(default_factory=dict)
    """``consumedCapacity`` by capacity name; empty for devices that are not shared."""
    share: str | None = None

    @property
    def memory_mib(self) -> int | None:
        """Memory taken of the card, in MiB."""
        return int(quantity.parse(self.consumed["memory"]) / 2**20) if "memory" in self.consumed else None

    @property
    def cores(self) -> int | None:
        """Cores taken of the card, in percent."""
        return int(quantity.parse(self.consumed["cores"])) if "cores" in self.consumed else None


@dataclass(frozen=True, slots=True)
class Allocation:
    """All devices of one pod, and its node."""

    node: str | None
    devices: tuple[AllocatedDevice, ...]

    @property
    def cards(self) -> tuple[tuple[str, str], ...]:
        """Pool and device of each, in order: equal for two pods that share a card."""
        return tuple((device.pool, device.device) for device in self.devices)

    def of(self, claim: str) -> tuple[AllocatedDevice, ...]:
        """The devices of one entry of the pod's ``spec.resourceClaims``."""
        return tuple(device for device in self.devices if device.claim == claim)

    @property
    def only(self) -> AllocatedDevice:
        """The device of a pod that has exactly one."""
        (device,) = self.devices
        return device


def allocation(api: Api, pod: JSON) -> Allocation:
    """Read the claims of ``pod`` (a stored Pod). Claims without an allocation yet add no devices.

    The claim that Kubernetes itself makes for an extended resource has no entry in the pod: its name is ``""``.
    """
    claims = {entry["name"]: entry["resourceClaimName"] for entry in pod["status"].get("resourceClaimStatuses", ())}
    if extended := pod["status"].get("extendedResourceClaimStatus"):
        claims[""] = extended["resourceClaimName"]
    devices: list[AllocatedDevice] = []
    for entry, name in claims.items():
        claim = api.get("ResourceClaim", name, pod["metadata"]["namespace"])
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
        devices += [_device(entry, result) for result in results]
    return Allocation(pod["spec"].get("nodeName"), tuple(devices))


def _device(claim: str, result: JSON) -> AllocatedDevice:
    return AllocatedDevice(
        claim=claim,
        request=result["request"],
        driver=result["driver"],
        pool=result["pool"],
        device=result["device"],
        consumed=result.get("consumedCapacity", {}),
        share=result.get("shareID"),
    )
