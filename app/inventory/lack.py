"""Why the claims of a pod fit nowhere: which request lacks what, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from app.inventory.judge import Failure, Stage
from app.inventory.matching import matching
from app.inventory.model import Number
from app.inventory.place import GivenUpError, Place
from app.inventory.requests import ClaimSpec, Request
from app.inventory.search import BoundReachedError, Budget, Search

_STEPS: Final = 5_000
"""Of a search that only serves the explanation."""
_MIB: Final = 1 << 20


def lack(claims: Sequence[ClaimSpec], names: Sequence[str], places: Mapping[str, Place]) -> str:
    """The first request that would fit nowhere even alone, and what it lacks; or that they do not fit together."""
    for index, claim in enumerate(claims):
        owner = f"claim {names[index]}, " if len(claims) > 1 and index < len(names) else ""
        for alternatives in claim.requests:
            alone = replace(claim, requests=(alternatives,))
            if not _fits(alone, places.values()):
                return owner + _of_request(alone, alternatives, places)
    return "each request would fit alone, but not all together on one node"


def _fits(claim: ClaimSpec, places: Iterable[Place]) -> bool:
    for place in places:
        try:
            if Search(place, [claim], Budget(_STEPS)).run() is not None:
                return True
        except (BoundReachedError, GivenUpError):
            return True  # not what is lacking
    return False


def _of_request(claim: ClaimSpec, alternatives: Sequence[Request], places: Mapping[str, Place]) -> str:
    first = alternatives[0]
    text = f"request {first.name} {_what(claim, first, places)}"
    return text if len(alternatives) == 1 else f"{text}; its other alternatives fail too"


def _what(claim: ClaimSpec, request: Request, places: Mapping[str, Place]) -> str:
    matching_on = {name: _count(claim, request, place) for name, place in places.items()}
    if not any(matching_on.values()):
        return _no_match(request, places.values())
    need = request.count or 1
    most = max(matching_on, key=lambda name: matching_on[name])
    if matching_on[most] < need:
        return f"needs {_devices(need)} on one node; at most {matching_on[most]} match on one ({most})"
    free_on = {name: len(place.offers(request)) for name, place in places.items() if matching_on[name] >= need}
    freest = max(free_on, key=lambda name: free_on[name])
    if free_on[freest] < need:
        matched = f"{matching_on[freest]} match on node {freest}"
        return f"needs {_devices(need)} with room; {matched}, {free_on[freest] or 'none'} with room now"
    attributes = ", ".join(sorted({one.attribute for one in claim.constraints_of(request)}))
    if attributes:
        return f"finds room on {_devices(need)}, but none that agree with the constraint on {attributes}"
    return f"finds {_devices(need)}, but what they share with others is taken"


def _count(claim: ClaimSpec, request: Request, place: Place) -> int:
    return sum(not isinstance(one, Failure) for one in matching(claim, request, place.pools, place.judge))


def _no_match(request: Request, places: Iterable[Place]) -> str:
    stages = [
        place.judge.judge(request, device).stage
        for place in places
        for pool in place.pools
        for device, here in pool.devices
        if here
    ]
    match max(stages, default=Stage.CLASS):
        case Stage.CLASS:
            return f"finds no device of DeviceClass {request.device_class}"
        case Stage.SELECTORS:
            return f"finds no device of DeviceClass {request.device_class} that satisfies its selectors"
        case Stage.CAPACITY:
            asked = ", ".join(f"{name} {_amount(value)}" for name, value in request.capacity.items())
            return f"finds no device with {asked or 'its capacity'} among those that it selects"
        case Stage.TAINTS:
            return "finds only devices with taints that it does not tolerate"
    return "finds no device with the attributes and counters that it needs"


def _devices(number: int) -> str:
    return f"{number} device{'' if number == 1 else 's'}"


def _amount(value: Number) -> str:
    """An amount as people write it: ``8000Mi``, ``30``."""
    return f"{int(value) // _MIB}Mi" if value and value % _MIB == 0 else str(value)
