"""What all workloads that convert ask together, for each DeviceClass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from app.check.scan.judge import Judged, Workload
from app.translate import Claim


class Kind(NamedTuple):
    """Devices that stand for each other."""

    driver: str
    device_class: str
    mig_profile: str | None = None


@dataclass(slots=True)
class Need:
    """Sums over all pods that are asked for and do not hold allocated devices yet."""

    kind: Kind
    pods: int = 0
    devices: int = 0
    """Parts of cards, or cards."""
    whole: int = 0
    """Of these, the ones that nobody else can use."""
    memory_mib: int = 0
    """Of the parts that ask an amount."""
    percentages: Counter[int] = field(default_factory=Counter)
    """Of the parts that ask a percentage: percentage → devices."""
    cores: int = 0
    """Of the parts, in percent of a card."""

    @property
    def percent(self) -> int:
        """All percentages together: 100 is the memory of one card."""
        return sum(percentage * devices for percentage, devices in self.percentages.items())

    def least_mib(self, smallest_card: int) -> int:
        """The least memory that the parts can take together, in MiB, where no card is smaller."""
        return self.memory_mib + sum(
            devices * (smallest_card * percentage // 100) for percentage, devices in self.percentages.items()
        )

    def add(self, claim: Claim, pods: int) -> None:
        """Counts one claim of each pod."""
        devices = claim.devices * pods
        self.devices += devices
        if claim.exclusive or (claim.memory_mib is None and claim.memory_percentage is None and not claim.share):
            self.whole += devices
            return
        self.memory_mib += (claim.memory_mib or 0) * devices
        if claim.memory_percentage is not None:
            self.percentages[claim.memory_percentage] += devices
        self.cores += (claim.cores or 0) * devices


def sum_needs(workloads: Iterable[Workload]) -> list[Need]:
    """The needs in the order of driver, class and MIG profile; none for kinds that nobody waits for."""
    needs: dict[Kind, Need] = {}
    for judged in converting(workloads):
        kinds = {_kind(claim) for claim in judged.claims}
        for kind in kinds:
            needs.setdefault(kind, Need(kind)).pods += judged.waiting
        for claim in judged.claims:
            needs[_kind(claim)].add(claim, judged.waiting)
    return sorted((need for need in needs.values() if need.pods), key=lambda need: tuple(map(str, need.kind)))


def converting(workloads: Iterable[Workload]) -> Iterable[Judged]:
    """Every kind of pods that converts to claims."""
    return (one for workload in workloads for one in workload.judged if one.claims)


def _kind(claim: Claim) -> Kind:
    return Kind(claim.driver, claim.device_class, claim.mig_profile)
