"""``matchAttribute`` and ``distinctAttribute`` while devices are being chosen."""

from __future__ import annotations

from typing import Protocol

from app.inventory.model import Attribute, Device
from app.inventory.requests import Constraint, Request


class State(Protocol):
    """What a constraint remembers of the devices chosen so far."""

    def accepts(self, request: Request, device: Device) -> bool:
        """The device may join."""

    def add(self, request: Request, device: Device) -> None:
        """The device joins; it was accepted."""

    def remove(self, request: Request) -> None:
        """The device that joined last, for this request, leaves again."""


def state_of(constraint: Constraint) -> State:
    """The state of a constraint before any device is chosen."""
    return _Match(constraint) if constraint.kind == "match" else _Distinct(constraint)


class _Match:
    """All devices have one value."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._value: Attribute | None = None
        self._devices = 0

    def accepts(self, request: Request, device: Device) -> bool:
        if not self._constraint.concerns(request):
            return True
        value = device.attributes.get(self._constraint.attribute)
        return value is not None and (self._devices == 0 or value == self._value)

    def add(self, request: Request, device: Device) -> None:
        if self._constraint.concerns(request):
            self._value = device.attributes[self._constraint.attribute]
            self._devices += 1

    def remove(self, request: Request) -> None:
        if self._constraint.concerns(request):
            self._devices -= 1


class _Distinct:
    """All devices have different values.

    As in Kubernetes up to 1.36, only the last of several devices of one request is remembered (issue 140438).
    """

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._values: dict[str, Attribute] = {}
        self._devices = 0

    def accepts(self, request: Request, device: Device) -> bool:
        if not self._constraint.concerns(request):
            return True
        value = device.attributes.get(self._constraint.attribute)
        return value is not None and (self._devices == 0 or value not in self._values.values())

    def add(self, request: Request, device: Device) -> None:
        if self._constraint.concerns(request):
            self._values[request.parent] = device.attributes[self._constraint.attribute]
            self._devices += 1

    def remove(self, request: Request) -> None:
        if self._constraint.concerns(request):
            self._values.pop(request.parent, None)
            self._devices -= 1
