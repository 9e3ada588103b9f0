"""Whether a device serves a request at all, whoever has it now: class, selectors, amounts, taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from app.inventory.capacity import Demand, demand
from app.inventory.model import Device
from app.inventory.reads import Read
from app.inventory.requests import Request
from app.inventory.selectors import Selector, UnreadableError, seen


class Stage(IntEnum):
    """How far a device gets with a request, in the order in which the scheduler looks."""

    CLASS = 0
    """It is not of the DeviceClass."""
    SELECTORS = 1
    """It does not satisfy the request's selectors."""
    CAPACITY = 2
    """It never has the asked amounts."""
    TAINTS = 3
    """It has a taint that the request does not tolerate."""
    MATCHES = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the scheduler gives up on a pod, or why it is not known here what it does."""

    text: str
    unknown: bool = False
    """The scheduler may well read what cannot be read here."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a device and a request."""

    stage: Stage
    """Where the device fell out; with a failure, where that happened."""
    demand: Demand = field(default_factory=dict)
    """What the request takes of it; only from the stage of taints on."""
    failure: Failure | None = None

    @property
    def matches(self) -> bool:
        """The device serves the request when it is free."""
        return self.stage is Stage.MATCHES


_FELL_OUT: Final = {stage: Judgement(stage) for stage in (Stage.CLASS, Stage.SELECTORS, Stage.CAPACITY)}


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a request can tell apart, and what came of each kind of device that it sees."""

    reads: frozenset[Read] | None
    kinds: dict[Device, int]
    """A number for each kind; shared by all requests with these reads."""
    results: dict[int, Judgement] = field(default_factory=dict)


class Judge:
    """Judges devices and remembers the results: a cluster has many devices and few kinds of them.

    Args:
        classes: the selectors of each DeviceClass.
    """

    def __init__(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        self._classes = classes
        self._selectors: dict[str, Selector | Failure] = {}
        self._kinds: dict[frozenset[Read] | None, dict[Device, int]] = {}
        self._numbers: dict[object, int] = {}
        self._sights: dict[Request, _Sight] = {}

    def knows(self, device_class: str) -> bool:
        """There is such a DeviceClass."""
        return device_class in self._classes

    def judge(self, request: Request, device: Device) -> Judgement:
        """How far a device gets with a request."""
        sight = self._sights.get(request) or self._look(request)
        kind = sight.kinds.get(device)
        if kind is None:
            base = (device.unreadable, device.taints, frozenset(device.capacity.items()))
            kind = self._numbers.setdefault((base, seen(device, sight.reads)), len(self._numbers))
            sight.kinds[device] = kind
        found = sight.results.get(kind)
        if found is None:
            found = sight.results[kind] = self._judge(request, device)
        return found

    def forget(self) -> None:
        """Frees what is remembered of requests."""
        self._sights.clear()
        self._kinds.clear()
        self._numbers.clear()
        self._selectors.clear()

    def _look(self, request: Request) -> _Sight:
        reads: frozenset[Read] | None = frozenset()
        for expression in (*self._classes[request.device_class], *request.selectors):
            selector = self._selector(expression)
            if isinstance(selector, Selector):
                reads = None if reads is None or selector.reads is None else reads | selector.reads
        sight = self._sights[request] = _Sight(reads, self._kinds.setdefault(reads, {}))
        return sight

    def _judge(self, request: Request, device: Device) -> Judgement:
        of_class = self._all(self._classes[request.device_class], device, f"DeviceClass {request.device_class}")
        if of_class is not True:
            return Judgement(Stage.CLASS, failure=of_class) if of_class else _FELL_OUT[Stage.CLASS]
        selected = self._all(request.selectors, device, f"request {request.name}")
        if selected is not True:
            return Judgement(Stage.SELECTORS, failure=selected) if selected else _FELL_OUT[Stage.SELECTORS]
        taken = demand(request.capacity, device)
        if taken is None:
            return _FELL_OUT[Stage.CAPACITY]
        return Judgement(Stage.MATCHES if request.tolerates(device.taints) else Stage.TAINTS, taken)

    def _all(self, expressions: Iterable[str], device: Device, owner: str) -> bool | Failure:
        """All selectors hold; the first that does not ends it, as in the scheduler."""
        for index, expression in enumerate(expressions):
            selector = self._selector(expression)
            if isinstance(selector, Failure):
                return Failure(f"{owner}, selector #{index}: {selector.text}", unknown=True)
            verdict = selector(device)
            if isinstance(verdict, str):
                return Failure(
                    f"{owner}, selector #{index} fails on device {device.key[2]} of {device.key[1]}: {verdict}"
                )
            if not verdict:
                return False
        return True

    def _selector(self, expression: str) -> Selector | Failure:
        found = self._selectors.get(expression)
        if found is None:
            found = self._selectors[expression] = _compiled(expression)
        return found


def _compiled(expression: str) -> Selector | Failure:
    try:
        return Selector(expression)
    except UnreadableError as error:
        return Failure(f"cannot be evaluated here: {error}", unknown=True)
