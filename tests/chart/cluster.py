"""What the chart's tests do with a control plane."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.chart.helm import FULL_NAME, NAMESPACE
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.kubectl import Result
from tests.cluster.testbed.registration import NAME

JSON = Any

TESTED = "hami-dra-webhook-test"
"""Namespace of ``helm test``."""
OPT_IN = "hami.io/dra-webhook"
"""Label that opts a namespace in."""


def apply(control_plane: ControlPlane, objects: Iterable[JSON], *options: str) -> list[Result]:
    """``kubectl apply`` of objects, namespace by namespace, as kubectl wants it."""
    groups: dict[str, list[JSON]] = {}
    for obj in objects:
        groups.setdefault(obj["metadata"].get("namespace", "default"), []).append(obj)
    return [
        replace(control_plane.kubectl, namespace=namespace).apply(*group, options=options)
        for namespace, group in groups.items()
    ]


def remove(api: Api, objects: Iterable[JSON]) -> None:
    """Delete objects, but for namespaces, which take long."""
    for obj in objects:
        if obj["kind"] != "Namespace":
            api.delete(obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace"))


def point_at(api: Api, url: str | None) -> None:
    """Have the chart's configuration call an address: there is no network that leads to a Service here.

    None puts the Service back, as Helm must find what it has made. The caBundle stays.
    """
    service = {"namespace": NAMESPACE, "name": FULL_NAME, "path": "/mutate", "port": 443}
    config = {"url": url, "service": None} if url else {"url": None, "service": service}
    names = [webhook["name"] for webhook in api.get("MutatingWebhookConfiguration", NAME)["webhooks"]]
    patch = {"webhooks": [{"name": name, "clientConfig": config} for name in names]}
    api.patch("MutatingWebhookConfiguration", NAME, patch, how="strategic")
