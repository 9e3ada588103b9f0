"""What becomes of each workload, in the words of the translation's own decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.check.scan.model import Ref
from app.check.scan.owners import Group, Variant, all_finished
from app.preview.surroundings import Surroundings
from app.translate import Claim, Decision, Facts, Note, Policy, Reason, translate
from app.translate import Outcome as Decided
from app.translate.containers import mapping

JSON = Any


class Outcome(StrEnum):
    """What happens to a workload once its namespace opts in. Where its pods differ, the first of these counts."""

    DENIED = "denied"
    INVALID = "invalid"
    """The API server refuses its pods, with or without the webhook (S6)."""
    FOREIGN_SCHEDULER = "foreign-scheduler"
    CONVERTS_WITH_WARNINGS = "converts-with-warnings"
    CONVERTS = "converts"
    STAYS = "stays"
    """It asks for legacy resources, and they stay: opted out, left to Kubernetes, or nothing to convert them to."""
    ALREADY_DRA = "already-dra"
    NO_GPU = "no-gpu"


_RANKS = {outcome: rank for rank, outcome in enumerate(Outcome)}
_UNTOUCHED = {
    Reason.FOREIGN_SCHEDULER: Outcome.FOREIGN_SCHEDULER,
    Reason.INVALID_REQUEST: Outcome.INVALID,
    Reason.ALREADY_CONVERTED: Outcome.ALREADY_DRA,
    Reason.NO_LEGACY_KEYS: Outcome.NO_GPU,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """Equal pods of a workload with their decision."""

    variant: Variant
    outcome: Outcome
    reasons: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    decision: Decision | None = None

    @property
    def waiting(self) -> int:
        """Pods that are asked for and do not hold allocated devices yet."""
        return max(0, self.variant.pods - self.variant.served)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What each pod is granted; the claims of init containers that share one are left out."""
        decision = self.decision
        return () if decision is None else tuple(one for one in decision.claims if one.shares_claim_of is None)


@dataclass(slots=True)
class Workload:
    """Everything below one top owner, with what becomes of it."""

    ref: Ref
    judged: list[Judged]
    outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        self.outcome = min((one.outcome for one in self.judged), key=_RANKS.__getitem__)

    @property
    def pods(self) -> int:
        """Pods that it asks for now."""
        return sum(one.variant.pods for one in self.judged)

    @property
    def running(self) -> int:
        """Pods that exist and have not ended."""
        return sum(one.variant.running for one in self.judged)

    @property
    def reasons(self) -> tuple[Note, ...]:
        """Why it has its outcome, each once."""
        return tuple(dict.fromkeys(note for one in self.judged if one.outcome is self.outcome for note in one.reasons))

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Of all its pods, each once."""
        return tuple(dict.fromkeys(note for one in self.judged for note in one.warnings))

    @property
    def asks_devices(self) -> bool:
        """Whether it has to do with devices at all."""
        return self.outcome is not Outcome.NO_GPU


def judge(groups: Iterable[Group], facts: Facts, surroundings: Surroundings) -> tuple[list[Workload], int]:
    """Every workload with its outcome, and the number of those that have ended and are left out."""
    judge_one = _Judge(facts, surroundings, surroundings.policy)
    workloads = []
    finished = 0
    for group in groups:
        if all_finished(group):
            finished += 1
        else:
            workloads.append(Workload(group.ref, [judge_one(group.ref, variant) for variant in group.variants]))
    return workloads, finished


@dataclass(frozen=True, slots=True)
class _Judge:
    facts: Facts
    surroundings: Surroundings
    policy: Policy

    def __call__(self, ref: Ref, variant: Variant) -> Judged:
        if variant.shape is None:
            return Judged(variant, Outcome.NO_GPU)
        pod = variant.shape.pod
        decision = translate(pod, self.surroundings.facts(ref.namespace, self.facts), self.policy)
        if decision.reason is Reason.NO_LEGACY_KEYS:
            has_claims = bool(mapping(pod.get("spec")).get("resourceClaims"))
            outcome = Outcome.ALREADY_DRA if has_claims else Outcome.NO_GPU
            return Judged(variant, outcome, decision.reasons, decision.warnings)
        left_out = self.surroundings.left_out(ref.namespace)
        if left_out is not None and decision.reason is not Reason.ALREADY_CONVERTED:
            return Judged(variant, Outcome.STAYS, (left_out,))
        warnings = (*decision.warnings, *variant.notes)
        return Judged(variant, _outcome(decision, warnings), decision.reasons, warnings, decision)


def _outcome(decision: Decision, warnings: tuple[Note, ...]) -> Outcome:
    if decision.outcome is Decided.DENIED:
        return Outcome.DENIED
    if decision.outcome is Decided.CONVERTED:
        return Outcome.CONVERTS_WITH_WARNINGS if warnings else Outcome.CONVERTS
    return _UNTOUCHED.get(decision.reason, Outcome.STAYS)


def surroundings_of(
    policy: Policy, namespaces: Mapping[str, Mapping[str, str] | None], limit_ranges: Iterable[JSON], own: str | None
) -> Surroundings:
    """What the namespaces say about their pods, as a preview with these objects in its input reads it (S2, S72)."""
    surroundings = Surroundings(policy, own)
    surroundings.read(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}
        for name, labels in namespaces.items()
    )
    surroundings.read(limit_ranges)
    return surroundings
