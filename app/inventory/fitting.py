"""Whether all claims of one pod fit together on one node now, and if not, which request lacks what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.inventory.answers import SHOWN_NODES, Fit
from app.inventory.lack import lack
from app.inventory.place import GivenUpError, Place
from app.inventory.requests import ClaimSpec
from app.inventory.search import BoundReachedError, Budget, Search

NODE_STEPS: Final = 20_000
"""Of one search: a twentieth of a second. The scheduler gives a node 10 s, in which it takes some millions."""
POD_STEPS: Final = 200_000
"""Of all searches for one pod."""
_MAX_DEVICES: Final = 200
"""Of one pod; a search nests as deep as it takes devices."""


def fit_of(claims: Sequence[ClaimSpec], names: Sequence[str], places: Mapping[str, Place]) -> Fit:
    """Whether the claims of one pod fit, looked up on every node.

    Args:
        claims: in the order of the pod.
        names: of the claims, for the explanation; empty = they are not named.
        places: the nodes by name.
    """
    fit = _unasked(claims, places)
    if fit is not None:
        return fit
    fitting: list[str] = []
    unsure: list[str] = []
    left = POD_STEPS
    for name, place in places.items():
        budget = Budget(min(NODE_STEPS, left))
        left -= budget.steps
        try:
            if Search(place, claims, budget).run() is not None:
                fitting.append(name)
        except BoundReachedError:
            unsure.append(name)
        except GivenUpError as error:
            return Fit(None if error.failure.unknown else False, why=error.failure.text)
        left += budget.steps
    if fitting:
        return Fit(True, len(fitting), tuple(fitting[:SHOWN_NODES]))
    if unsure:
        return Fit(None, why=f"too many combinations on node {unsure[0]}, perhaps also for the scheduler and its 10 s")
    return Fit(False, why=lack(claims, names, places))


def _unasked(claims: Sequence[ClaimSpec], places: Mapping[str, Place]) -> Fit | None:
    """The answer where no node needs to be looked at; None where they do."""
    if not places:
        return Fit(None, why="no node is known")
    requests = [request for claim in claims for request in claim.alternatives]
    if sum(request.count or 0 for request in requests) > _MAX_DEVICES:
        return Fit(None, why=f"more than {_MAX_DEVICES} devices are not looked up")
    judge = next(iter(places.values())).judge
    missing = next((one for one in requests if not judge.knows(one.device_class)), None)
    if missing is None:
        return None
    return Fit(False, why=f"request {missing.name}: DeviceClass {missing.device_class} does not exist")
