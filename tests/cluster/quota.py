"""ResourceQuotas, in force when the functions return."""

from __future__ import annotations

from collections.abc import Mapping

from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for

NAME = "quota"
PODS = "count/pods"
TEMPLATES = "count/resourceclaimtemplates.resource.k8s.io"


def limit(namespace: Namespace, hard: Mapping[str, int]) -> None:
    """Allow the namespace so many objects of each kind: ``limit(namespace, {PODS: 0})``. Replaces earlier limits."""
    wanted = {resource: str(count) for resource, count in hard.items()}
    namespace.kubectl.apply(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": NAME}, "spec": {"hard": wanted}}
    )
    # The API server refuses by the status, which a controller writes.
    wait_for(
        lambda: namespace.get("ResourceQuota", NAME).get("status", {}).get("hard") == wanted,
        f"a quota of {wanted}",
        timeout=30,
    )
