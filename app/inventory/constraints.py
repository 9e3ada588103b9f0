"""``matchAttribute`` and ``distinctAttribute`` while devices are being chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.inventory.model import Attribute, Device
from app.inventory.requests import Constraint, Request


class State(Protocol):
    """What a constraint remembers of the devices chosen so far."""

    def add(self, request: Request, device: Device) -> bool:
        """The device joins, where it may; whether it did."""

    def remove(self, request: Request) -> None:
        """The device that joined last, for this request, leaves again."""


def join(states: Sequence[State], request: Request, device: Device) -> bool:
    """A device joins all constraints or none.

    As in the scheduler it joins one after the other, and where one refuses it, leaves those before. What a constraint
    forgets on that way stays forgotten.
    """
    for number, state in enumerate(states):
        if not state.add(request, device):
            leave(states[:number], request)
            return False
    return True


def leave(states: Sequence[State], request: Request) -> None:
    """The device that joined last, for this request, leaves all constraints."""
    for state in reversed(states):
        state.remove(request)


def state_of(constraint: Constraint) -> State:
    """The state of a constraint before any device is chosen."""
    return _Match(constraint) if constraint.kind == "match" else _Distinct(constraint)


class _Match:
    """All devices have one value."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._value: Attribute | None = None
        self._devices = 0

    def add(self, request: Request, device: Device) -> bool:
        if not self._constraint.concerns(request):
            return True
        value = device.attributes.get(self._constraint.attribute)
        if value is None or (self._devices and value != self._value):
            return False
        self._value = value
        self._devices += 1
        return True

    def remove(self, request: Request) -> None:
        if self._constraint.concerns(request):
            self._devices -= 1


class _Distinct:
    """All devices have different values.

    As in Kubernetes up to 1.36, only the last of several devices of one request is remembered (issue 140438), and none
    of them once a device has left again, also one that a later constraint refused.
    """

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._values: dict[str, Attribute] = {}
        self._devices = 0

    def add(self, request: Request, device: Device) -> bool:
        if not self._constraint.concerns(request):
            return True
        value = device.attributes.get(self._constraint.attribute)
        if value is None or (self._devices and value in self._values.values()):
            return False
        self._values[request.parent] = value
        self._devices += 1
        return True

    def remove(self, request: Request) -> None:
        if self._constraint.concerns(request):
            self._values.pop(request.parent, None)
            self._devices -= 1
