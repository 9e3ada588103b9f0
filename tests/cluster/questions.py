"""Asks the real scheduler whether claims can be allocated on a node, many at once, and waits for its word on each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.inventory.model import DeviceKey
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.wait import wait_for

JSON = Any
SCHEDULED, UNSCHEDULABLE, FAILED = "Scheduled", "Unschedulable", "SchedulerError"
"""What the scheduler says of a pod; the latter two are reasons of its condition."""


@dataclass(frozen=True)
class Question:
    """A pod that may run on one node only."""

    name: str
    node: str
    specs: Sequence[JSON]
    """Of its claims."""

    def ask(self, namespace: Namespace) -> None:
        """Create the claims and the pod."""
        claims = [f"{self.name}-{index}" for index in range(len(self.specs))]
        for claim, spec in zip(claims, self.specs, strict=True):
            namespace.create(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceClaim",
                    "metadata": {"name": claim},
                    "spec": spec,
                }
            )
        entries = [{"name": f"c{index}", "resourceClaimName": claim} for index, claim in enumerate(claims)]
        namespace.create(pod(self.name, resourceClaims=entries, nodeSelector={"kubernetes.io/hostname": self.node}))


def answers(namespace: Namespace, questions: Iterable[Question]) -> dict[str, str]:
    """What the scheduler says of each pod, by name, once it has said something of all."""
    said: dict[str, str] = {}
    waiting = [question.name for question in questions]

    def all_said() -> bool:
        if waiting and _word(namespace.get("Pod", waiting[-1])) is not None:  # the last one is decided late
            words = {stored["metadata"]["name"]: _word(stored) for stored in namespace.list("Pod")}
            said.update({name: word for name in waiting if (word := words[name]) is not None})
            waiting[:] = [name for name in waiting if name not in said]
        return not waiting

    wait_for(all_said, "the scheduler to decide on all pods", timeout=100)
    return said


def given(namespace: Namespace) -> Mapping[str, set[DeviceKey]]:
    """The devices that are allocated to each claim of a namespace."""
    return {claim["metadata"]["name"]: _devices(claim) for claim in namespace.list("ResourceClaim")}


def discard(namespace: Namespace, pods: Collection[str] | None = None) -> None:
    """Remove pods with their claims; all of a namespace where none are named.

    The controller that frees claims sends 20 requests a second, so their finalizers are taken off here.
    """
    for stored in namespace.list("Pod"):
        if pods is None or stored["metadata"]["name"] in pods:
            namespace.api.delete("Pod", stored["metadata"]["name"], namespace.name, gracePeriodSeconds=0)
    for claim in namespace.list("ResourceClaim"):
        name = claim["metadata"]["name"]
        if pods is None or name.rpartition("-")[0] in pods:
            namespace.api.delete("ResourceClaim", name, namespace.name)
            if claim["metadata"].get("finalizers"):
                with suppress(ApiError):  # the controller was there first
                    namespace.api.patch("ResourceClaim", name, {"metadata": {"finalizers": None}}, namespace.name)


def _word(stored: JSON) -> str | None:
    if stored["spec"].get("nodeName"):
        return SCHEDULED
    conditions = stored.get("status", {}).get("conditions", ())
    return next((one["reason"] for one in conditions if one["type"] == "PodScheduled"), None)


def _devices(claim: JSON) -> set[DeviceKey]:
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    return {(one["driver"], one["pool"], one["device"]) for one in results}
