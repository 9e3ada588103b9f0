"""What a scan knows of a cluster: small values, so that tens of thousands of pods fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.cluster.listing import Gap
from app.translate import Note
from app.translate.facts import Version

JSON = Any


class Ref(NamedTuple):
    """An object, as ownerReferences name it."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """All that rules and hazards read of a pod. Pods that are equal in it share one."""

    pod: Mapping[str, JSON]
    """The pod as it is created, reduced to its essence (:mod:`app.translate.essence`)."""
    host_devices: tuple[str, ...] = ()
    """Folders and files of ``/dev`` on its node that it mounts."""
    priority_class: str | None = None
    components: tuple[str, ...] = ()
    """Programs that a scan knows: see :mod:`app.check.scan.shapes`."""


@dataclass(frozen=True, slots=True)
class Controller:
    """An object that makes pods from a template."""

    ref: Ref
    owner: Ref | None
    wanted: int | None
    """Pods that it asks for now; None = as many as there are."""
    finished: bool = False
    """A Job that has ended: it makes no pod any more."""
    shape: PodShape | None = None
    """None where its pods have nothing to do with devices."""
    notes: tuple[Note, ...] = ()
    """Warnings that only a look at the whole object gives."""


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod that exists."""

    ref: Ref
    owner: Ref | None
    finished: bool
    holds_devices: bool
    """It was converted and has a node, so its claims are allocated."""
    shape: PodShape | None = None


@dataclass(slots=True)
class Cluster:
    """What was read. None stands for what could not be read, and a gap says why."""

    host: str
    version: Version | None
    namespaces: dict[str, Mapping[str, str] | None]
    """Name → labels; None where the labels are unknown. All that were asked for, or all that there are."""
    controllers: list[Controller] = field(default_factory=list)
    pods: list[SeenPod] | None = None
    limit_ranges: list[JSON] | None = None
    """Only those that name legacy keys; so the quotas."""
    quotas: list[JSON] | None = None
    nodes: list[JSON] | None = None
    slices: list[JSON] | None = None
    classes: list[JSON] | None = None
    claims: list[JSON] | None = None
    webhooks: list[JSON] | None = None
    hami_settings: list[JSON] | None = None
    """ConfigMaps of HAMi."""
    gaps: list[Gap] = field(default_factory=list)
