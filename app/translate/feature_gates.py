"""Which feature gate guards which claim field, and what to do where an API server has one switched off.

With a gate off the API server clears the field silently (KEP-5075, strategy section).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Gate:
    """A feature gate of the control plane and the kubelets."""

    name: str
    since: str
    """First version that has it on by default."""


GATES: Mapping[str, Gate] = {
    "capacity": Gate("DRAConsumableCapacity", "1.36"),
    "distinctAttribute": Gate("DRAConsumableCapacity", "1.36"),
    "firstAvailable": Gate("DRAPrioritizedList", "1.34"),
    "tolerations": Gate("DRADeviceTaints", "1.36"),
    "adminAccess": Gate("DRAAdminAccess", "1.34"),
}
"""By the name of the claim field."""


def field_of(path: str) -> str:
    """The last field name of a path: ``devices.requests[0].exactly.capacity`` → ``capacity``."""
    return path.rpartition(".")[2].partition("[")[0]


def explain(paths: Iterable[str]) -> str:
    """What is lost and what to do about it, for people.

    Args:
        paths: of fields that the API server drops, inside a claim spec, or just their names.
    """
    paths = list(paths)
    lost = f"the API server drops {', '.join(paths)} from claims"
    gates = sorted({GATES[field] for field in map(field_of, paths) if field in GATES})
    if not gates:
        return f"{lost}, so the pod would get something else than it asks for; a newer Kubernetes version is needed"
    named = " and ".join(f"{gate.name} (on by default from {gate.since})" for gate in gates)
    return f"{lost}: switch on the feature gate {named} in kube-apiserver, kube-scheduler and kubelet, or upgrade"
