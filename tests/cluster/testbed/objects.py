"""Short ways to write the objects that tests create."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JSON = Any
_IMAGE = "example.org/pause:3.10"  # never pulled: there is no kubelet
_API_VERSIONS = {"Job": "batch/v1"}


def container(limits: Mapping[str, str | int] | None = None, name: str = "main", **fields: JSON) -> JSON:
    """A container with these limits."""
    resources = {"resources": {"limits": dict(limits)}} if limits else {}
    return {"name": name, "image": _IMAGE, **resources, **fields}


def pod(
    name: str,
    limits: Mapping[str, str | int] | None = None,
    *,
    containers: list[JSON] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    finalizers: Sequence[str] = (),
    **spec: JSON,
) -> JSON:
    """A pod of one container with these limits, or of the given containers."""
    metadata: JSON = {"name": name, "annotations": annotations, "labels": labels, "finalizers": list(finalizers)}
    metadata = {key: value for key, value in metadata.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers or [container(limits)], **spec},
    }


def workload(
    kind: str,
    name: str,
    limits: Mapping[str, str | int] | None = None,
    *,
    annotations: Mapping[str, str] | None = None,
    pod_spec: JSON = None,
    **spec: JSON,
) -> JSON:
    """A Deployment, StatefulSet, DaemonSet, ReplicaSet or Job whose pods have one container with these limits.

    ``annotations`` are those of the pods, ``spec`` are fields beside the template: ``replicas=2``, ``completions=3``.
    """
    labels = {"app": name}
    template: JSON = {"metadata": {"labels": labels}, "spec": {"containers": [container(limits)], **(pod_spec or {})}}
    if annotations:
        template["metadata"]["annotations"] = annotations
    selector: JSON = {"selector": {"matchLabels": labels}}
    if kind == "Job":
        template["spec"].setdefault("restartPolicy", "Never")
        selector = {}
    if kind == "StatefulSet":
        selector["serviceName"] = name
    return {
        "apiVersion": _API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": template, **selector, **spec},
    }


def claim_template(name: str, device_class: str, capacity: Mapping[str, str] | None = None, count: int = 1) -> JSON:
    """A ResourceClaimTemplate with one request, named ``gpu``."""
    exactly: JSON = {"deviceClassName": device_class, "count": count}
    if capacity:
        exactly["capacity"] = {"requests": dict(capacity)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
    }


def claiming(name: str, template: str) -> JSON:
    """A pod with one claim, ``gpu``, of that template."""
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": template}])
