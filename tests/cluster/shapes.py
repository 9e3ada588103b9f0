"""What a request for cards must end as, in numbers: devices, what they lose, and who fits beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster.testbed.allocation import Allocation
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.wait import wait_for

Limits = Mapping[str, str | int]
NO_CARD = "cannot allocate all claims"
"""What the scheduler says of a node whose devices were looked at and do not do."""


def gpu(
    count: int | None = None,
    *,
    mem: int | str | None = None,
    percent: int | None = None,
    cores: int | None = None,
    priority: int | None = None,
) -> Limits:
    """Limits with legacy keys; None leaves a key out."""
    asked = {"gpu": count, "gpumem": mem, "gpumem-percentage": percent, "gpucores": cores, "priority": priority}
    return {f"nvidia.com/{key}": value for key, value in asked.items() if value is not None}


@dataclass(frozen=True)
class Shape:
    """One row of a table of requests."""

    rule: str
    limits: Limits
    memory: int | None
    """MiB taken of each card; None where the driver hands out whole cards and counts nothing."""
    cores: int | None = None
    """Percent taken of each card; None where the driver has none."""
    cards: int = 1
    joins: Limits | None = None
    """What still fits, exactly, on a machine that has only these cards; None = nothing does."""
    refused: tuple[Limits, ...] = ()
    """What does not fit there any more."""

    def __str__(self) -> str:
        asked = (f"{key.removeprefix('nvidia.com/')}={value}" for key, value in self.limits.items())
        return "-".join((self.rule, *asked))


def check_shape(namespace: Namespace, shape: Shape) -> Allocation:
    """Apply the shape and its neighbours to a machine of just its cards, and compare what the scheduler gives."""
    namespace.kubectl.apply(pod("tenant", shape.limits))
    given = namespace.allocation("tenant", timeout=30)
    assert len(given.devices) == len(set(given.cards)) == shape.cards, given
    assert {(one.memory_mib, one.cores) for one in given.devices} == {(shape.memory, shape.cores)}, given
    neighbours = {f"refused-{number}": limits for number, limits in enumerate(shape.refused)}
    if shape.joins is not None:
        neighbours["joins"] = shape.joins
    if neighbours:
        namespace.kubectl.apply(*(pod(name, limits) for name, limits in neighbours.items()))
    for name in neighbours:
        if name == "joins":
            assert set(namespace.allocation(name, timeout=30).cards) <= set(given.cards)
        else:
            left_waiting(namespace, name)
    return given


def left_waiting(namespace: Namespace, name: str, why: str = NO_CARD, *, timeout: float = 30) -> str:
    """Wait until the scheduler says ``why`` it has no place for the pod; returns all it said.

    Raises:
        AssertionError: the pod got a node, or the scheduler failed on it (``SchedulerError``) instead of refusing.
    """

    def refusal() -> str | None:
        stored = namespace.get("Pod", name)
        assert not stored["spec"].get("nodeName"), f"{name} got a node\n{namespace.describe(name)}"
        for condition in _unscheduled(stored):
            assert condition["reason"] != "SchedulerError", condition["message"]
            if why in condition.get("message", ""):
                return str(condition["message"])
        return None

    return wait_for(
        refusal, f"pod {name} to be refused: {why}", timeout=timeout, describe=lambda: namespace.describe(name)
    )


def _unscheduled(stored: Any) -> list[Any]:
    conditions = stored.get("status", {}).get("conditions", ())
    return [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
