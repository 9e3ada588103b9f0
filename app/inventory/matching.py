"""What the requests of a claim match on the nodes of a cluster, whoever has the devices now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.inventory.answers import SHOWN_NODES, Match
from app.inventory.judge import Failure, Judge
from app.inventory.model import Device
from app.inventory.pools import Pool
from app.inventory.requests import ClaimSpec, Request

Nodes = Mapping[str, Sequence[Pool]]
"""The pools of each node, by name."""


def matches_of(claim: ClaimSpec, nodes: Nodes, judge: Judge) -> tuple[Match, ...]:
    """One for each request and alternative."""
    return tuple(_match(claim, request, nodes, judge) for request in claim.alternatives)


def matching(claim: ClaimSpec, request: Request, pools: Sequence[Pool], judge: Judge) -> Iterator[Device | Failure]:
    """The devices of a node that a request matches, and the failures of evaluating its selectors there."""
    attributes = [one.attribute for one in claim.constraints_of(request)]
    for pool in pools:
        if pool.problem is not None:
            continue
        for device, here in pool.devices:
            judgement = judge.judge(request, device)
            if judgement.failure is not None:
                yield judgement.failure
            elif (
                here
                and judgement.matches
                and all(name in device.attributes for name in attributes)
                and all(amount <= pool.counters[name] for name, amount in (device.counters or {}).items())
            ):
                yield device


def _match(claim: ClaimSpec, request: Request, nodes: Nodes, judge: Judge) -> Match:
    if not judge.knows(request.device_class):
        return Match(request.name, 0, 0, error=f"DeviceClass {request.device_class} does not exist")
    devices: set[Device] = set()
    names: list[str] = []
    error: str | None = None
    for node, pools in nodes.items():
        found = 0
        for one in matching(claim, request, pools, judge):
            if isinstance(one, Failure):
                error = error or one.text
            else:
                found += 1
                devices.add(one)
        if found >= (request.count or 1):
            names.append(node)
    return Match(request.name, len(devices), len(names), tuple(names[:SHOWN_NODES]), error)
