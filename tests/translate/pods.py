"""Builders for the pods of these tests, and what the result of a translation looks like to a user."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonpatch
import yaml

from app.translate import Decision, Facts, Policy, TranslationSettings, facts_from_objects, translate

FIXTURES = Path(__file__).parent.parent / "cluster" / "fixtures"
GPU, MEM, PCT, CORES, PRIO = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "nvidia.com/priority",
)
HAMI = "hami-core-gpu.project-hami.io"
NVIDIA = "gpu.nvidia.com"
KNOWS_NOTHING = Facts()


def container(name: str = "main", limits: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    resources = {} if limits is None else {"resources": {"limits": dict(limits)}}
    return {"name": name, "image": "example.org/app:1", **resources, **more}


def pod(*containers: dict[str, Any], annotations: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A pod of these containers; keyword arguments go to ``metadata`` (labels) and ``spec`` (the rest)."""
    metadata: dict[str, Any] = {"name": "p", "namespace": "team"}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if "labels" in more:
        metadata["labels"] = more.pop("labels")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": list(containers), **more}}


def asking(limits: Mapping[str, Any], annotations: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A pod whose only container has these limits."""
    return pod(container(limits=limits), annotations=annotations, **more)


def policy(**settings: Any) -> Policy:
    """A policy from settings as a file spells them."""
    return Policy(TranslationSettings.model_validate(settings))


DEFAULTS = policy()


def decide(
    manifest: Mapping[str, Any], facts: Facts = KNOWS_NOTHING, policy: Policy = DEFAULTS, **more: Any
) -> Decision:
    """Translates, and checks on the way what must hold for every pod: input unchanged, patch applies, idempotent."""
    before = copy.deepcopy(manifest)
    decision = translate(manifest, facts, policy, **more)
    assert manifest == before
    if decision.patch:
        again = translate(admitted(manifest, decision), facts, policy)
        assert again.patch == ()
        assert again.outcome == "untouched"
    assert all(len(note.message) <= 120 and note.message.isprintable() for note in decision.warnings)
    return decision


def admitted(manifest: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
    """The pod as the API server stores it."""
    result: dict[str, Any] = jsonpatch.apply_patch(manifest, list(decision.patch))
    return result


def only_request(decision: Decision) -> dict[str, Any]:
    """The one request of the one template."""
    assert len(decision.templates) == 1
    requests = decision.templates[0].spec["devices"]["requests"]
    assert len(requests) == 1
    request: dict[str, Any] = requests[0]
    return request


def exactly(decision: Decision) -> dict[str, Any]:
    """The ``exactly`` part of the one request."""
    result: dict[str, Any] = only_request(decision)["exactly"]
    return result


def capacity(decision: Decision) -> dict[str, str]:
    """The capacity requests of the one request."""
    result: dict[str, str] = exactly(decision).get("capacity", {}).get("requests", {})
    return result


def warned(decision: Decision) -> set[str]:
    return {note.reason.value for note in decision.warnings}


def why(decision: Decision) -> set[str]:
    return {note.reason.value for note in decision.reasons}


def message(decision: Decision) -> str:
    return "; ".join(note.message for note in decision.reasons)


def objects(*names: str) -> list[dict[str, Any]]:
    """The objects of fixture files."""
    return [o for name in names for o in yaml.safe_load_all((FIXTURES / f"{name}.yaml").read_text()) if o]


@functools.cache
def cluster(*names: str, version: tuple[int, int] = (1, 36), dropped: tuple[str, ...] = ()) -> Facts:
    """Facts of a cluster that is made of these fixture files."""
    return facts_from_objects(objects(*names), server_version=version, dropped_fields=dropped)
