"""Machines for the manifests of the corpus."""

from __future__ import annotations

from typing import Any

from app.translate import quantity
from tests.cluster.testbed.hardware import (
    A100_NODE,
    HAMI_CLASSES,
    MIG_NODE,
    NVIDIA_CLASSES,
    cards,
    load,
    on_node,
    with_cards,
    with_memory,
    without_extended_resource,
)

JSON = Any
Machine = list[JSON]
NODE = "gpu-node-1"
"""Manifests name it."""
CLASSES = (HAMI_CLASSES, without_extended_resource(load(NVIDIA_CLASSES)))
_PRODUCT_LABEL = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
_A100_MIB = 81920
_CHOSEN = [f"GPU-00000000-0000-4000-8000-00000000000{letter}" for letter in "abc"]
"""UUIDs that manifests choose."""
_OTHERS = {
    "NVIDIA A100-SXM4-40GB": 40960,
    "NVIDIA A10": 23028,
    "NVIDIA L40S": 46068,
    "NVIDIA H100 80GB HBM3": 81559,
    "Tesla T4": 15360,
    "Tesla P4": 7680,
}
"""Product and MiB of the cards beside eight A100 of 80 GB."""
_PROFILES = {
    "1g.5gb": "1g.10gb",
    "1g.10gb": "1g.20gb",
    "2g.10gb": "1g.20gb",
    "3g.20gb": "3g.40gb",
    "7g.40gb": "7g.80gb",
}
"""Slices of a 40 GB card, and which of an 80 GB card stand in their place."""


def hami_machine(*memory_mib: int, node: str = NODE) -> Machine:
    """A machine with one shareable A100 of each size, in MiB."""
    return _with_devices(node, [_card(number, mib) for number, mib in enumerate(memory_mib)])


def machine_with_everything() -> Machine:
    """One machine on which every manifest gets on that may get on at all: many kinds of cards, and MIG devices."""
    devices = [_card(number, _A100_MIB) for number in range(8)]
    for card, uuid in zip(devices, _CHOSEN, strict=False):
        card["attributes"]["uuid"]["string"] = uuid
    for number, (product, mib) in enumerate(_OTHERS.items(), start=len(devices)):
        devices.append(_card(number, mib))
        devices[-1]["attributes"]["productName"]["string"] = product
    return [*_with_devices(NODE, devices), _mig_slice()]


def mig_machine_with_one_card() -> Machine:
    """A machine with two equal MIG devices, which are of one card."""
    machine = [obj for obj in _with_devices(NODE, []) if obj["kind"] == "Node"]
    return with_cards([*machine, _mig_slice()], ["gpu-0-mig-1g5gb-19-2", "gpu-0-mig-1g5gb-19-3"])


def _card(number: int, mib: int) -> JSON:
    (card,) = cards(with_memory(with_cards(load(A100_NODE), 1), mib))
    card["name"] = f"hami-gpu-{number}"
    card["attributes"]["uuid"]["string"] = f"GPU-{number:08x}-1111-4111-8111-111111111111"
    return card


def _with_devices(node: str, devices: list[JSON]) -> Machine:
    machine = on_node(load(A100_NODE), node)
    for obj in machine:
        if obj["kind"] == "Node":
            obj["metadata"]["labels"] |= _PRODUCT_LABEL
        else:
            obj["spec"]["devices"] = devices
    return machine


def _mig_slice() -> JSON:
    (published,) = (obj for obj in on_node(load(MIG_NODE), NODE) if obj["kind"] == "ResourceSlice")
    for device in cards([published]):
        memory = device["capacity"]["memory"]
        memory["value"] = str(int(quantity.parse(memory["value"])) * 2)
        if profile := device["attributes"].get("profile"):
            profile["string"] = _PROFILES.get(profile["string"], profile["string"])
    return published
