"""What the cluster publishes now, as plain data; every part may be unknown.

Built from ResourceSlices, DeviceClasses and the server version, whoever read them: the webhook from the
API, the preview from ``--slices`` files. Nothing here talks to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.drivers import DriverProfile
from app.drivers.model import Sharing
from app.translate import quantity

JSON = Any
Version = tuple[int, int]
"""Major and minor of a Kubernetes version."""

ASSUMED_CARD_SIZES_MIB = (15360, 23028, 40960, 46068, 81559, 81920)
"""Card sizes that a preview without facts assumes for percentages (S38): T4, A10, A100-40, L40S, H100, A100-80."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device of one ResourceSlice."""

    driver: str
    node: str | None
    pool: str
    name: str
    attributes: Mapping[str, str | int | bool]
    """Versions and strings as text. Names as published: a bare one belongs to the driver's domain."""
    capacity: Mapping[str, int]
    """Units of each capacity (memory in bytes), rounded down; names as published."""
    defaults: Mapping[str, int]
    """``requestPolicy.default`` where there is one."""
    shareable: bool

    def memory_mib(self, profile: DriverProfile) -> int | None:
        """Memory in MiB, rounded down; None where it is not published."""
        name = profile.capacity.memory
        return None if name is None or name not in self.capacity else self.capacity[name] >> 20

    def sharing(self, profile: DriverProfile) -> Sharing:
        """How this device is handed out."""
        if not self.shareable:
            return "exclusive"
        if profile.capacity.shares is not None and profile.capacity.shares in self.capacity:
            return "shares"
        memory = profile.capacity.memory
        if memory is not None and memory in self.capacity and self.defaults.get(memory, 1) == 0:
            return "unlimited"
        return "memory"


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass: its name and the extended resource it claims, if any."""

    name: str
    extended_resource_name: str | None = None


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of the cluster. The default knows nothing. Compared by identity, so that it can key a cache."""

    server_version: Version | None = None
    device_classes: Mapping[str, DeviceClass] | None = None
    """By name; None while unknown."""
    devices: tuple[Device, ...] | None = None
    """Of all drivers; None while unknown."""
    dropped_fields: frozenset[str] = frozenset()
    """Claim fields that this API server drops or refuses (``capacity``, ``distinctAttribute``, ``firstAvailable``)."""
    assumed_card_sizes_mib: tuple[int, ...] = ()
    """Card sizes to assume where neither slices nor settings know any (a preview without facts)."""
    limit_ranges: tuple[Mapping[str, JSON], ...] = ()
    """LimitRange objects whose namespace the pod belongs to (S72)."""
    resource_quotas: tuple[Mapping[str, JSON], ...] = ()
    """ResourceQuota objects whose namespace the pod belongs to (S73)."""
    _by_kind: dict[tuple[str, str | None], tuple[Device, ...]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def uuids(self) -> frozenset[str]:
        """Every UUID that a device publishes, also those of MIG parents."""
        names = ("uuid", "parentUUID")
        return frozenset(str(d.attributes[n]) for d in self.devices or () for n in names if n in d.attributes)

    def may_have(self, device_class: str) -> bool:
        """Whether a DeviceClass may exist; True while classes are unknown."""
        return self.device_classes is None or device_class in self.device_classes

    def devices_of(self, profile: DriverProfile, device_type: str | None) -> tuple[Device, ...]:
        """Devices of a driver and kind (``type`` attribute); empty when none is known."""
        key = (profile.name, device_type)
        if key not in self._by_kind:
            attribute = profile.attributes.type
            self._by_kind[key] = tuple(
                d
                for d in self.devices or ()
                if d.driver == profile.driver
                and (device_type is None or attribute is None or d.attributes.get(attribute) == device_type)
            )
        return self._by_kind[key]


def facts_from_objects(
    objects: Iterable[Mapping[str, JSON]],
    *,
    server_version: Version | None = None,
    dropped_fields: Iterable[str] = (),
    complete: bool = True,
) -> Facts:
    """Facts from API objects: ResourceSlices and DeviceClasses are read, other kinds are passed over.

    Args:
        objects: as the API or a YAML file gives them; also ``List`` objects.
        complete: the objects are all there are, so a class that is not among them does not exist. False for files,
            where no DeviceClass at all means that classes are unknown.
    """
    slices: list[Mapping[str, JSON]] = []
    classes: dict[str, DeviceClass] = {}
    for item in _flat(objects):
        if item.get("kind") == "ResourceSlice":
            slices.append(item)
        elif item.get("kind") == "DeviceClass":
            name = str(item["metadata"]["name"])
            classes[name] = DeviceClass(name, (item.get("spec") or {}).get("extendedResourceName"))
    return Facts(
        server_version=server_version,
        device_classes=classes if classes or complete else None,
        devices=tuple(_devices(slices)) if slices or complete else None,
        dropped_fields=frozenset(dropped_fields),
    )


def parse_version(major: str, minor: str) -> Version:
    """The version of a server as ``GET /version`` gives it; the minor may end in ``+``."""
    return int(major), int("".join(c for c in minor if c.isdigit()))


def _flat(objects: Iterable[Mapping[str, JSON]]) -> Iterable[Mapping[str, JSON]]:
    for item in objects:
        if isinstance(item, Mapping) and str(item.get("kind", "")).endswith("List"):
            yield from _flat(item.get("items") or ())
        elif isinstance(item, Mapping):
            yield item


def _devices(slices: Iterable[Mapping[str, JSON]]) -> Iterable[Device]:
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        pool = one["spec"]["pool"]
        key = (one["spec"]["driver"], pool["name"])
        newest[key] = max(newest.get(key, 0), pool.get("generation", 0))
    for one in slices:
        spec = one["spec"]
        pool = spec["pool"]
        if pool.get("generation", 0) < newest[spec["driver"], pool["name"]]:
            continue  # an older generation of the pool is no longer offered
        for device in spec.get("devices") or ():
            capacity = device.get("capacity") or {}
            yield Device(
                driver=spec["driver"],
                node=spec.get("nodeName"),
                pool=pool["name"],
                name=device["name"],
                attributes={k: next(iter(v.values())) for k, v in (device.get("attributes") or {}).items() if v},
                capacity={k: _units(v.get("value")) for k, v in capacity.items()},
                defaults={
                    k: _units(v["requestPolicy"]["default"])
                    for k, v in capacity.items()
                    if (v.get("requestPolicy") or {}).get("default") is not None
                },
                shareable=bool(device.get("allowMultipleAllocations")),
            )


def _units(value: object) -> int:
    number = quantity.parse(value)
    return number.numerator // number.denominator
