"""What the replicas must be allowed to do: the roles of the chart, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.cluster.sweeper import LEASE_NAME
from app.settings.tree import Tls


@dataclass(frozen=True, slots=True)
class Grant:
    """One rule of a role."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    name: str = ""
    """Only the object of this name; empty = any."""
    own_namespace: bool = False
    """Only in the namespace of the installation."""

    def attributes(self, namespace: str) -> Iterator[dict[str, str]]:
        """``resourceAttributes`` of a SubjectAccessReview, one for each verb."""
        for verb in self.verbs:
            wanted = {
                "group": self.group,
                "resource": self.resource,
                "verb": verb,
                "name": self.name,
                "namespace": namespace if self.own_namespace else "",
            }
            yield {key: value for key, value in wanted.items() if value}


def grants(tls: Tls, *, self_signed: bool) -> tuple[Grant, ...]:
    """The rules of the ClusterRole and the Role, in their order; a test compares them with the chart."""
    always = (
        Grant("resource.k8s.io", "resourceclaimtemplates", ("get", "list", "watch", "create", "patch", "delete")),
        Grant("", "pods", ("list",)),
        Grant("resource.k8s.io", "resourceslices", ("list",)),
        Grant("resource.k8s.io", "deviceclasses", ("list",)),
        Grant("coordination.k8s.io", "leases", ("create",), own_namespace=True),
        Grant("coordination.k8s.io", "leases", ("get", "update"), LEASE_NAME, own_namespace=True),
    )
    if not self_signed:
        return always
    configurations = Grant(
        "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ("get", "patch"), tls.webhook_configuration
    )
    return (
        *always,
        configurations,
        Grant("", "secrets", ("create",), own_namespace=True),
        Grant("", "secrets", ("get", "update"), tls.secret_name, own_namespace=True),
    )
