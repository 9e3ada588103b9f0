"""Groups pods and their templates by the object on top: the Deployment above a ReplicaSet, the RayCluster above pods.

Custom kinds are never read: an ownerReference is enough to name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.check.scan.model import Cluster, Controller, PodShape, Ref, SeenPod
from app.translate import Note

_DEEPEST: Final = 16
"""Owners above owners; more than this is a circle, which the API server does not forbid."""
_NAMED_AFTER: Final = {("apps/v1", "ReplicaSet"): "Deployment", ("batch/v1", "Job"): "CronJob"}
"""Kind → the kind that makes it and names it after itself, with a hyphen and a hash or a time behind."""


@dataclass(slots=True)
class Variant:
    """Equal pods of one workload: those of a template, or those that look alike where no template can be read."""

    shape: PodShape | None
    notes: tuple[Note, ...] = ()
    wanted: int | None = None
    """Pods that the template asks for; None = as many as there are."""
    running: int = 0
    """Pods that exist and have not ended."""
    served: int = 0
    """Of these, the ones that hold allocated devices already."""
    finished: bool = True
    """Nothing more will be created."""

    @property
    def pods(self) -> int:
        """Pods that are asked for now."""
        return self.running if self.wanted is None else self.wanted


@dataclass(slots=True)
class Group:
    """Everything below one top owner."""

    ref: Ref
    variants: list[Variant] = field(default_factory=list)


def group_by_owner(cluster: Cluster) -> list[Group]:
    """All workloads, in the order of namespace, kind and name."""
    tree = _Tree(cluster)
    groups: dict[Ref, Group] = {}
    variants: dict[object, Variant] = {}
    for controller in cluster.controllers:
        if tree.carrier(controller.ref) is not controller:
            continue  # the template above it is what is admitted next
        top = tree.top(controller.ref)
        variant = Variant(controller.shape, controller.notes, controller.wanted, finished=controller.finished)
        variants[controller.ref] = variant
        groups.setdefault(top, Group(top)).variants.append(variant)
    for pod in cluster.pods or ():
        carrier = None if pod.owner is None else tree.carrier(pod.owner)
        top = tree.top(pod.ref)
        key: object = (top, pod.shape) if carrier is None else carrier.ref
        if key not in variants:
            variants[key] = Variant(pod.shape)
            groups.setdefault(top, Group(top)).variants.append(variants[key])
        _count(variants[key], pod, own=carrier is None)
    for group in groups.values():
        _keep_current(group)
    return sorted(groups.values(), key=lambda group: (group.ref.namespace, group.ref.kind, group.ref.name))


def _count(variant: Variant, pod: SeenPod, *, own: bool) -> None:
    if not pod.finished:
        variant.running += 1
        variant.served += pod.holds_devices
    if own:
        variant.finished = variant.finished and pod.finished


def _keep_current(group: Group) -> None:
    """Leave out what is not created again: pods and Jobs that have ended, ReplicaSets of former revisions."""
    going = [one for one in group.variants if not one.finished]
    current = [one for one in going if one.wanted != 0 or one.running]
    group.variants = current or going or group.variants


class _Tree:
    """Who is above whom."""

    def __init__(self, cluster: Cluster) -> None:
        self._controllers: Mapping[Ref, Controller] = {one.ref: one for one in cluster.controllers}
        self._owners: dict[Ref, Ref | None] = {one.ref: one.owner for one in cluster.controllers}
        self._owners.update({pod.ref: pod.owner for pod in cluster.pods or ()})

    def top(self, ref: Ref) -> Ref:
        """The last owner that a reference leads to; itself where owners go in a circle."""
        found = ref
        for _ in range(_DEEPEST):
            above = self._above(found)
            if above is None:
                return found
            found = above
        return ref

    def carrier(self, ref: Ref) -> Controller | None:
        """The controller whose template counts for pods of an owner: the highest in a row of known controllers."""
        start = found = self._controllers.get(ref) or self._controllers.get(self._above(ref) or ref)
        for _ in range(_DEEPEST):
            above = None if found is None or found.owner is None else self._controllers.get(found.owner)
            if above is None:
                return found
            found = above
        return start

    def _above(self, ref: Ref) -> Ref | None:
        """The owner; by the name of a ReplicaSet or Job where that cannot be read, or is younger than our list."""
        if ref in self._owners:
            return self._owners[ref]
        kind = _NAMED_AFTER.get((ref.api_version, ref.kind))
        stem = ref.name.rpartition("-")[0]
        named = None if kind is None else Ref(ref.api_version, kind, ref.namespace, stem)
        return named if named in self._controllers else None


def all_finished(group: Group) -> bool:
    """Whether nothing of a workload will be created again."""
    return all(variant.finished for variant in group.variants)
