"""Which feature gate guards which claim field, and how an API server shows that a gate is off.

With a gate off the API server clears the field silently (KEP-5075, strategy section). Where the rest makes no sense
without it, validation then complains about something that nobody wrote: a constraint that only had
``distinctAttribute`` becomes "matchAttribute: Required value" (seen on Kubernetes 1.35).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

JSON = Any


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate of kube-apiserver and kube-scheduler."""

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

_REFUSALS = {
    # Field → what validation says about the hole that it leaves.
    "distinctAttribute": re.compile(r"constraints\[\d+\]\S*: Required value"),
    "firstAvailable": re.compile(r"requests\[\d+\]\S*: (Required|Invalid) value.*exactly one"),
}


def field_of(path: str) -> str:
    """The last field name of a path: ``devices.requests[0].exactly.capacity`` → ``capacity``."""
    return path.rpartition(".")[2].partition("[")[0]


def pattern_of(path: str) -> str:
    """A path without its indices, to recognise the same loss in another spec."""
    return re.sub(r"\[\d+\]", "[]", path)


def fields(spec: JSON, path: str = "") -> Iterator[str]:
    """Paths of all fields of a claim spec."""
    if isinstance(spec, Mapping):
        for key, value in spec.items():
            inner = f"{path}.{key}" if path else key
            yield inner
            yield from fields(value, inner)
    elif isinstance(spec, list | tuple):
        for i, value in enumerate(spec):
            yield from fields(value, f"{path}[{i}]")


def refused(spec: Mapping[str, JSON], message: str) -> tuple[str, ...]:
    """Paths of gated fields that a validation error (422) complains about in other words; mostly none."""
    return tuple(
        path for path in fields(spec) if (hole := _REFUSALS.get(field_of(path))) is not None and hole.search(message)
    )


def explain(paths: Iterable[str]) -> str:
    """What to do about fields that the API server lost, for people."""
    paths = list(paths)
    known = {GATES[f] for f in map(field_of, paths) if f in GATES}
    lost = f"this Kubernetes API server drops {', '.join(paths)} from ResourceClaimTemplates"
    if not known:
        return f"{lost}, so the pod would get something else than it asks for; a newer Kubernetes version is needed"
    gates = " and ".join(f"{g.name} (on by default from {g.since})" for g in sorted(known, key=lambda g: g.name))
    return f"{lost}; switch on the feature gate {gates} in kube-apiserver, kube-scheduler and kubelet, or upgrade"
