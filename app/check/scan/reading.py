"""Reads a cluster for a scan: everything with get and list alone, page by page, only what is needed of each object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from app.check.scan import keep
from app.check.scan.model import Cluster, Controller, SeenPod
from app.check.scan.objects import read_controller, read_pod
from app.check.scan.shapes import Shapes
from app.cluster import listing
from app.cluster.api import ApiError, Connection, Unreachable
from app.cluster.listing import Keep, Listing, Resource
from app.preview.surroundings import about_object
from app.translate import Policy
from app.translate.containers import mapping
from app.translate.facts import Version, parse_version

JSON = Any
Lists = list[list[JSON] | None]

CONTROLLERS: Final = (
    listing.DEPLOYMENTS, listing.STATEFUL_SETS, listing.DAEMON_SETS, listing.REPLICA_SETS,
    listing.REPLICATION_CONTROLLERS, listing.JOBS, listing.CRON_JOBS,
)  # fmt: skip
"""Kinds with a pod template that Kubernetes' own controllers read."""
HAMI_CONFIG_MAPS: Final = "app.kubernetes.io/component in (hami-scheduler,hami-device-plugin)"
"""Selects the ConfigMaps of HAMi's chart, whatever its release is called."""
_AT_ONCE: Final = 4
"""Pages that may be on their way together: each is a few MiB of JSON."""
_PAGE, _HEAVY_PAGE = 500, 100
"""Objects of one page; a node, a slice or a ConfigMap may be some 100 KB."""


class CannotReadError(Exception):
    """The cluster cannot be read, so there is nothing to say about it; the text says why."""


class NoSuchNamespaceError(LookupError):
    """A namespace that was asked for does not exist."""


class Progress(Protocol):
    """Hears how far the reading is."""

    def __call__(self, done: int, total: int) -> None:
        """Collections that were read, and all that will be."""


async def read_version(connection: Connection) -> Version | None:
    """The version of the server; None where it does not tell.

    Raises:
        CannotReadError: it does not answer, or does not know the user.
    """
    try:
        answer = mapping(await connection.request("get", "/version"))
    except (ApiError, Unreachable) as error:
        raise CannotReadError(str(error)) from error
    try:
        return parse_version(answer["major"], answer["minor"])
    except (KeyError, ValueError):
        return None


async def read_cluster(
    connection: Connection,
    policy: Policy,
    *,
    version: Version | None,
    namespaces: Sequence[str] = (),
    progress: Progress | None = None,
) -> Cluster:
    """Everything that a scan needs.

    Args:
        connection: stays the caller's.
        policy: says which names are legacy.
        version: of the server.
        namespaces: only these; none = all.
        progress: is told after each collection.

    Raises:
        CannotReadError: neither pods nor workloads may be read.
        NoSuchNamespaceError: one of ``namespaces`` does not exist.
    """
    reader = _Reader(Listing(connection), policy, tuple(dict.fromkeys(namespaces)), progress)
    return await reader.read(version)


@dataclass(slots=True)
class _Reader:
    listing: Listing
    policy: Policy
    asked: tuple[str, ...]
    progress: Progress | None

    async def read(self, version: Version | None) -> Cluster:
        namespaces = await self._namespaces()
        shapes = Shapes(self.policy)

        def pod(obj: JSON) -> SeenPod:
            return read_pod(obj, shapes)

        def controller(obj: JSON) -> Controller:
            return read_controller(obj, shapes)

        def on_legacy_key(obj: JSON) -> JSON:
            return obj if about_object(obj, self.policy) else None

        pods, limit_ranges, quotas, nodes, slices, classes, claims, webhooks, hami, *controllers = await self._together(
            self._inside(listing.PODS, pod),
            self._inside(listing.LIMIT_RANGES, on_legacy_key),
            self._inside(listing.RESOURCE_QUOTAS, on_legacy_key),
            self._everywhere(listing.NODES, keep.node),
            self._everywhere(listing.RESOURCE_SLICES, keep.named_spec),
            self._everywhere(listing.DEVICE_CLASSES, keep.named_spec),
            self._everywhere(listing.RESOURCE_CLAIMS, keep.claim),
            self._everywhere(listing.MUTATING_WEBHOOKS, keep.webhooks),
            self._everywhere(listing.CONFIG_MAPS, keep.config_map, labelSelector=HAMI_CONFIG_MAPS),
            *(self._inside(resource, controller) for resource in CONTROLLERS),
        )
        gaps = sorted(self.listing.gaps, key=lambda gap: (gap.resource, gap.namespace or ""))
        if pods is None and all(part is None for part in controllers):
            why = next(gap.message for gap in gaps if gap.resource == listing.PODS.plural)
            raise CannotReadError(f"neither pods nor workloads can be read: {why}")
        return Cluster(
            host=self.listing.connection.host,
            version=version,
            namespaces=namespaces,
            controllers=[one for part in controllers for one in part or ()],
            pods=pods,
            limit_ranges=limit_ranges,
            quotas=quotas,
            nodes=nodes,
            slices=slices,
            classes=classes,
            claims=claims,
            webhooks=webhooks,
            hami_settings=hami,
            gaps=gaps,
        )

    async def _namespaces(self) -> dict[str, Mapping[str, str] | None]:
        """Names and labels; empty where they cannot be listed."""
        if not self.asked:
            found = await self.listing.all(listing.NAMESPACES, keep=keep.namespace) or []
            return {one["name"]: one["labels"] for one in found}
        labels: dict[str, Mapping[str, str] | None] = {}
        for name in self.asked:
            try:
                one = await self.listing.one(listing.NAMESPACES, name)
            except LookupError as error:
                raise NoSuchNamespaceError(f"there is no namespace {name}") from error
            labels[name] = None if one is None else keep.namespace(one)["labels"]
        return labels

    async def _together(self, *work: Awaitable[list[JSON] | None]) -> Lists:
        gate = asyncio.Semaphore(_AT_ONCE)
        done = 0

        async def one(what: Awaitable[list[JSON] | None]) -> list[JSON] | None:
            nonlocal done
            async with gate:
                result = await what
            done += 1
            if self.progress is not None:
                self.progress(done, len(work))
            return result

        return await asyncio.gather(*(one(what) for what in work))

    async def _everywhere(self, resource: Resource, reduce: Keep, **query: str) -> list[JSON] | None:
        return await self.listing.all(resource, keep=reduce, limit=_HEAVY_PAGE, query=query)

    async def _inside(self, resource: Resource, reduce: Keep) -> list[JSON] | None:
        """A collection in the namespaces that were asked for; None where none of them can be read."""
        if not self.asked:
            return await self.listing.all(resource, keep=reduce, limit=_PAGE)
        parts = [await self.listing.all(resource, namespace=name, keep=reduce, limit=_PAGE) for name in self.asked]
        read = [part for part in parts if part is not None]
        return [one for part in read for one in part] if read else None
