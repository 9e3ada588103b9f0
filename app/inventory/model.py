"""What ResourceSlices publish, as the scheduler reads it: devices, their attributes, capacities, counters and taints.

Everything here is read once from API objects and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, cast

from app.inventory.functions import box_version
from app.translate import quantity

JSON = Any
Number = int | Fraction
"""The exact value of a quantity; an integer wherever it is one, since those compare ten times faster."""
DeviceKey = tuple[str, str, str]
"""Driver, pool and name: what an allocation names."""
PoolKey = tuple[str, str]
"""Driver and pool."""
CounterKey = tuple[str, str]
"""Counter set and counter."""
Kind = Literal["string", "int", "bool", "version"]
_KINDS: Mapping[Kind, type] = {"int": int, "bool": bool, "string": str, "version": str}


class InventoryError(ValueError):
    """An object that is not as the API publishes it; the text names it and says what is wrong."""


class Attribute(NamedTuple):
    """A value with its type: ``1``, ``"1"`` and ``true`` differ."""

    kind: Kind
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How an amount asked of a shared capacity is rounded, and what it may be."""

    default: Number | None = None
    valid_values: tuple[Number, ...] = ()
    minimum: Number | None = None
    maximum: Number | None = None
    step: Number | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device, in its own unit (memory in bytes)."""

    value: Number
    policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint that keeps requests without a toleration away."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slice or a device can be used: at most one of the three is set."""

    node: str | None = None
    all_nodes: bool = False
    selector: Mapping[str, JSON] | None = None

    @property
    def given(self) -> bool:
        """Anything is said at all."""
        return self.node is not None or self.all_nodes or self.selector is not None


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One device. Compared by identity; :attr:`key` is its name."""

    key: DeviceKey
    attributes: Mapping[str, Attribute]
    """By qualified name ``domain/id``; a bare name belongs to the driver's domain."""
    capacity: Mapping[str, Capacity]
    """By name as published, since requests are looked up literally."""
    shareable: bool
    taints: tuple[Taint, ...] = ()
    counters: Mapping[CounterKey, Number] | None = None
    """What it takes of the counters of its pool; None = nothing."""
    place: Place = Place()
    unreadable: str | None = None
    """Why no selector can be evaluated on it: an attribute of a type that the scheduler does not know."""

    @property
    def driver(self) -> str:
        """The driver's name."""
        return self.key[0]

    def qualified(self, name: str) -> str:
        """``domain/id`` of an attribute or capacity name."""
        return name if "/" in name else f"{self.key[0]}/{name}"


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One ResourceSlice."""

    name: str
    pool: PoolKey
    generation: int
    slices: int
    """Of the pool in this generation (``resourceSliceCount``)."""
    place: Place
    per_device: bool
    """Each device has a place of its own (``perDeviceNodeSelection``)."""
    devices: tuple[Device, ...]
    counters: Mapping[CounterKey, Number]
    """The shared counters of the pool that this slice declares."""
    counter_sets: tuple[str, ...]
    binds_late: bool
    """A device has binding conditions; such pools come last."""


def read_slice(item: Mapping[str, JSON]) -> Slice:
    """A slice from its API object. May raise what a malformed object leads to; the caller names the object."""
    spec = item["spec"]
    pool = spec["pool"]
    sets = spec.get("sharedCounters") or ()
    devices = spec.get("devices") or ()
    key = (str(spec["driver"]), str(pool["name"]))
    return Slice(
        name=str(item["metadata"]["name"]),
        pool=key,
        generation=int(pool.get("generation", 0)),
        slices=int(pool.get("resourceSliceCount", 1)),
        place=_place(spec),
        per_device=bool(spec.get("perDeviceNodeSelection")),
        devices=tuple(_device(device, key) for device in devices),
        counters=dict(_counters(sets, "name")),
        counter_sets=tuple(str(one["name"]) for one in sets),
        binds_late=any(device.get("bindingConditions") for device in devices),
    )


def number(value: object) -> Number:
    """The exact value of a quantity."""
    exact = quantity.parse(value)
    return exact.numerator if exact.denominator == 1 else exact


def _device(item: Mapping[str, JSON], pool: PoolKey) -> Device:
    attributes: dict[str, Attribute] = {}
    unreadable = None
    for name, value in (item.get("attributes") or {}).items():
        try:
            attributes[name if "/" in name else f"{pool[0]}/{name}"] = _attribute(value)
        except ValueError as error:
            unreadable = f"attribute {name}: {error}"
    return Device(
        key=(*pool, str(item["name"])),
        attributes=attributes,
        capacity={name: _capacity(value) for name, value in (item.get("capacity") or {}).items()},
        shareable=bool(item.get("allowMultipleAllocations")),
        taints=tuple(
            Taint(str(t.get("key", "")), str(t.get("value", "")), str(t.get("effect", "")))
            for t in item.get("taints") or ()
        ),
        counters=dict(_counters(item.get("consumesCounters") or (), "counterSet")) or None,
        place=_place(item),
        unreadable=unreadable,
    )


def _attribute(item: Mapping[str, JSON]) -> Attribute:
    kind = next((kind for kind in _KINDS if item.get(kind) is not None), None)
    if kind is None:
        raise ValueError("a type that the scheduler does not know")
    if not isinstance(item[kind], _KINDS[kind]):
        raise TypeError(f"{item[kind]!r} is no {kind}")
    if kind == "version":
        box_version(item[kind])
    return Attribute(kind, item[kind])


def _capacity(item: Mapping[str, JSON]) -> Capacity:
    policy = item.get("requestPolicy")
    if policy is None:
        return Capacity(number(item["value"]))
    limits = policy.get("validRange") or {}
    step = _optional(limits.get("step"))
    if step is not None and step <= 0:
        raise ValueError("requestPolicy.validRange.step is not above 0")
    return Capacity(
        number(item["value"]),
        RequestPolicy(
            default=_optional(policy.get("default")),
            valid_values=tuple(number(value) for value in policy.get("validValues") or ()),
            minimum=_optional(limits.get("min")),
            maximum=_optional(limits.get("max")),
            step=step,
        ),
    )


def _optional(value: object) -> Number | None:
    return None if value is None else number(value)


def _place(item: Mapping[str, JSON]) -> Place:
    node = item.get("nodeName") or None
    return Place(node, bool(item.get("allNodes")), cast("Mapping[str, JSON] | None", item.get("nodeSelector")))


def _counters(sets: JSON, name: str) -> Iterator[tuple[CounterKey, Number]]:
    for one in sets:
        for counter, value in (one.get("counters") or {}).items():
            yield (str(one[name]), str(counter)), number(value["value"])
