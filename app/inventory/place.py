"""One node: its pools, who has what of them, and which devices a request may take there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.inventory.capacity import Demand
from app.inventory.judge import Failure, Judge, Stage
from app.inventory.model import CounterKey, Device, Number
from app.inventory.occupancy import Occupancy
from app.inventory.pools import Pool
from app.inventory.requests import Request


class GivenUpError(Exception):
    """The scheduler gives up on the pod, on all nodes."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.text)


@dataclass(frozen=True, slots=True)
class Offer:
    """A device that a request may take on a node, or that ends the search when it comes to it."""

    device: Device
    pool: Pool
    demand: Demand
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One node with its pools, and who has what of them."""

    pools: Sequence[Pool]
    judge: Judge
    occupancy: Occupancy

    def offers(self, request: Request) -> list[Offer]:
        """The devices that a request may take, in order.

        Raises:
            GivenUpError: all devices are asked for, and it cannot be told which those are.
        """
        return list(self._exact(request) if request.count is not None else self._everything(request))

    def _exact(self, request: Request) -> Iterable[Offer]:
        for pool in self.pools:
            for device, here in pool.devices:
                if device.key in self.occupancy.whole and not request.admin:
                    continue
                judgement = self.judge.judge(request, device)
                if judgement.failure is not None:
                    yield Offer(device, pool, {}, judgement.failure)
                elif here and judgement.matches and self._has_room(device, judgement.demand):
                    yield Offer(device, pool, judgement.demand)

    def _everything(self, request: Request) -> Iterable[Offer]:
        for pool in self.pools:
            if pool.problem is not None:
                text = (
                    f"request {request.name} asks for all devices, and pool {pool.key[1]} is unusable: {pool.problem}"
                )
                raise GivenUpError(Failure(text))
            for device, here in pool.devices:
                judgement = self.judge.judge(request, device)
                if judgement.failure is not None:
                    raise GivenUpError(judgement.failure)
                if here and judgement.stage >= Stage.TAINTS and self._has_room(device, judgement.demand):
                    yield Offer(device, pool, judgement.demand)

    def _has_room(self, device: Device, demand: Demand) -> bool:
        taken = self.occupancy.amounts.get(device.key)
        return not taken or all(taken.get(n, 0) + amount <= device.capacity[n].value for n, amount in demand.items())

    def counters(self, pool: Pool) -> dict[CounterKey, Number]:
        """What is left of the shared counters of a pool."""
        left = dict(pool.counters)
        for device in pool.consumers:
            if self.occupancy.takes(device.key):
                for name, amount in (device.counters or {}).items():
                    left[name] -= amount
        return left
