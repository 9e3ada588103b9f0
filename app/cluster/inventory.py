"""Reads what a preview wants to know of a cluster, with no more than a viewer's rights and without writing anything.

The webhook finds out by dry runs which claim fields its API server keeps. A viewer may not create, not even dryly, so
here the version tells, and the slices: an API server whose gate is off has dropped the shareable mark from them, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.cluster.api import Connection
from app.cluster.listing import (
    DEVICE_CLASSES,
    LIMIT_RANGES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
    Gap,
    Listing,
    Resource,
)
from app.inventory import Inventory
from app.translate import Facts, facts_from_objects
from app.translate.facts import Version, parse_version
from app.translate.feature_gates import GATES

JSON = Any
_SLICES_OF_A_PAGE: Final = 100
"""A slice holds up to 128 devices, some 100 KB of JSON."""
_LOST: Final[Mapping[Resource, str]] = {
    RESOURCE_SLICES: "card sizes are assumed, and what matches is not told",
    DEVICE_CLASSES: "what matches is not told",
    RESOURCE_CLAIMS: "whether pods fit now is not told",
    NODES: "the nodes that ResourceSlices name count",
    LIMIT_RANGES: "those of the cluster do not count",
    RESOURCE_QUOTAS: "those of the cluster are not named",
}
"""What is missing where a resource cannot be read."""


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """What was read of a cluster, and what could not be."""

    facts: Facts
    inventory: Inventory | None
    """None where slices or classes cannot be read."""
    nearby: tuple[Mapping[str, JSON], ...]
    """LimitRanges and ResourceQuotas of all namespaces."""
    warnings: tuple[str, ...]
    """A sentence for each resource that could not be read."""


async def read_cluster(connection: Connection) -> ClusterReading:
    """Reads the facts, the inventory and the objects that bound namespaces.

    Raises:
        ApiError: the API server refuses even to tell its version.
        Unreachable: it does not answer.
        InventoryError: it publishes what no API server does.
    """
    version = _version(await connection.request("get", "/version"))
    listing = Listing(connection)
    slices = await listing.all(RESOURCE_SLICES, keep=_spec, limit=_SLICES_OF_A_PAGE)
    classes = await listing.all(DEVICE_CLASSES, keep=_spec)
    claims = await listing.all(RESOURCE_CLAIMS, keep=_allocation)
    nodes = await listing.all(NODES, keep=_labels)
    ranges = await listing.all(LIMIT_RANGES)
    quotas = await listing.all(RESOURCE_QUOTAS)
    facts = facts_from_objects(
        [*(slices or ()), *(classes or ())],
        server_version=version,
        dropped_fields=dropped_fields(version, slices or ()),
    )
    if slices is None:
        facts = replace(facts, devices=None)
    if classes is None:
        facts = replace(facts, device_classes=None)
    inventory = None
    if slices is not None and classes is not None:
        known = ["DeviceClass", *(["ResourceClaim"] if claims is not None else []), *(["Node"] if nodes else [])]
        inventory = Inventory.from_objects([*slices, *classes, *(claims or ()), *(nodes or ())], known=known)
    return ClusterReading(facts, inventory, (*(ranges or ()), *(quotas or ())), tuple(map(_warning, listing.gaps)))


def dropped_fields(version: Version | None, slices: Sequence[Mapping[str, JSON]]) -> frozenset[str]:
    """Claim fields that an API server of a version drops by default, unless its slices show that the gate is on.

    Of an unknown version nothing is assumed.
    """
    shareable = any(
        device.get("allowMultipleAllocations") for one in slices for device in one["spec"].get("devices") or ()
    )
    return frozenset(
        field
        for field in ("capacity", "distinctAttribute", "firstAvailable")
        if version is not None and version < _since(field) and not (shareable and field != "firstAvailable")
    )


def _version(answer: JSON) -> Version | None:
    try:
        return parse_version(answer["major"], answer["minor"])
    except (KeyError, TypeError, ValueError):
        return None


def _since(field: str) -> Version:
    major, _, minor = GATES[field].since.partition(".")
    return parse_version(major, minor)


def _spec(item: JSON) -> JSON:
    """An object without managed fields, which are half of a slice."""
    return {"kind": item["kind"], "metadata": {"name": item["metadata"]["name"]}, "spec": item["spec"]}


def _allocation(item: JSON) -> JSON | None:
    """What a claim takes; None for one that takes nothing."""
    allocation = (item.get("status") or {}).get("allocation")
    if not allocation:
        return None
    return {
        "kind": item["kind"],
        "metadata": {"name": item["metadata"]["name"]},
        "status": {"allocation": {"devices": {"results": (allocation.get("devices") or {}).get("results") or []}}},
    }


def _labels(item: JSON) -> JSON:
    metadata = item["metadata"]
    return {"kind": item["kind"], "metadata": {"name": metadata["name"], "labels": metadata.get("labels") or {}}}


def _warning(gap: Gap) -> str:
    lost = next((text for resource, text in _LOST.items() if resource.plural == gap.resource), "")
    return f"{gap.resource} cannot be read ({gap.reason}: {gap.message}): {lost}"
