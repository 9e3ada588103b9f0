"""The spec of a ResourceClaim, as far as devices are chosen by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from app.inventory.model import InventoryError, Number, Taint, number

JSON = Any
MAX_DEVICES: Final = 32
"""AllocationResultsMaxSize: devices of one claim."""
ADMITTED_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Taints with another effect keep nobody away."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of device taints; empty key and effect mean all of them."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether a request with it takes a device with the taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request of a claim that names devices: an exact one, or one alternative of ``firstAvailable``."""

    parent: str
    """Name of the request of the claim."""
    name: str
    """As in allocations: ``request``, or ``request/alternative``."""
    device_class: str
    selectors: tuple[str, ...]
    capacity: Mapping[str, Number]
    tolerations: tuple[Toleration, ...]
    count: int | None
    """Devices; None = all that match."""
    admin: bool = False

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """None of the taints keeps this request away."""
        return all(
            taint.effect not in ADMITTED_EFFECTS or any(one.tolerates(taint) for one in self.tolerations)
            for taint in taints
        )


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the devices of some requests have, or must not have, in common."""

    kind: Literal["match", "distinct"]
    attribute: str
    """Qualified name."""
    requests: frozenset[str]
    """Names of requests or ``request/alternative``; empty = all of the claim."""

    def concerns(self, request: Request) -> bool:
        """Whether devices of a request count."""
        return not self.requests or request.parent in self.requests or request.name in self.requests


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSpec:
    """The devices that a claim asks for."""

    requests: tuple[tuple[Request, ...], ...]
    """For each request its alternatives, best first; one of them is enough."""
    constraints: tuple[Constraint, ...]

    @property
    def alternatives(self) -> Iterator[Request]:
        """Everything that names devices."""
        for alternatives in self.requests:
            yield from alternatives

    def constraints_of(self, request: Request) -> Iterator[Constraint]:
        """The constraints on a request."""
        return (one for one in self.constraints if one.concerns(request))


def read_claim(spec: Mapping[str, JSON]) -> ClaimSpec:
    """A claim spec, ``{"devices": {"requests": […], "constraints": […]}}``, with the API's defaults.

    Raises:
        InventoryError: it is not one that the API server accepts.
    """
    try:
        devices = spec.get("devices") or {}
        return ClaimSpec(
            tuple(tuple(_alternatives(request)) for request in devices.get("requests") or ()),
            tuple(_constraint(one) for one in devices.get("constraints") or ()),
        )
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise InventoryError(f"not the spec of a ResourceClaim: {type(error).__name__} {error}") from error


def read_class(item: Mapping[str, JSON]) -> tuple[str, ...]:
    """The expressions of a DeviceClass, all of which hold for its devices."""
    return tuple(_expression(one) for one in (item.get("spec") or {}).get("selectors") or ())


def _alternatives(item: Mapping[str, JSON]) -> Iterator[Request]:
    name = str(item["name"])
    if item.get("firstAvailable"):
        for one in item["firstAvailable"]:
            yield _request(name, f"{name}/{one['name']}", one)
    else:
        yield _request(name, name, item["exactly"])


def _request(parent: str, name: str, item: Mapping[str, JSON]) -> Request:
    everything = item.get("allocationMode") == "All"
    count = int(item.get("count") or 1)  # 0 is accepted and becomes 1
    asked = (item.get("capacity") or {}).get("requests") or {}
    return Request(
        parent=parent,
        name=name,
        device_class=str(item["deviceClassName"]),
        selectors=tuple(_expression(one) for one in item.get("selectors") or ()),
        capacity={key: number(value) for key, value in asked.items()},
        tolerations=tuple(_toleration(one) for one in item.get("tolerations") or ()),
        count=None if everything else count,
        admin=bool(item.get("adminAccess")),
    )


def _expression(selector: Mapping[str, JSON]) -> str:
    return str(selector["cel"]["expression"])


def _toleration(item: Mapping[str, JSON]) -> Toleration:
    return Toleration(
        str(item.get("key") or ""),
        str(item.get("operator") or "Equal"),
        str(item.get("value") or ""),
        str(item.get("effect") or ""),
    )


def _constraint(item: Mapping[str, JSON]) -> Constraint:
    """A constraint; where both kinds are given, only the match counts, as in the scheduler."""
    kind: Literal["match", "distinct"] = "match" if item.get("matchAttribute") else "distinct"
    return Constraint(kind, str(item[f"{kind}Attribute"]), frozenset(item.get("requests") or ()))
