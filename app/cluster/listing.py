"""Lists what is in a cluster, page by page, for commands that look at all of it.

What may not be read, or is not there, is no error but a gap: it has a name and a reason, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from app.cluster.api import ApiError, Connection, Unreachable, namespaced

JSON = Any
Keep = Callable[[JSON], JSON]
"""Reduces an object to what is needed of it, so that a large cluster fits into memory; None = nothing of it."""

_PAGE: Final = 500
_FORBIDDEN, _NOT_FOUND, _GONE = 403, 404, 410
_ATTEMPTS: Final = 3
"""A list that outlives the server's history (five minutes) starts again, this often."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of the API."""

    kind: str
    path: str
    """Of the collection in all namespaces."""

    @property
    def plural(self) -> str:
        """As in paths and permissions."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be read."""

    resource: str
    """Plural name, as ``pods``."""
    namespace: str | None
    reason: str
    """``forbidden``, ``not-served`` or ``failed``."""
    message: str


@dataclass(slots=True)
class Listing:
    """Reads collections over one connection, and remembers what it could not read.

    Args:
        connection: stays the caller's.
        seconds: for one page.
    """

    connection: Connection
    seconds: float = 30.0
    gaps: list[Gap] = field(default_factory=list)

    async def all(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        keep: Keep | None = None,
        limit: int = _PAGE,
        query: Mapping[str, str] | None = None,
    ) -> list[JSON] | None:
        """Every object of a collection with its ``kind``, which lists leave out; None where it cannot be read.

        Args:
            namespace: only of this one; None = of all.
            keep: is given each object, and what it returns is kept.
            limit: objects of one page.
            query: as ``labelSelector``.
        """
        path = resource.path if namespace is None else namespaced(resource.path, namespace)
        for attempt in range(1, _ATTEMPTS + 1):
            items: list[JSON] = []
            try:
                async for page in self.connection.pages(path, query=query, limit=limit, seconds=self.seconds):
                    for item in page.get("items") or ():
                        item["kind"] = resource.kind
                        item["apiVersion"] = page.get("apiVersion")
                        kept = item if keep is None else keep(item)
                        if kept is not None:
                            items.append(kept)
            except ApiError as error:
                if error.code == _GONE and attempt < _ATTEMPTS:
                    continue
                self._gap(resource, namespace, _reason(error), str(error))
            except Unreachable as error:
                self._gap(resource, namespace, "failed", str(error))
            else:
                return items
            return None
        return None

    async def one(self, resource: Resource, name: str) -> JSON | None:
        """One object of a cluster-wide collection; None where it cannot be read.

        Raises:
            LookupError: the server says that there is none of that name.
        """
        try:
            found: JSON = await self.connection.request("get", f"{resource.path}/{quote(name)}", seconds=self.seconds)
        except ApiError as error:
            if error.code == _NOT_FOUND:
                raise LookupError(f"{resource.kind} {name} does not exist") from error
            self._gap(resource, name if resource is NAMESPACES else None, _reason(error), str(error))
        except Unreachable as error:
            self._gap(resource, name if resource is NAMESPACES else None, "failed", str(error))
        else:
            return found
        return None

    def _gap(self, resource: Resource, namespace: str | None, reason: str, message: str) -> None:
        self.gaps.append(Gap(resource.plural, namespace, reason, message))


def _reason(error: ApiError) -> str:
    if error.code == _FORBIDDEN:
        return "forbidden"
    return "not-served" if error.code == _NOT_FOUND else "failed"


PODS: Final = Resource("Pod", "/api/v1/pods")
NODES: Final = Resource("Node", "/api/v1/nodes")
NAMESPACES: Final = Resource("Namespace", "/api/v1/namespaces")
LIMIT_RANGES: Final = Resource("LimitRange", "/api/v1/limitranges")
RESOURCE_QUOTAS: Final = Resource("ResourceQuota", "/api/v1/resourcequotas")
CONFIG_MAPS: Final = Resource("ConfigMap", "/api/v1/configmaps")
DEPLOYMENTS: Final = Resource("Deployment", "/apis/apps/v1/deployments")
DAEMON_SETS: Final = Resource("DaemonSet", "/apis/apps/v1/daemonsets")
STATEFUL_SETS: Final = Resource("StatefulSet", "/apis/apps/v1/statefulsets")
REPLICATION_CONTROLLERS: Final = Resource("ReplicationController", "/api/v1/replicationcontrollers")
REPLICA_SETS: Final = Resource("ReplicaSet", "/apis/apps/v1/replicasets")
JOBS: Final = Resource("Job", "/apis/batch/v1/jobs")
CRON_JOBS: Final = Resource("CronJob", "/apis/batch/v1/cronjobs")
RESOURCE_SLICES: Final = Resource("ResourceSlice", "/apis/resource.k8s.io/v1/resourceslices")
RESOURCE_CLAIMS: Final = Resource("ResourceClaim", "/apis/resource.k8s.io/v1/resourceclaims")
DEVICE_CLASSES: Final = Resource("DeviceClass", "/apis/resource.k8s.io/v1/deviceclasses")
MUTATING_WEBHOOKS: Final = Resource(
    "MutatingWebhookConfiguration", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)
CLAIM_TEMPLATES: Final = Resource("ResourceClaimTemplate", "/apis/resource.k8s.io/v1/resourceclaimtemplates")
LEASES: Final = Resource("Lease", "/apis/coordination.k8s.io/v1/leases")
DISRUPTION_BUDGETS: Final = Resource("PodDisruptionBudget", "/apis/policy/v1/poddisruptionbudgets")
ENDPOINT_SLICES: Final = Resource("EndpointSlice", "/apis/discovery.k8s.io/v1/endpointslices")
ACCESS_REVIEWS: Final = Resource("SubjectAccessReview", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
