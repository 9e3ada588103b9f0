"""Machines with what the fixtures do not have: taints, shared counters, listed amounts, devices of a whole rack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JSON = Any
HAMI = "hami-core-gpu.project-hami.io"
NVIDIA = "gpu.nvidia.com"


def device(name: str, attributes: Mapping[str, str | int | bool], memory: str, **fields: JSON) -> JSON:
    """A device with memory; ``capacity`` adds others."""
    kinds = {str: "string", int: "int", bool: "bool"}
    capacity = {"memory": {"value": memory}, **fields.pop("capacity", {})}
    typed = {key: {kinds[type(value)]: value} for key, value in attributes.items()}
    return {"name": name, "attributes": typed, "capacity": capacity, **fields}


def resource_slice(name: str, driver: str, place: str, devices: Sequence[JSON] = (), **spec: JSON) -> JSON:
    """A slice of the pool and node ``place``, the only one of both unless said otherwise."""
    elsewhere = {"nodeSelector", "allNodes", "perDeviceNodeSelection"} & spec.keys()
    pool = {"name": place, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    body = {"driver": driver, "pool": pool, **spec, **({} if elsewhere else {"nodeName": place})}
    if devices:
        body["devices"] = list(devices)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": body,
    }


def node(name: str, **labels: str) -> JSON:
    """A node with room for any number of pods."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "2000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def tainted() -> list[JSON]:
    """A node whose shareable cards have the taints NoSchedule, NoExecute and None, and one without any."""
    effects = ("NoSchedule", "NoExecute", "None", None)
    cards = [
        device(
            f"card-{number}",
            {"type": "hami-gpu", "uuid": f"GPU-tainted-{number}", "productName": "NVIDIA A10", "minor": number},
            "24Gi",
            allowMultipleAllocations=True,
            capacity={"cores": {"value": "100", "requestPolicy": {"default": "0", "validValues": ["0", "25", "50"]}}},
            **({"taints": [{"key": "example.org/broken", "value": "fan", "effect": effect}]} if effect else {}),
        )
        for number, effect in enumerate(effects)
    ]
    return [node("tainted-node"), resource_slice("tainted", HAMI, "tainted-node", cards)]


def partitionable() -> list[JSON]:
    """A node with one card that is whole or in parts: eight memory slices, of which parts take one, two or four."""

    def part(name: str, kind: str, profile: Mapping[str, str], slices: int) -> JSON:
        return device(
            name,
            {"type": kind, "uuid": f"GPU-part-{name}", "productName": "NVIDIA H200", **profile},
            f"{slices * 10}Gi",
            consumesCounters=[{"counterSet": "card", "counters": {"slices": {"value": str(slices)}}}],
        )

    parts = [
        part("whole", "gpu", {}, 8),
        *(part(f"half-{i}", "mig", {"profile": "4g.40gb"}, 4) for i in range(2)),
        *(part(f"quarter-{i}", "mig", {"profile": "2g.20gb"}, 2) for i in range(4)),
        *(part(f"eighth-{i}", "mig", {"profile": "1g.10gb"}, 1) for i in range(3)),
    ]
    counters = [{"name": "card", "counters": {"slices": {"value": "8"}}}]
    two = {"resourceSliceCount": 2}
    return [
        node("partitionable-node"),
        resource_slice("parts-counters", NVIDIA, "partitionable-node", sharedCounters=counters, pool=two),
        resource_slice("parts-devices", NVIDIA, "partitionable-node", parts, pool=two),
    ]


def rack(label: str, value: str) -> list[JSON]:
    """Two cards that every node with a label reaches, and one of them each node."""
    cards = [
        device("rack-0", {"type": "hami-gpu", "uuid": "GPU-rack-0", "productName": "NVIDIA A10"}, "24Gi"),
        device("rack-1", {"type": "hami-gpu", "uuid": "GPU-rack-1", "productName": "NVIDIA A10"}, "24Gi"),
    ]
    term = {"matchExpressions": [{"key": label, "operator": "In", "values": [value]}]}
    places: Sequence[JSON] = ({"nodeSelector": {"nodeSelectorTerms": [term]}}, {"allNodes": True})
    devices = [{**card, **place} for card, place in zip(cards, places, strict=True)]
    return [resource_slice("rack", HAMI, "rack", devices, perDeviceNodeSelection=True)]
