"""AdmissionReviews as an API server sends them, and what became of a pod."""

from __future__ import annotations

import base64
import json
from typing import Any

import jsonpatch
import orjson

JSON = Any
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def pod(*limits: dict[str, str], **spec: JSON) -> dict[str, JSON]:
    """A pod of a ReplicaSet with one container for each mapping of limits, as defaulted by the API server."""
    containers = [
        {"name": f"c{i}", "image": "example.com/app:1", "resources": {"limits": dict(one), "requests": dict(one)}}
        for i, one in enumerate(limits)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-7cc6496f7d-",
            "namespace": "team-a",
            "labels": {"app": "web"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-7cc6496f7d",
                    "uid": "u",
                    "controller": True,
                }
            ],
        },
        "spec": {"containers": containers, "schedulerName": "default-scheduler", **spec},
    }


SHARED = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "8k"}
"""One card, 8000 MiB of it, as the API server spells it."""


def request(obj: JSON, **changes: JSON) -> dict[str, JSON]:
    """The ``request`` of a review; a change to ``None`` stays null, one to ``...`` leaves the field out."""
    fields = {
        "uid": UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        **changes,
    }
    return {key: value for key, value in fields.items() if value is not ...}


def review(obj: JSON, **changes: JSON) -> bytes:
    """The body of a review."""
    return envelope(request(obj, **changes))


def envelope(req: JSON, **changes: JSON) -> bytes:
    """The body around a ``request``."""
    fields = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": req, **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not ...}).encode()


def patch_of(response: JSON) -> list[dict[str, JSON]]:
    """The patch of a response, decoded; empty when there is none."""
    encoded = response["response"].get("patch")
    return [] if encoded is None else orjson.loads(base64.b64decode(encoded))


def admitted(obj: JSON, response: JSON) -> JSON:
    """The pod as it would be stored."""
    assert response["response"]["allowed"]
    return jsonpatch.apply_patch(obj, patch_of(response))


def legacy_keys(obj: JSON) -> set[str]:
    """All ``nvidia.com/`` keys that are left in the limits and requests of a pod."""
    return {
        key
        for container in obj["spec"]["containers"]
        for kind in ("limits", "requests")
        for key in container.get("resources", {}).get(kind) or {}
        if key.startswith("nvidia.com/")
    }
