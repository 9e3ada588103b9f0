"""What the ResourceSlices offer, what of it is free, and where that is less than the workloads ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.check.scan.needs import Need


@dataclass(frozen=True, slots=True)
class Offer:
    """Devices of one kind: all of them, or those that are free."""

    devices: int
    memory_mib: int
    """Of all of them; what is left of shared ones counts as free."""
    cores: int | None
    """In percent of a card; None where the driver has none."""
    untouched: tuple[int, ...] = ()
    """Memory of each device that nobody has a part of, in MiB, the smallest first."""
    smallest_mib: int = 0
    """Memory of the smallest device, also where somebody has a part of it."""


@dataclass(frozen=True, slots=True)
class Supply:
    """One kind of devices, asked and offered."""

    need: Need
    shareable: bool
    offered: Offer | None
    """None where slices or classes cannot be read."""
    free: Offer | None
    """None where claims cannot be read, either."""

    @property
    def short(self) -> tuple[str, ...]:
        """Where the sum cannot fit, however pods are placed. No sentence is no promise: nodes and shapes count, too."""
        offer = self.free or self.offered
        return () if offer is None else tuple(self._short(offer))

    def _short(self, offer: Offer) -> Iterator[str]:
        need, left = self.need, offer.untouched
        word = "free" if self.free is not None else "offered"
        whole = need.whole if self.shareable else need.devices
        if whole > len(left):
            what = "whole devices" if self.shareable else "devices"
            yield f"{whole:,} {what} asked, {len(left):,} {word}"
        if not self.shareable:
            return
        # Whole devices take at least the smallest ones; parts share what is left.
        memory = offer.memory_mib - sum(left[:whole])
        asked = need.least_mib(offer.smallest_mib)
        if asked > memory:
            yield f"{asked:,} MiB asked in parts, {max(0, memory):,} MiB {word} beside whole devices"
        cores = None if offer.cores is None else max(0, offer.cores - 100 * whole)
        if cores is not None and need.cores > cores:
            yield f"{need.cores:,} % cores asked in parts, {cores:,} % {word} beside whole devices"
