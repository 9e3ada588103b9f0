"""Proves without a search that claims cannot fit: more devices are needed than can be told apart.

A search tries N equal requests in every order, so a hopeless demand of nine takes longer than anybody waits. A matching
finds out at once that nine devices are not eight.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from app.inventory.place import Offer
from app.inventory.requests import ClaimSpec, Constraint, Request

Offers = Mapping[Request, Sequence[Offer]]
"""What each request may take on a node."""


def hopeless(claims: Sequence[ClaimSpec], offers: Offers) -> bool:
    """Whether there is certainly no allocation. False says nothing."""
    if not _each_gets_one(_whole_devices(claims, offers)):
        return True
    return any(
        constraint.kind == "distinct" and not _each_gets_one(_distinct_values(claim, constraint, offers))
        for claim in claims
        for constraint in claim.constraints
    )


def _whole_devices(claims: Sequence[ClaimSpec], offers: Offers) -> Iterable[set[Hashable]]:
    """For each device that is needed as a whole, those that may be it."""
    for claim in claims:
        for alternatives in claim.requests:
            choice = [offer.device for request in alternatives for offer in offers[request]]
            if any(one.shareable for one in choice) or any(one.admin for one in alternatives):
                continue
            for _ in range(min(len(offers[one]) if one.count is None else one.count for one in alternatives)):
                yield {device.key for device in choice}


def _distinct_values(claim: ClaimSpec, constraint: Constraint, offers: Offers) -> Iterable[set[Hashable]]:
    """For each request under a constraint, the values that its device may bring."""
    for alternatives in claim.requests:
        if all(constraint.concerns(request) for request in alternatives):
            found = (offer.device.attributes.get(constraint.attribute) for one in alternatives for offer in offers[one])
            yield {value for value in found if value is not None}


def _each_gets_one(choices: Iterable[set[Hashable]]) -> bool:
    """Whether everybody can have one of their choice, no two the same (a maximum matching, by augmenting paths)."""
    wishes = list(choices)
    owner: dict[Hashable, int] = {}

    def serve(index: int, tried: set[Hashable]) -> bool:
        for one in wishes[index] - tried:
            tried.add(one)
            if one not in owner or serve(owner[one], tried):
                owner[one] = index
                return True
        return False

    return all(serve(index, set()) for index in range(len(wishes)))
