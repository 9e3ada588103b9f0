"""Sets what workloads ask against what drivers publish, and finds requests that no device can serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from app.check.scan.judge import Workload
from app.check.scan.model import Cluster, Ref
from app.check.scan.needs import Kind, Need, sum_needs
from app.check.scan.offers import Offer, Supply
from app.drivers import DriverProfile
from app.inventory.inventory import Inventory
from app.inventory.model import DeviceKey
from app.inventory.occupancy import Occupancy
from app.translate import Claim, Device, Facts, Policy

JSON = Any
_MEBIBYTE: Final = 1 << 20


class Unmatched(NamedTuple):
    """A request that no device of the cluster can ever serve."""

    workload: Ref
    container: str
    template: str


def supplies(workloads: Iterable[Workload], cluster: Cluster, facts: Facts, policy: Policy) -> tuple[Supply, ...]:
    """One row for each kind of devices that is asked, and for the cards that the settings bind."""
    needs = {need.kind: need for need in sum_needs(workloads)}
    cards = Kind(policy.card_profile.driver, policy.card_profile.device_class)
    needs.setdefault(cards, Need(cards))
    known = cluster.slices is not None and facts.devices is not None
    taken = None if cluster.claims is None else _taken(cluster.claims)
    rows = []
    for kind, need in sorted(needs.items(), key=lambda one: tuple(map(str, one[0]))):
        profile = _profile_of(kind, policy)
        devices = _devices_of(kind, profile, facts)
        shareable = any(one.shareable for one in devices) or (not known and profile.sharing != "exclusive")
        offered = _offer(devices, profile, Occupancy()) if known else None
        free = _offer(devices, profile, taken) if known and taken is not None else None
        rows.append(Supply(need, shareable, offered, free))
    return tuple(rows)


def unmatched(workloads: Sequence[Workload], cluster: Cluster) -> tuple[Unmatched, ...]:
    """Requests of workloads that convert and match no device, whoever has the devices now; none where it is unknown."""
    if cluster.slices is None or cluster.classes is None:
        return ()
    inventory = Inventory.from_objects([*cluster.slices, *cluster.classes, *(cluster.nodes or ())])
    return tuple(dict.fromkeys(_unmatched(workloads, inventory)))


def _unmatched(workloads: Iterable[Workload], inventory: Inventory) -> Iterator[Unmatched]:
    for workload in workloads:
        for judged in workload.judged:
            templates = {} if judged.decision is None else {one.name: one.spec for one in judged.decision.templates}
            for claim in judged.claims:
                matches = inventory.matches(_at_once(templates[claim.template], claim))
                mine = [one for one in matches if one.request.partition("/")[0] == claim.request]
                if mine and not any(one.nodes for one in mine):
                    yield Unmatched(workload.ref, claim.container, claim.template)


def _at_once(spec: JSON, claim: Claim) -> JSON:
    """A claim with the copies of a request (S37, before 1.36) put together again, since one node must have them all."""
    devices = spec["devices"]
    copies = {f"{claim.request}-{number}" for number in range(claim.devices)}
    requests = [one for one in devices["requests"] if one["name"] in copies]
    if not requests:
        return spec
    together = {**requests[0], "name": claim.request}
    if any("distinctAttribute" in one for one in devices.get("constraints") or ()):
        count = claim.devices
        if "exactly" in together:
            together["exactly"] = {**together["exactly"], "count": count}
        else:
            together["firstAvailable"] = [{**one, "count": count} for one in together["firstAvailable"]]
    return {"devices": {"requests": [together]}}


def _taken(claims: Iterable[JSON]) -> Occupancy:
    taken = Occupancy()
    for claim in claims:
        taken.add(claim)
    return taken


def _profile_of(kind: Kind, policy: Policy) -> DriverProfile:
    bound = (policy.card_profile, policy.mig_profile, policy.shared_profile)
    return next(
        one for one in bound if one is not None and one.driver == kind.driver and kind.device_class in _classes(one)
    )


def _classes(profile: DriverProfile) -> tuple[str, ...]:
    return (profile.device_class, *(() if profile.mig is None else (profile.mig.device_class,)))


def _devices_of(kind: Kind, profile: DriverProfile, facts: Facts) -> tuple[Device, ...]:
    if profile.mig is None or kind.device_class != profile.mig.device_class:
        return facts.devices_of(profile, profile.type)
    devices = facts.devices_of(profile, profile.mig.type)
    name = profile.mig.profile
    return tuple(one for one in devices if kind.mig_profile in (None, one.attributes.get(name)))


def _offer(devices: Iterable[Device], profile: DriverProfile, taken: Occupancy) -> Offer:
    """What is left of devices after allocations."""
    names = profile.capacity
    left = [(one, one.memory_mib(profile) or 0) for one in devices if _key(one) not in taken.whole]

    def used(one: Device, name: str | None) -> int:
        return 0 if name is None else int(taken.amounts.get(_key(one), {}).get(name, 0))

    return Offer(
        devices=len(left),
        memory_mib=sum(size - used(one, names.memory) // _MEBIBYTE for one, size in left),
        cores=None
        if names.cores is None
        else sum(one.capacity.get(names.cores, 0) - used(one, names.cores) for one, _ in left),
        untouched=tuple(sorted(size for one, size in left if not taken.takes(_key(one)))),
        smallest_mib=min((size for _, size in left), default=0),
    )


def _key(device: Device) -> DeviceKey:
    return device.driver, device.pool, device.name
