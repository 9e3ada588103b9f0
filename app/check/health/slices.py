"""Checks of what the bound drivers publish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.check.health.finding import Finding, fail, listed, summed, warn
from app.check.health.site import Site
from app.cluster.listing import RESOURCE_SLICES

JSON = Any


@dataclass(frozen=True, slots=True)
class Pool:
    """The slices of one pool."""

    name: str
    devices: int
    """In slices of the newest generation."""
    nodes: frozenset[str]
    incomplete: bool
    """Slices of the newest generation are missing."""
    old: bool
    """Slices of an older generation are there."""


async def resource_slices(site: Site) -> Finding:
    """The bound drivers publish devices, in complete pools."""
    policy = site.settings.policy
    profiles = [one for one in (policy.card_profile, policy.shared_profile, policy.mig_profile) if one is not None]
    slices: defaultdict[str, list[JSON]] = defaultdict(list)
    for spec in await site.reader.list(RESOURCE_SLICES, keep=_slim):
        slices[spec["driver"]].append(spec)
    pools = {driver: list(_pools(slices[driver])) for driver in dict.fromkeys(one.driver for one in profiles)}
    needed = policy.count_profile
    if not any(pool.devices and not pool.incomplete for pool in pools[needed.driver]):
        what = "complete pool with a device" if pools[needed.driver] else "ResourceSlice"
        return fail(
            f"no {what} of {needed.driver}",
            "converted pods wait for devices that nobody offers",
            f"install {needed.title}, and look at its pods on the GPU nodes",
        )
    problems = [problem for driver, of_driver in pools.items() for problem in _problems(driver, of_driver)]
    return summed("; ".join(_counts(driver, of_driver) for driver, of_driver in pools.items() if of_driver), problems)


def _slim(item: JSON) -> JSON:
    """Numbers of devices instead of devices, which are hundreds of megabytes in a large cluster."""
    spec = item["spec"]
    return {**spec, "devices": len(spec.get("devices") or ())}


def _pools(slices: Iterable[Mapping[str, JSON]]) -> Iterator[Pool]:
    by_name: defaultdict[str, list[Mapping[str, JSON]]] = defaultdict(list)
    for one in slices:
        by_name[one["pool"]["name"]].append(one)
    for name, all_of_it in sorted(by_name.items()):
        newest = max(one["pool"].get("generation", 0) for one in all_of_it)
        current = [one for one in all_of_it if one["pool"].get("generation", 0) == newest]
        yield Pool(
            name,
            devices=sum(one["devices"] for one in current),
            nodes=frozenset(one["nodeName"] for one in current if one.get("nodeName")),
            incomplete=len(current) < current[0]["pool"].get("resourceSliceCount", 1),
            old=len(current) < len(all_of_it),
        )


def _problems(driver: str, pools: Iterable[Pool]) -> Iterator[Finding]:
    incomplete = [pool.name for pool in pools if pool.incomplete]
    old = [pool.name for pool in pools if pool.old and not pool.incomplete]
    if incomplete:
        yield warn(
            f"{driver}: pools {listed(incomplete)} are incomplete",
            "the scheduler takes no device from a pool whose slices are not all there",
            "look at the logs of the driver on these nodes",
        )
    if old:
        yield warn(
            f"{driver}: pools {listed(old)} still have slices of an older generation",
            "the driver has not finished publishing, or does not clean up",
            "look at the logs of the driver if it stays so",
        )


def _counts(driver: str, pools: Iterable[Pool]) -> str:
    nodes = frozenset[str]().union(*(pool.nodes for pool in pools))
    devices = sum(pool.devices for pool in pools)
    return f"{driver}: {_count(devices, 'device')} on {_count(len(nodes), 'node')}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
