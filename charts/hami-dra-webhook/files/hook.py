# ruff: noqa: INP001, T201 - runs by itself, in Jobs of the chart
"""The programs of the chart's hooks: ``remove NAME`` and ``dry-run NAMESPACE POD``; standard library only."""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT_DIR", "/var/run/secrets/kubernetes.io/serviceaccount"))
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
FORGET_SECONDS = 2
"""Until every API server has seen that the webhook is gone; they watch, so this is generous."""
WAIT_SECONDS = float(os.environ.get("WAIT_SECONDS", "30"))
"""For the ServiceAccount of a new namespace, and for API servers to learn of its label and of our permission."""


def call(method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request to the API server as the pod's ServiceAccount: HTTP status and parsed answer; 0: there was none."""
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    address = f"[{host}]" if ":" in host else host
    request = urllib.request.Request(
        f"https://{address}:{os.environ['KUBERNETES_SERVICE_PORT']}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": "application/json"},
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT  # CAs of kubeadm and others do not pass Python 3.13's default
    try:
        with urllib.request.urlopen(request, context=trust, timeout=10) as answer:  # noqa: S310 - always https
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        try:
            return error.code, json.loads(text)
        except ValueError:  # of something between us and the API server
            return error.code, {"message": f"HTTP status {error.code}: {text[:200]}"}
    except (OSError, ValueError) as error:
        return 0, {"message": f"the API server does not answer: {error}"}


def remove(name: str) -> str | None:
    """Delete the MutatingWebhookConfiguration; returns what went wrong."""
    status, answer = call("DELETE", f"{WEBHOOKS}/{name}")
    if status not in {200, 404}:
        return f"MutatingWebhookConfiguration {name} was not removed: {answer.get('message')}"
    time.sleep(FORGET_SECONDS)
    print(f"MutatingWebhookConfiguration {name} is gone: no pod waits for the webhook any more")
    return None


def dry_run(namespace: str, pod: str) -> str | None:
    """Send a legacy pod as a dry run, and see whether it comes back converted; returns what went wrong."""
    deadline = time.monotonic() + WAIT_SECONDS
    while problem := _converted(*call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", json.loads(pod))):
        if time.monotonic() > deadline:
            return problem
        time.sleep(1)
    print("a pod that asks for a legacy GPU comes back with a claim: the webhook works")
    return None


def _converted(status: int, answer: Any) -> str | None:
    message = answer.get("message")
    if status == 0:
        return str(message)
    if status == 403 and "admission webhook" not in str(message):  # noqa: PLR2004 - Forbidden, by whoever
        return f"the permission to create a pod is missing, or something else than the webhook forbids it: {message}"
    if "failed calling webhook" in str(message):
        return f"the API server does not reach the webhook: {message}"
    if status != 201:  # noqa: PLR2004 - Created
        return f"the pod was refused: {message}"
    if answer["metadata"].get("labels", {}).get("hami.io/dra-webhook-converted") != "true":
        return "the pod was admitted unconverted: the API server does not call the webhook, or it left the pod alone"
    if not answer["spec"].get("resourceClaims"):
        return "the pod was converted, but got no claim"
    return None


if __name__ == "__main__":
    sys.exit({"remove": remove, "dry-run": dry_run}[sys.argv[1]](*sys.argv[2:]))
