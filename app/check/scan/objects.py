"""Reads objects of the API into what the scan knows of them: who owns them, how many pods they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from app.check.scan.model import Controller, Ref, SeenPod
from app.check.scan.shapes import Shapes
from app.preview.advice import about_workload
from app.preview.workloads import find_pods
from app.translate.containers import items, mapping
from app.translate.decision import CONVERTED_LABEL

JSON = Any

_ENDED: Final = ("Succeeded", "Failed")
_JOB_ENDED: Final = ("Complete", "Failed")


def ref_of(obj: Mapping[str, JSON]) -> Ref:
    """The object itself, as an ownerReference would name it."""
    metadata = mapping(obj.get("metadata"))
    texts = (obj.get("apiVersion"), obj.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return Ref(*(str(text or "") for text in texts))


def owner_of(obj: Mapping[str, JSON]) -> Ref | None:
    """The controller of an object, whatever its kind: it is named by the reference alone."""
    metadata = mapping(obj.get("metadata"))
    for reference in items(metadata.get("ownerReferences")):
        one = mapping(reference)
        if one.get("controller") is True:
            texts = (one.get("apiVersion"), one.get("kind"), metadata.get("namespace"), one.get("name"))
            return Ref(*(str(text or "") for text in texts))
    return None


def read_pod(pod: Mapping[str, JSON], shapes: Shapes) -> SeenPod:
    """A pod that exists."""
    metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
    finished = mapping(pod.get("status")).get("phase") in _ENDED or metadata.get("deletionTimestamp") is not None
    converted = CONVERTED_LABEL in mapping(metadata.get("labels"))
    return SeenPod(ref_of(pod), owner_of(pod), finished, converted and bool(spec.get("nodeName")), shapes.of_pod(pod))


def read_controller(obj: Mapping[str, JSON], shapes: Shapes) -> Controller:
    """A Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job or CronJob."""
    found = find_pods(obj)
    shape = shapes.of_template(found[0].pod) if found else None
    notes = tuple(about_workload(obj, found[0])) if shape is not None else ()
    return Controller(ref_of(obj), owner_of(obj), _wanted(obj), _finished(obj), shape, notes)


def _wanted(obj: Mapping[str, JSON]) -> int | None:
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    kind = obj.get("kind")
    if kind == "CronJob":
        return None
    if kind == "DaemonSet":
        return int(status.get("desiredNumberScheduled") or 0)
    if kind == "Job":
        if spec.get("suspend") or _finished(obj):
            return 0
        left = spec.get("completions")
        parallel = _number(spec, "parallelism")
        return parallel if left is None else max(0, min(parallel, int(left) - int(status.get("succeeded") or 0)))
    return _number(spec, "replicas")


def _number(spec: Mapping[str, JSON], name: str) -> int:
    value = spec.get(name)
    return 1 if value is None else int(value)


def _finished(obj: Mapping[str, JSON]) -> bool:
    return obj.get("kind") == "Job" and any(
        mapping(one).get("type") in _JOB_ENDED and mapping(one).get("status") == "True"
        for one in items(mapping(obj.get("status")).get("conditions"))
    )
