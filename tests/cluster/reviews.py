"""AdmissionReviews that a test sends itself: the way to ask a webhook while its API server is away."""

from __future__ import annotations

import base64
import json
import ssl
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
import jsonpatch

from tests.cluster.contents import named_by
from tests.cluster.testbed.webhook import Webhook

JSON = Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the webhook answered."""

    allowed: bool
    templates: tuple[str, ...]
    """Those that the pod names afterwards."""
    code: int
    message: str


def review(webhook: Webhook, namespace: str, pod: JSON, *, dry_run: bool = False) -> Verdict:
    """Ask the webhook about the creation of a pod, as its API server would."""
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": namespace,
        "operation": "CREATE",
        "dryRun": dry_run,
        "object": pod,
    }
    answer = httpx.post(
        webhook.url,
        json={"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request},
        params={"timeout": "5s"},
        verify=ssl.create_default_context(cadata=webhook.ca_pem.decode()),
        timeout=10,
        trust_env=False,
    )
    response = answer.raise_for_status().json()["response"]
    assert response["uid"] == request["uid"]
    patch = json.loads(base64.b64decode(response.get("patch", "W10=")))
    status = response.get("status", {})
    return Verdict(
        allowed=response["allowed"],
        templates=named_by(jsonpatch.apply_patch(pod, patch)),
        code=status.get("code", 200),
        message=status.get("message", ""),
    )
