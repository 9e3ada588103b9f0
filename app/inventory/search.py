"""Allocates the claims of one pod on one node, as the scheduler of Kubernetes 1.36 does.

The search is the scheduler's: claims, requests and alternatives in order, devices in the order of pools and slices,
each device of a request after the one before, backtracking until everything fits. So it ends in an error exactly where
the scheduler's does, which depends on that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.inventory.capacity import Demand
from app.inventory.constraints import State, join, leave, state_of
from app.inventory.counting import hopeless
from app.inventory.judge import Failure
from app.inventory.model import CounterKey, Device, DeviceKey, Number, PoolKey
from app.inventory.place import GivenUpError, Offer, Place
from app.inventory.requests import MAX_DEVICES, ClaimSpec, Request


class BoundReachedError(Exception):
    """The search took more steps than it may."""


class Grant(NamedTuple):
    """One device of an allocation."""

    claim: int
    """Index in the claims of the pod."""
    request: str
    """``request`` or ``request/alternative``."""
    device: DeviceKey


@dataclass(slots=True)
class Budget:
    """Steps that may still be taken."""

    steps: int

    def spend(self) -> None:
        """Takes one step.

        Raises:
            BoundReachedError: none is left.
        """
        if self.steps <= 0:
            raise BoundReachedError
        self.steps -= 1


class Search:
    """One attempt to allocate all claims of a pod on a node."""

    def __init__(self, place: Place, claims: Sequence[ClaimSpec], budget: Budget) -> None:
        self._place = place
        self._claims = claims
        self._budget = budget
        self._offers: dict[Request, list[Offer]] = {}
        self._states: list[list[State]] = [[state_of(one) for one in claim.constraints] for claim in claims]
        self._grants: list[Grant] = []
        self._sizes = [0] * len(claims)
        self._whole: dict[DeviceKey, list[int]] = {}
        self._shares: dict[DeviceKey, list[Demand]] = {}
        self._counters: dict[PoolKey, dict[CounterKey, Number]] = {}

    def run(self) -> tuple[Grant, ...] | None:
        """The first allocation that the scheduler finds; None where there is none.

        Raises:
            GivenUpError: the scheduler gives up on the pod.
            BoundReachedError: the budget is spent.
        """
        for claim in self._claims:
            self._look(claim)
        fails = any(offer.failure for offers in self._offers.values() for offer in offers)
        if not fails and (self._too_few() or hopeless(self._claims, self._offers)):
            return None
        return tuple(self._grants) if self._request(0, 0) else None

    def _look(self, claim: ClaimSpec) -> None:
        """Finds the offers of a claim; the scheduler gives up on one that asks too many devices."""
        least = 0
        for alternatives in claim.requests:
            for request in alternatives:
                self._offers[request] = self._place.offers(request)
            least += min(self._need(request) for request in alternatives)
        if least > MAX_DEVICES:
            raise GivenUpError(Failure(f"{least} devices are asked in one claim, which has at most {MAX_DEVICES}"))

    def _need(self, request: Request) -> int:
        return len(self._offers[request]) if request.count is None else request.count

    def _too_few(self) -> bool:
        return any(
            all(len(self._offers[request]) < max(1, self._need(request)) for request in alternatives)
            for claim in self._claims
            for alternatives in claim.requests
        )

    def _request(self, claim: int, index: int) -> bool:
        """Allocates a request and everything after it."""
        if claim == len(self._claims):
            return True
        if index == len(self._claims[claim].requests):
            return self._request(claim + 1, 0)
        for request in self._claims[claim].requests[index]:
            need = self._need(request)
            if 0 < need <= MAX_DEVICES - self._sizes[claim] and self._device(claim, index, request, need, 0):
                return True
        return False

    def _device(self, claim: int, index: int, request: Request, left: int, start: int) -> bool:
        """Allocates the devices of a request that are left, and everything after it."""
        if left == 0:
            return self._request(claim, index + 1)
        offers = self._offers[request]
        for position in range(start, len(offers)):
            self._budget.spend()
            offer = offers[position]
            if self._take(claim, request, offer):
                if self._device(claim, index, request, left - 1, position + 1):
                    return True
                self._give_back(claim, request, offer)
            if request.count is None:
                return False  # all devices: there is no other choice
        return False

    def _take(self, claim: int, request: Request, offer: Offer) -> bool:
        """Takes a device, if it can be had."""
        device = offer.device
        owners = self._whole.get(device.key)
        if owners and (not request.admin or claim in owners):
            return False
        if offer.failure is not None:
            raise GivenUpError(offer.failure)
        if not self._free(request, device) or not self._has_counters(offer):
            return False
        if not request.tolerates(device.taints):
            return False
        everything = request.count is None
        # The scheduler looks for room before the constraints, unless it has no choice; they remember who was refused.
        if not everything and not self._has_room(offer):
            return False
        if not join(self._states[claim], request, device):
            if everything:
                text = f"request {request.name} asks for all devices, and a constraint forbids device {device.key[2]}"
                raise GivenUpError(Failure(text))
            return False
        if not self._has_room(offer):
            leave(self._states[claim], request)
            return False
        self._commit(claim, request, offer)
        return True

    def _free(self, request: Request, device: Device) -> bool:
        return request.admin or device.key not in self._place.occupancy.whole

    def _has_room(self, offer: Offer) -> bool:
        key, capacity = offer.device.key, offer.device.capacity
        if not offer.device.shareable:
            return True
        taken = self._place.occupancy.amounts.get(key, {})
        shares = self._shares.get(key, ())
        return all(
            taken.get(name, 0) + amount + sum(share[name] for share in shares) <= capacity[name].value
            for name, amount in offer.demand.items()
        )

    def _takes_counters(self, device: Device) -> bool:
        """The first share of a device takes its counters, the others find them taken."""
        key = device.key
        shared = device.shareable and (key in self._place.occupancy.amounts or bool(self._shares.get(key)))
        return bool(device.counters) and not shared

    def _has_counters(self, offer: Offer) -> bool:
        if not self._takes_counters(offer.device):
            return True
        left = self._counters.get(offer.pool.key)
        if left is None:
            left = self._counters[offer.pool.key] = self._place.counters(offer.pool)
        taken = offer.device.counters or {}
        return all(amount >= taken.get(name, 0) for name, amount in left.items())

    def _commit(self, claim: int, request: Request, offer: Offer) -> None:
        device = offer.device
        if self._takes_counters(device):
            self._move_counters(offer, -1)
        if device.shareable:
            self._shares.setdefault(device.key, []).append(offer.demand)
        else:
            self._whole.setdefault(device.key, []).append(claim)
        self._sizes[claim] += 1
        self._grants.append(Grant(claim, request.name, device.key))

    def _give_back(self, claim: int, request: Request, offer: Offer) -> None:
        """Undoes the last :meth:`_take`."""
        device = offer.device
        self._grants.pop()
        self._sizes[claim] -= 1
        if device.shareable:
            self._shares[device.key].pop()
        else:
            self._whole[device.key].pop()
        leave(self._states[claim], request)
        if self._takes_counters(device):
            self._move_counters(offer, 1)

    def _move_counters(self, offer: Offer, sign: int) -> None:
        left = self._counters[offer.pool.key]
        for name, amount in (offer.device.counters or {}).items():
            left[name] += sign * amount
