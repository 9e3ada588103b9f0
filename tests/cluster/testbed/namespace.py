"""One test's own namespace, and what one does there."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from tests.cluster.testbed.allocation import Allocation, allocation
from tests.cluster.testbed.api import ApiError, Objects
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.kubectl import Kubectl
from tests.cluster.testbed.wait import wait_for

JSON = Any
Lines = list[str]
OPTED_IN: Mapping[str, str] = {"hami.io/dra-webhook": "enabled"}


class Namespace:
    """A namespace that exists until ``remove``."""

    def __init__(self, control_plane: ControlPlane, hint: str = "", labels: Mapping[str, str] = OPTED_IN) -> None:
        slug = re.sub(r"[^a-z0-9]+", "-", hint.lower()).strip("-")[:54].strip("-")  # 63 in all
        self.name = "-".join(filter(None, ("t", slug, secrets.token_hex(3))))
        self.api = control_plane.api
        self.kubectl: Kubectl = replace(control_plane.kubectl, namespace=self.name)
        self.api.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": dict(labels)}}
        )
        wait_for(
            lambda: self.api.find("ServiceAccount", "default", self.name), "the namespace's default ServiceAccount"
        )

    def remove(self) -> None:
        """Delete the namespace; returns once its pods and claims are gone, so that all devices are free again."""
        self.api.delete("Namespace", self.name)

        def empty() -> bool:
            # Without a kubelet nobody ends a pod that has a node; and its controllers may be slower than we are.
            self.api.delete_all("Pod", self.name, gracePeriodSeconds=0)
            return not self.api.list("Pod", self.name) and not self.api.list("ResourceClaim", self.name)

        wait_for(empty, f"pods and claims of {self.name} to go", timeout=60, describe=self.describe)

    def create(self, obj: JSON, *, dry_run: bool = False) -> JSON:
        """Create an object here; returns it as stored.

        Raises:
            ApiError: refused; its ``message`` is what a user reads.
        """
        return self.api.create(obj, self.name, dry_run=dry_run)

    def get(self, kind: str, name: str) -> JSON:
        """One object."""
        return self.api.get(kind, name, self.name)

    def list(self, kind: str, **query: str | int) -> Objects:
        """All objects of a kind."""
        return self.api.list(kind, self.name, **query)

    def pods(self, **labels: str) -> Objects:
        """Pods that are not being deleted, with these labels."""
        chosen = self.list("Pod", labelSelector=",".join(f"{key}={value}" for key, value in labels.items()))
        return [pod for pod in chosen if "deletionTimestamp" not in pod["metadata"]]

    def scheduled(self, pod: str, *, timeout: float = 60) -> JSON:
        """Wait until the scheduler gave the pod a node; returns the pod."""

        def bound() -> JSON:
            found = self.get("Pod", pod)
            return found if found["spec"].get("nodeName") else None

        return wait_for(bound, f"pod {pod} to be scheduled", timeout=timeout, describe=lambda: self.describe(pod))

    def unschedulable(self, pod: str, *, timeout: float = 60) -> str:
        """Wait until the scheduler found no place for the pod; returns what it said."""

        def message() -> str | None:
            conditions = self.get("Pod", pod).get("status", {}).get("conditions", ())
            refused = [c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]
            return refused[0].get("message") if refused else None

        return wait_for(message, f"pod {pod} to be unschedulable", timeout=timeout, describe=lambda: self.describe(pod))

    def fill(self, *pods: JSON) -> None:
        """Apply pods one after the other, each once the scheduler gave the one before its devices.

        For pods that fill a card: while the scheduler writes the claim of a pod it counts its share twice, so the next
        one is refused, and then waits until some claim is released (docs/recovery.md).
        """
        for one in pods:
            self.kubectl.apply(one)
            self.scheduled(one["metadata"]["name"])

    def allocation(self, pod: str, *, timeout: float = 60) -> Allocation:
        """Wait until the pod is scheduled and each of its generated claims has devices; returns them."""
        self.scheduled(pod, timeout=timeout)

        def complete() -> Allocation | None:
            scheduled = self.get("Pod", pod)
            given = allocation(self.api, scheduled)
            entries = scheduled["spec"].get("resourceClaims", ())
            generated = {one["name"] for one in entries if "resourceClaimTemplateName" in one}
            return given if generated <= {device.claim for device in given.devices} else None

        return wait_for(complete, f"devices for every claim of {pod}", describe=lambda: self.describe(pod))

    def finish(self, pod: str, phase: str = "Succeeded") -> None:
        """End a pod as its kubelet would: ``Succeeded`` or ``Failed``."""
        self.api.patch("Pod", pod, {"status": {"phase": phase}}, self.name, subresource="status")

    def delete_pod(self, pod: str) -> None:
        """Delete a pod at once, and wait until it and its claims are gone."""
        status = self.get("Pod", pod)["status"]
        owned = {entry["resourceClaimName"] for entry in status.get("resourceClaimStatuses", ())}
        self.api.delete("Pod", pod, self.name, gracePeriodSeconds=0)
        wait_for(
            lambda: (
                self.api.find("Pod", pod, self.name) is None
                and owned.isdisjoint(claim["metadata"]["name"] for claim in self.list("ResourceClaim"))
            ),
            f"pod {pod} and its claims to go",
            describe=self.describe,
        )

    def events(self, about: str | None = None) -> Lines:
        """``REASON: message`` of each event, oldest first, of one object or of all."""
        events = self.list("Event", **({"fieldSelector": f"involvedObject.name={about}"} if about else {}))
        events.sort(key=lambda event: event.get("eventTime") or event.get("lastTimestamp") or "")
        return [f"{event['reason']}: {event.get('message', '')}" for event in events]

    def describe(self, pod: str | None = None) -> str:
        """What is here, for failure messages: the pod or all pods, claims, events."""
        try:
            pods = [self.get("Pod", pod)] if pod else self.list("Pod")
            claims = self.list("ResourceClaim")
        except ApiError as error:
            return f"{self.name} cannot be read: {error}"
        for obj in [*pods, *claims]:
            obj["metadata"].pop("managedFields", None)
        shown = [{key: obj[key] for key in ("metadata", "spec", "status") if key in obj} for obj in [*pods, *claims]]
        return "\n".join([yaml.safe_dump_all(shown), "events:", *self.events(pod)])

    def __str__(self) -> str:
        return self.name
