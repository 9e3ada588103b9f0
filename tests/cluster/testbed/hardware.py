"""Nodes, ResourceSlices and DeviceClasses: the machines of a test, loaded and changed in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.testbed.api import Api

JSON = Any
Objects = Sequence[JSON]

FIXTURES = Path(__file__).parents[1] / "fixtures"
T4_NODE = "hami-t4-node"
A100_NODE = "hami-a100-node"
H100_NODE = "nvidia-h100-node"
MIG_NODE = "nvidia-mig-node"
L40S_NODE = "nvidia-consumable-memory-node"
HAMI_CLASSES = "deviceclasses-hami"
NVIDIA_CLASSES = "deviceclasses-nvidia"

# A slice after its node and class; taken away in the opposite order.
_ORDER = ("DeviceClass", "Node", "ResourceSlice")


@cache
def _fixture(name: str) -> tuple[JSON, ...]:
    return tuple(yaml.safe_load_all((FIXTURES / f"{name}.yaml").read_text()))


def load(*names: str) -> list[JSON]:
    """The objects of fixture files; yours to change."""
    return [deepcopy(obj) for name in names for obj in _fixture(name)]


def cards(objects: Objects) -> list[JSON]:
    """All devices of the ResourceSlices among ``objects``."""
    return [card for obj in objects if obj["kind"] == "ResourceSlice" for card in obj["spec"]["devices"]]


def with_cards(objects: Objects, keep: int | Iterable[str]) -> list[JSON]:
    """The same machines with the first ``keep`` cards of each, or with the cards of those names."""
    names = None if isinstance(keep, int) else set(keep)

    def cut(slice_: JSON) -> None:
        devices = slice_["spec"]["devices"]
        chosen = (
            devices[:keep] if isinstance(keep, int) else [card for card in devices if card["name"] in (names or ())]
        )
        slice_["spec"]["devices"] = chosen

    return _changed(objects, cut)


def with_memory(objects: Objects, mebibytes: int) -> list[JSON]:
    """The same machines with cards of another memory size, in MiB."""

    def resize(slice_: JSON) -> None:
        for card in slice_["spec"]["devices"]:
            memory = card["capacity"]["memory"]
            memory["value"] = f"{mebibytes}Mi"
            if "requestPolicy" in memory:
                memory["requestPolicy"] |= {"default": f"{mebibytes}Mi"}
                memory["requestPolicy"]["validRange"] |= {"max": f"{mebibytes}Mi"}

    return _changed(objects, resize)


def on_node(objects: Objects, name: str) -> list[JSON]:
    """The same machine under another name, with card UUIDs of its own: for several nodes of one kind."""
    changed = deepcopy(list(objects))
    for obj in changed:
        if obj["kind"] == "Node":
            obj["metadata"]["name"] = name
            obj["metadata"]["labels"]["kubernetes.io/hostname"] = name
            obj["status"]["addresses"] = [{"type": "Hostname", "address": name}]
        elif obj["kind"] == "ResourceSlice":
            obj["metadata"]["name"] = f"{name}-{obj['spec']['driver']}"
            obj["spec"] |= {"nodeName": name, "pool": obj["spec"]["pool"] | {"name": name}}
            for card in obj["spec"]["devices"]:
                for attribute in ("uuid", "parentUUID"):
                    if attribute in card["attributes"]:
                        card["attributes"][attribute]["string"] += f"-{name}"
    return changed


def without_extended_resource(objects: Objects) -> list[JSON]:
    """DeviceClasses without ``extendedResourceName``: Kubernetes itself then makes no claims for ``nvidia.com/gpu``."""
    changed = deepcopy(list(objects))
    for obj in changed:
        if obj["kind"] == "DeviceClass":
            obj["spec"].pop("extendedResourceName", None)
    return changed


def _changed(objects: Objects, change: Callable[[JSON], None]) -> list[JSON]:
    changed = deepcopy(list(objects))
    for obj in changed:
        if obj["kind"] == "ResourceSlice":
            change(obj)
    return changed


class Hardware:
    """What machines the control plane sees now."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._loaded: dict[tuple[str, str], JSON] = {}

    @property
    def loaded(self) -> list[JSON]:
        """What is there now; give it to :meth:`use` to have it again."""
        return list(self._loaded.values())

    def use(self, *sets: str | Objects) -> None:
        """Have exactly these machines and classes: names of fixture files, or lists of objects. What is there stays."""
        objects: list[JSON] = [obj for one in sets for obj in (load(one) if isinstance(one, str) else one)]
        wanted = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
        for key in sorted(self._loaded, key=_position, reverse=True):
            if wanted.get(key) != self._loaded[key]:
                self._api.delete(*key)
                del self._loaded[key]
        for key in sorted(wanted, key=_position):
            if key not in self._loaded:
                self._api.create(wanted[key])
                if key[0] == "Node":  # admission taints every new node; here is no controller to lift that
                    self._api.patch(*key, {"spec": {"taints": None}})
                self._loaded[key] = wanted[key]

    def clear(self) -> None:
        """Take all machines and classes away."""
        self.use()


def _position(key: tuple[str, str]) -> tuple[int, str]:
    return _ORDER.index(key[0]), key[1]
