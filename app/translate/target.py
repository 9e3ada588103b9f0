"""The devices that serve an ask: a driver profile, a kind of device, and what the facts say of them."""

from __future__ import annotations

from dataclasses import dataclass

from app.drivers import DriverProfile
from app.drivers.model import Sharing
from app.translate.facts import Device, Facts


@dataclass(frozen=True, slots=True)
class Target:
    """The driver and kind of device that serve an ask."""

    profile: DriverProfile
    mig: bool
    by_memory: bool = False
    """MIG devices are chosen by the asked memory (S52)."""

    @property
    def device_class(self) -> str:
        """The DeviceClass of the request."""
        return self.profile.mig.device_class if self.mig and self.profile.mig else self.profile.device_class

    def known(self, facts: Facts) -> tuple[Device, ...]:
        """The devices of this kind in the facts; empty when none is known."""
        return facts.devices_of(
            self.profile, self.profile.mig.type if self.mig and self.profile.mig else self.profile.type
        )

    def sharing(self, facts: Facts) -> frozenset[Sharing]:
        """How these devices are handed out: what the slices show, or the profile while there are none."""
        known = self.known(facts)
        if known:
            return frozenset(d.sharing(self.profile) for d in known)
        return frozenset({"exclusive" if self.mig else self.profile.sharing})

    def has_shares(self, facts: Facts) -> bool:
        """Whether these devices have counted shares: as the slices show, or the profile while there are none (S41)."""
        known = self.known(facts)
        if known:
            return any(d.sharing(self.profile) == "shares" for d in known)
        return self.profile.sharing == "shares"

    def publishes(self, capacity: str | None, facts: Facts) -> bool:
        """Whether a capacity may be asked for: the profile names it and no slice contradicts (S42)."""
        known = self.known(facts)
        return capacity is not None and (not known or any(capacity in d.capacity for d in known))
