"""Reads the ConfigMaps of HAMi's chart: the settings of its scheduler, and what nodes say otherwise.

Source: charts/hami of Project-HAMi/HAMi 2.10, ``scheduler/device-configmap.yaml`` and ``device-plugin/configmap.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from app.check.scan.hazard import Found, name_of
from app.translate.containers import items, mapping

JSON = Any

_CLUSTER_FILE: Final = "device-config.yaml"
_NODES_FILE: Final = "config.json"
_FILES: Final = (_CLUSTER_FILE, _NODES_FILE)
_NODE_KEYS: Final = {
    "devicememoryscaling": "deviceMemoryScaling",
    "devicecorescaling": "deviceCoreScaling",
    "devicesplitcount": "deviceSplitCount",
    "operatingmode": "operatingMode",
    "filterdevices": "filterDevices",
}
"""Key of a node's entry → the same setting as the scheduler's file spells it; a node's value wins there."""


@dataclass(frozen=True, slots=True)
class HamiSetting:
    """One value that HAMi was given."""

    place: str
    """The ConfigMap, or the node that has a value of its own."""
    name: str
    value: JSON

    def found(self, text: str = "") -> Found:
        """As a hazard shows it."""
        return Found(self.place, f"{self.name}: {text or self.value}")


def hami_settings(
    config_maps: Iterable[Mapping[str, JSON]], nodes: Iterable[Mapping[str, JSON]] | None
) -> list[HamiSetting]:
    """Every setting of the NVIDIA family; files that are no YAML hold none, and null sets nothing.

    Args:
        nodes: of the cluster, since the chart's default names a node that is somebody else's; None = take all.
    """
    known = None if nodes is None else {node["metadata"]["name"] for node in nodes}
    return [one for config_map in config_maps for one in _of(config_map, known)]


def unreadable(config_maps: Iterable[Mapping[str, JSON]]) -> Iterator[Found]:
    """Files of HAMi that are no YAML."""
    for config_map in config_maps:
        for file in _FILES:
            text = mapping(config_map.get("data")).get(file)
            if text is not None and _parse(text) is None:
                yield Found(_name(config_map), f"{file} is not YAML")


def _of(config_map: Mapping[str, JSON], known: set[str] | None) -> Iterator[HamiSetting]:
    data = mapping(config_map.get("data"))
    for name, value in mapping(mapping(_parse(data.get(_CLUSTER_FILE))).get("nvidia")).items():
        if value is not None:
            yield HamiSetting(_name(config_map), str(name), value)
    for node in items(mapping(_parse(data.get(_NODES_FILE))).get("nodeconfig")):
        name = str(mapping(node).get("name"))
        if known is None or name in known:
            for key, setting in _NODE_KEYS.items():
                if mapping(node).get(key) is not None:
                    yield HamiSetting(name_of("Node", name), setting, node[key])


def _parse(text: object) -> JSON:
    """What a file holds; JSON is YAML, too."""
    try:
        return yaml.safe_load(str(text or "")) or {}  # a file may hold comments only
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date that is none
        return None


def _name(config_map: Mapping[str, JSON]) -> str:
    metadata = mapping(config_map.get("metadata"))
    return name_of("ConfigMap", str(metadata.get("name")), str(metadata.get("namespace") or ""))
