"""Pools of devices as one node sees them: the newest generation, complete and valid, in the scheduler's order.

Follows ``GatherPools`` of Kubernetes 1.36, which looks at the slices of one node first and at the others only where
those are not the whole pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.inventory.model import CounterKey, Device, Number, PoolKey, Slice
from app.inventory.nodes import Node, reaches


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool from which devices may be taken on a node, or the reason why none may."""

    key: PoolKey
    devices: tuple[tuple[Device, bool], ...] = ()
    """In the order in which the scheduler tries them; False = of a slice of this node, but itself elsewhere."""
    counters: Mapping[CounterKey, Number] = field(default_factory=dict)
    """What the pool has of each shared counter."""
    consumers: tuple[Device, ...] = ()
    """Devices of the whole pool that take counters, also on other nodes."""
    problem: str | None = None
    """Why nothing can be allocated from it; it is in flux, or published wrongly."""
    binds_late: bool = False


class Pools:
    """All slices, by pool and by node."""

    def __init__(self, slices: Iterable[Slice]) -> None:
        self._by_pool: dict[PoolKey, list[Slice]] = {}
        self._of_node: dict[str, list[Slice]] = {}
        self._shared: list[Slice] = []
        for one in slices:
            self._by_pool.setdefault(one.pool, []).append(one)
            if one.place.node is None or one.counters:
                self._shared.append(one)
            else:
                self._of_node.setdefault(one.place.node, []).append(one)

    @property
    def node_names(self) -> list[str]:
        """Nodes that slices or devices name."""
        devices = (d.place.node for one in self._shared if one.per_device for d in one.devices)
        named = (one.place.node for one in self._shared)
        return sorted({*self._of_node, *(name for name in (*devices, *named) if name is not None)})

    def current(self) -> Iterator[Device]:
        """Every device of the newest generation of a complete pool, wherever it is."""
        for slices in self._by_pool.values():
            newest = max(one.generation for one in slices)
            latest = [one for one in slices if one.generation == newest]
            if len(latest) == latest[0].slices:
                for one in latest:
                    yield from one.devices

    def on(self, node: Node) -> list[Pool]:
        """The pools of a node, in the scheduler's order."""
        relevant: dict[PoolKey, list[Slice]] = {}
        for one in (*self._of_node.get(node.name, ()), *self._shared):
            if not one.counters and not _relevant(one, node):
                continue
            there = relevant.setdefault(one.pool, [])
            if there and one.generation > there[0].generation:
                there.clear()
            if not there or one.generation == there[0].generation:
                there.append(one)
        pools = [pool for key, slices in relevant.items() if (pool := self._pool(key, slices, node)) is not None]
        return sorted(pools, key=lambda pool: (pool.binds_late, pool.key))

    def _pool(self, key: PoolKey, slices: list[Slice], node: Node) -> Pool | None:
        generation, whole = slices[0].generation, slices
        if len(slices) != slices[0].slices:
            if any(one.generation > generation for one in self._by_pool[key]):
                return None  # being replaced by a generation that has nothing for this node
            whole = [one for one in self._by_pool[key] if one.generation == generation]
            if len(whole) != slices[0].slices:
                return Pool(key, problem=f"{len(whole)} of {slices[0].slices} slices are there")
        slices = sorted(slices, key=lambda one: one.name)
        problem = _problem(slices, whole)
        if problem is not None:
            return Pool(key, problem=problem)
        return Pool(
            key,
            devices=tuple(
                (device, not one.per_device or reaches(device.place, node))
                for one in slices
                if not one.counters
                for device in one.devices
            ),
            counters={name: value for one in slices for name, value in one.counters.items()},
            consumers=tuple(device for one in whole for device in one.devices if device.counters),
            binds_late=any(one.binds_late for one in slices),
        )


def _relevant(one: Slice, node: Node) -> bool:
    if one.place.given:
        return reaches(one.place, node)
    return one.per_device and any(reaches(device.place, node) for device in one.devices)


def _problem(slices: Sequence[Slice], whole: Sequence[Slice]) -> str | None:
    """What is wrong with how a pool is published; None = nothing."""
    names = [device.key[2] for one in slices for device in one.devices]
    if len(names) != len(set(names)):
        return f"two devices have the name {next(name for name in names if names.count(name) > 1)}"
    sets = [name for one in slices for name in one.counter_sets]
    if len(sets) != len(set(sets)):
        return f"two counter sets have the name {next(name for name in sets if sets.count(name) > 1)}"
    known = {name for one in slices for name in one.counters}
    for one in whole:
        for device in one.devices:
            missing = [name for name in device.counters or () if name not in known]
            if missing:
                return f"device {device.key[2]} takes counter {missing[0][1]} of {missing[0][0]}, which does not exist"
    return None
