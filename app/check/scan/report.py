"""What a scan found, and the questions that all renderings ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

from app.check.scan.hazard import Hazard, Severity, Unknown
from app.check.scan.judge import Outcome, Workload
from app.check.scan.model import Cluster
from app.check.scan.offers import Supply
from app.check.scan.unread import affected
from app.cluster.listing import Gap
from app.translate import Note, Policy, Reason

UNCHECKED: Final = (
    "What images set by themselves, such as NVIDIA_VISIBLE_DEVICES: images are not pulled.",
    "Whether the API server keeps every field of a claim: `check` probes it, a scan creates nothing.",
    "Pods of custom kinds that have no pod now: their objects are not read.",
    "Whether CPU, memory, taints and affinities leave room for pods on the nodes with devices.",
)
"""What no scan can know, said in every report."""


DEFAULTS: Final = "defaults"
"""What the settings are called where nobody gave any."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a scan is about."""

    namespaces: tuple[str, ...] = ()
    """Only these; empty = all."""
    as_if_installed: bool = False
    """Every DeviceClass of the settings is taken for existing; cards of common sizes where none is published."""
    settings: str | None = None
    """Where the settings come from; None = those of the installation, where there is one, else the defaults."""


@dataclass(frozen=True)
class ScanReport:
    """What a scan found."""

    cluster: Cluster
    policy: Policy
    scope: Scope
    workloads: tuple[Workload, ...]
    finished: int
    """Workloads that have ended, and are left out everywhere else."""
    supplies: tuple[Supply, ...]
    hazards: tuple[Hazard, ...]
    unknown: tuple[Unknown, ...]
    at: datetime
    """When the cluster was read; in UTC."""

    @property
    def ready(self) -> bool:
        """Nothing is refused, and no hazard blocks."""
        refused = any(one.outcome in (Outcome.DENIED, Outcome.INVALID) for one in self.workloads)
        return not refused and not any(hazard.check.severity is Severity.BLOCKS for hazard in self.hazards)

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        """Workloads by outcome."""
        return _by_outcome(self.workloads)

    @cached_property
    def namespaces(self) -> list[NamespaceRow]:
        """Every namespace, in the order of names."""
        inside: dict[str, list[Workload]] = {name: [] for name in self.cluster.namespaces}
        for workload in self.workloads:
            inside.setdefault(workload.ref.namespace, []).append(workload)
        return [NamespaceRow(name, self._opted_in(name), tuple(inside[name])) for name in sorted(inside)]

    @property
    def pods(self) -> int | None:
        """Pods that exist and have not ended; None where they cannot be listed."""
        return None if self.cluster.pods is None else sum(not pod.finished for pod in self.cluster.pods)

    def pods_of(self, workload: Workload) -> int | None:
        """Pods that a workload asks for now; None where only its pods would tell, and they cannot be listed."""
        if self.cluster.pods is None and any(judged.variant.wanted is None for judged in workload.judged):
            return None
        return workload.pods

    def gathered(self, *outcomes: Outcome) -> list[Gathered]:
        """Workloads of these outcomes by what is said about them: the severest outcome first, then the most."""
        groups: dict[tuple[Outcome, tuple[tuple[Reason, str], ...]], list[Workload]] = {}
        for one in self.workloads:
            if one.outcome in outcomes:
                said = tuple((note.reason, note.message) for note in told(one))
                groups.setdefault((one.outcome, said), []).append(one)
        found = [Gathered(outcome, said, tuple(members)) for (outcome, said), members in groups.items()]
        order = list(Outcome)
        return sorted(found, key=lambda group: (order.index(group.outcome), -len(group.workloads)))

    def noted(self) -> list[tuple[Reason, int]]:
        """Every reason and warning with the number of its workloads, the most frequent first."""
        counts = Counter(
            reason
            for workload in self.workloads
            if workload.asks_devices
            for reason in dict.fromkeys(note.reason for note in (*workload.reasons, *workload.warnings))
        )
        return sorted(counts.items(), key=lambda one: (-one[1], one[0].value))

    @cached_property
    def unread(self) -> list[Unread]:
        """What could not be read, and what is unknown for that."""
        return [Unread(gap, tuple(affected(gap))) for gap in self.cluster.gaps]

    def _opted_in(self, name: str) -> bool | None:
        labels = self.cluster.namespaces.get(name)
        opt_in = self.policy.settings.opt_in
        return None if labels is None else labels.get(opt_in.label) == opt_in.value


class Gathered(NamedTuple):
    """Workloads about which the same is said."""

    outcome: Outcome
    said: tuple[tuple[Reason, str], ...]
    workloads: tuple[Workload, ...]


class Unread(NamedTuple):
    """Something that could not be read."""

    gap: Gap
    affects: tuple[str, ...]
    """Sentences: what is unknown, or assumed instead."""


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """One namespace with its workloads."""

    name: str
    opted_in: bool | None
    """Whether the webhook converts its pods today; None where its labels cannot be read."""
    workloads: tuple[Workload, ...]

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """Workloads by outcome."""
        return _by_outcome(self.workloads)

    @property
    def asks_devices(self) -> bool:
        """Whether any workload has to do with devices."""
        return any(one.asks_devices for one in self.workloads)


def told(workload: Workload) -> tuple[Note, ...]:
    """What people need to know of a workload: its warnings where it converts, else why it does not."""
    return workload.warnings if workload.outcome is Outcome.CONVERTS_WITH_WARNINGS else workload.reasons


def shown_time(at: datetime) -> str:
    """As Kubernetes writes it: ``2026-11-30T10:00:00Z``."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _by_outcome(workloads: Iterable[Workload]) -> dict[Outcome, int]:
    counts = Counter(one.outcome for one in workloads)
    return {outcome: counts[outcome] for outcome in Outcome}
