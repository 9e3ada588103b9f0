"""All that a hazard may look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from app.check.scan.judge import Outcome, Workload
from app.check.scan.model import Cluster, PodShape
from app.check.scan.offers import Supply
from app.check.scan.supplies import Unmatched
from app.drivers import DriverProfile
from app.preview.surroundings import ALWAYS_LEFT_OUT
from app.translate import Policy


@dataclass(frozen=True)
class Survey:
    """A cluster, its workloads, and what becomes of them."""

    cluster: Cluster
    policy: Policy
    workloads: tuple[Workload, ...]
    own_webhook: str
    """Name of the webhook's own MutatingWebhookConfiguration."""
    supplies: tuple[Supply, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()

    @cached_property
    def asking(self) -> tuple[Workload, ...]:
        """Workloads that ask for legacy resources."""
        return tuple(one for one in self.workloads if one.outcome not in (Outcome.NO_GPU, Outcome.ALREADY_DRA))

    @cached_property
    def counted(self) -> tuple[Workload, ...]:
        """Workloads that become claims of the class behind the count, or are refused and may have meant it."""
        needed = self.policy.count_class
        return tuple(
            one
            for one in self.workloads
            if one.outcome is Outcome.DENIED
            or any(claim.device_class == needed for judged in one.judged for claim in judged.claims)
        )

    @cached_property
    def converting(self) -> tuple[Workload, ...]:
        """Workloads whose pods become claims."""
        return tuple(one for one in self.workloads if any(judged.claims for judged in one.judged))

    @cached_property
    def profiles(self) -> tuple[DriverProfile, ...]:
        """The drivers that the settings bind, each once."""
        bound = (self.policy.card_profile, self.policy.mig_profile, self.policy.shared_profile)
        return tuple({one.name: one for one in bound if one is not None}.values())

    def visible(self, workloads: Iterable[Workload] | None = None) -> Iterator[tuple[Workload, PodShape]]:
        """The shapes of workloads outside the system's own namespaces."""
        for workload in self.workloads if workloads is None else workloads:
            if workload.ref.namespace not in ALWAYS_LEFT_OUT:
                for judged in workload.judged:
                    if judged.variant.shape is not None:
                        yield workload, judged.variant.shape
