"""AdmissionReviews as the API server sends them when a controller, or a person, creates the pods of a manifest."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from app.preview.workloads import find_pods, name_of
from app.translate import quantity

JSON = Any
_CONTROLLERS = {
    "Deployment": "replicaset-controller",
    "ReplicaSet": "replicaset-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemon-set-controller",
    "Job": "job-controller",
}
_TEMPLATE_HASH = "6d4b75cb6d"
"""Stands for what a Deployment adds to the names of its ReplicaSets."""


def reviews_of(file: Path) -> Iterator[tuple[str, JSON]]:
    """One review for each pod template of a manifest, and what it belongs to (``Deployment/web``)."""
    for manifest in yaml.safe_load_all(file.read_text()):
        for found in find_pods(manifest):
            yield name_of(manifest), review(manifest, found.pod)


def review(manifest: Mapping[str, JSON], pod: Mapping[str, JSON]) -> JSON:
    """The review for creating ``pod``, which a controller made from ``manifest``, or a person wrote."""
    pod = deepcopy(dict(pod))
    controller = _CONTROLLERS.get(manifest["kind"])
    if controller is not None:
        _as_controller_makes_it(manifest, pod)
    _default_requests(pod["spec"])
    namespace = pod["metadata"].setdefault("namespace", "default")
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    user = f"system:serviceaccount:kube-system:{controller}" if controller else "kubernetes-admin"
    request = {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": user},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    if "name" in pod["metadata"]:  # pods with generateName have no name before they are admitted
        request["name"] = pod["metadata"]["name"]
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _as_controller_makes_it(manifest: Mapping[str, JSON], pod: JSON) -> None:
    """Adds the names and the owner that the controller adds."""
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    if kind == "Deployment":  # its pods belong to a ReplicaSet
        kind, name = "ReplicaSet", f"{name}-{_TEMPLATE_HASH}"
        pod["metadata"].setdefault("labels", {})["pod-template-hash"] = _TEMPLATE_HASH
    pod["metadata"]["generateName"] = f"{name}-"
    owner = {"apiVersion": manifest["apiVersion"], "kind": kind, "name": name, "uid": str(uuid.uuid4())}
    pod["metadata"]["ownerReferences"] = [owner | {"controller": True, "blockOwnerDeletion": True}]


def _default_requests(spec: JSON) -> None:
    """What the API server does before it calls a webhook: prints quantities anew, and fills requests from limits."""
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        resources = container.get("resources", {})
        for part in ("limits", "requests"):
            if part in resources:
                resources[part] = {key: quantity.canonical(value) for key, value in resources[part].items()}
        if "limits" in resources:
            resources["requests"] = resources["limits"] | resources.get("requests", {})
