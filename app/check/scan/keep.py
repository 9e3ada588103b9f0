"""What is kept of each object that belongs to the cluster or to its devices; lists give half a megabyte a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from app.translate.containers import items, mapping

JSON = Any

CORDON_ANNOTATION: Final = "hami.io/device-cordon"
"""HAMi hides the cards from new pods whose UUIDs it lists (pkg/util/types.go)."""
_WEBHOOK_FIELDS: Final = ("name", "rules", "namespaceSelector", "reinvocationPolicy", "clientConfig")


def namespace(obj: Mapping[str, JSON]) -> JSON:
    """Name and labels."""
    return {"name": obj["metadata"]["name"], "labels": mapping(obj["metadata"].get("labels"))}


def node(obj: Mapping[str, JSON]) -> JSON:
    """Name, labels, taints, HAMi's cordon and extended resources: no images, no volumes, no conditions."""
    allocatable = mapping(mapping(obj.get("status")).get("allocatable"))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": obj["metadata"]["name"],
            "labels": mapping(obj["metadata"].get("labels")),
            "annotations": _pick(mapping(obj["metadata"].get("annotations")), (CORDON_ANNOTATION,)),
        },
        "spec": _pick(mapping(obj.get("spec")), ("taints", "unschedulable")),
        "status": {"allocatable": {name: value for name, value in allocatable.items() if "/" in name}},
    }


def named_spec(obj: Mapping[str, JSON]) -> JSON:
    """Kind, name and spec; managed fields are half of a slice."""
    return _bare(obj) | {"spec": mapping(obj.get("spec"))}


def claim(obj: Mapping[str, JSON]) -> JSON:
    """A claim with its allocation; None for one that holds no device."""
    allocation = mapping(obj.get("status")).get("allocation")
    return _bare(obj) | {"spec": mapping(obj.get("spec")), "status": {"allocation": allocation}} if allocation else None


def webhooks(obj: Mapping[str, JSON]) -> JSON:
    """The webhooks of a configuration without their certificates."""
    kept = [_pick(mapping(one), _WEBHOOK_FIELDS) for one in items(obj.get("webhooks"))]
    for one in kept:
        one["clientConfig"] = {"service": mapping(one.get("clientConfig")).get("service")}
    return _bare(obj) | {"webhooks": kept}


def config_map(obj: Mapping[str, JSON]) -> JSON:
    """Name and texts."""
    return _bare(obj) | {"data": mapping(obj.get("data"))}


def _bare(obj: Mapping[str, JSON]) -> dict[str, JSON]:
    metadata = _pick(mapping(obj.get("metadata")), ("name", "namespace"))
    return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": metadata}


def _pick(values: Mapping[str, JSON], names: tuple[str, ...]) -> dict[str, JSON]:
    return {name: values[name] for name in names if name in values}
