"""Reduces pods to what rules and hazards read of them, and shares what is equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from app.check.scan.model import PodShape
from app.translate import Policy
from app.translate.advice import SCHEDULER_OWNED, VISIBLE_DEVICES
from app.translate.containers import GROUPS, items, mapping
from app.translate.essence import essence

JSON = Any

HAMI_SCHEDULER, AUTOSCALER = "hami-scheduler", "autoscaler"
_BY_CONTAINER: Final = {"vgpu-scheduler-extender": HAMI_SCHEDULER}
"""Name of a container → the program in it. HAMi's chart names it so, whatever the release is called."""
_BY_IMAGE: Final = {"cluster-autoscaler": AUTOSCALER, "karpenter": AUTOSCALER}
"""One of the last two parts of an image's name, as in karpenter/controller → the program in it."""
_ORDINARY: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"


class Shapes:
    """The shapes of all pods of a cluster; equal ones are kept once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[bytes, PodShape] = {}

    def of_template(self, pod: Mapping[str, JSON]) -> PodShape | None:
        """The shape of the pod that a template leads to; None where it has nothing to do with devices."""
        spec = mapping(pod.get("spec"))
        devices, components = tuple(_host_devices(spec)), tuple(sorted(set(_components(spec))))
        if not (devices or components or _of_interest(spec, self._policy.settings.schedulers.legacy)):
            return None
        reduced = essence({key: pod[key] for key in ("metadata", "spec") if key in pod}, self._policy)
        shape = PodShape(reduced, devices, spec.get("priorityClassName") or None, components)
        key = orjson.dumps([reduced, devices, shape.priority_class, components], option=orjson.OPT_SORT_KEYS)
        return self._known.setdefault(key, shape)

    def of_pod(self, pod: Mapping[str, JSON]) -> PodShape | None:
        """The shape of an existing pod as it was created: without its node and what the old scheduler wrote."""
        metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
        annotations = mapping(metadata.get("annotations"))
        created = {
            "metadata": {
                **{name: metadata[name] for name in ("name", "namespace", "labels") if name in metadata},
                "annotations": {name: value for name, value in annotations.items() if name not in SCHEDULER_OWNED},
            },
            "spec": spec if _named_its_node(metadata) else {k: v for k, v in spec.items() if k != "nodeName"},
        }
        return self.of_template(created)


def _named_its_node(metadata: Mapping[str, JSON]) -> bool:
    """Whoever created the pod owns the field; a scheduler binds without owning it."""
    return any(
        "f:nodeName" in mapping(mapping(mapping(manager).get("fieldsV1")).get("f:spec"))
        for manager in items(metadata.get("managedFields"))
    )


def _of_interest(spec: Mapping[str, JSON], legacy_scheduler: str) -> bool:
    if spec.get("resourceClaims") or spec.get("schedulerName") == legacy_scheduler:
        return True
    return any(_touches_devices(one) for one in containers_of(spec))


def _touches_devices(container: Mapping[str, JSON]) -> bool:
    """Extended resources, a choice of visible cards, or the right to open every device."""
    resources = mapping(container.get("resources"))
    names = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
    return (
        any(name not in _ORDINARY and not name.startswith(_HUGE_PAGES) for name in names)
        or any(mapping(entry).get("name") == VISIBLE_DEVICES for entry in items(container.get("env")))
        or mapping(container.get("securityContext")).get("privileged") is True
    )


def _host_devices(spec: Mapping[str, JSON]) -> Iterator[str]:
    for volume in items(spec.get("volumes")):
        path = mapping(mapping(volume).get("hostPath")).get("path")
        if isinstance(path, str) and (path.rstrip("/") == "/dev" or path.startswith("/dev/nvidia")):
            yield path


def _components(spec: Mapping[str, JSON]) -> Iterator[str]:
    for one in containers_of(spec):
        image = str(one.get("image") or "").rpartition("@")[0] or str(one.get("image") or "")
        parts = [part.partition(":")[0] for part in image.split("/")[-2:]]
        programs = (_BY_CONTAINER.get(str(one.get("name"))), *map(_BY_IMAGE.get, parts))
        yield from (program for program in programs if program is not None)


def containers_of(spec: Mapping[str, JSON]) -> Iterator[Mapping[str, JSON]]:
    """Init containers and containers of a pod spec."""
    for group in GROUPS:
        yield from (mapping(one) for one in items(spec.get(group)))
