"""Manifests for the tests of the preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.preview import Item, Preview, preview, read
from app.translate import Facts, Policy, TranslationSettings
from app.translate.facts import ASSUMED_CARD_SIZES_MIB

SHARE = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000}


def container(name: str = "main", limits: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A container; ``limits`` None = a share of a card."""
    return {"name": name, "image": "example.org/app:1", "resources": {"limits": dict(limits or SHARE)}, **more}


def template(*containers: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    """A pod template."""
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": list(containers or [container()])}}


def pod(name: str = "p", **more: Any) -> dict[str, Any]:
    """A Pod with a share of a card."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container()]},
        **more,
    }


def workload(kind: str = "Deployment", version: str = "apps/v1", **metadata: Any) -> dict[str, Any]:
    """A workload with its template in ``spec.template``."""
    meta = {"name": "w", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": {"template": template()}}


def shown(*texts: str | bytes, facts: Facts | None = None, **settings: Any) -> Preview:
    """The preview of texts, one source each, without facts of a cluster."""
    policy = Policy(TranslationSettings.model_validate(settings))
    known = facts or Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    return preview([read(text) for text in texts], known, policy)


def only(text: str | bytes, **settings: Any) -> Item:
    """The only item of a text."""
    items = shown(text, **settings).items
    assert len(items) == 1, [item.title for item in items]
    return items[0]
