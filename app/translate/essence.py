"""The part of a pod that a decision may depend on (see docs/decisions/0006).

Replicas of a workload differ in names, volumes and labels that no rule reads. Deciding on the rest alone makes two
things certain: equal essences have equal decisions, so a decision can be remembered; and no rule can read anything
that is not listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.translate import advice, gates
from app.translate.containers import GROUPS, items, mapping
from app.translate.decision import CONVERTED_LABEL, ORIGINALS_ANNOTATION, WARNINGS_ANNOTATION
from app.translate.policy import Policy
from app.translate.selection import ANNOTATIONS

_SPEC = (
    "schedulerName", "nodeName", "affinity", "nodeSelector", "resourceClaims", "tolerations", "runtimeClassName",
    "resources",
)  # fmt: skip
_CONTAINER = ("name", "restartPolicy", "resources", "env")
_LABELS = (gates.IGNORE_LABEL, CONVERTED_LABEL, advice.KUEUE_LABEL)
_ANNOTATIONS = (
    *ANNOTATIONS,
    *advice.POLICY_ANNOTATIONS,
    *advice.SCHEDULER_OWNED,
    gates.MIRROR_ANNOTATION,
    gates.IGNORE_LABEL,
    ORIGINALS_ANNOTATION,
    WARNINGS_ANNOTATION,
)


def essence(pod: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """A pod with only what rules read, in the same places; wrongly typed parts stay as they are."""
    spec = mapping(pod.get("spec"))
    reduced: dict[str, Any] = {name: spec[name] for name in _SPEC if name in spec}
    for group in GROUPS:
        if group in spec:
            reduced[group] = spec[group]
            if isinstance(spec[group], list):
                reduced[group] = [_container(raw) if isinstance(raw, dict) else raw for raw in spec[group]]
    result: dict[str, Any] = {"spec": reduced}
    metadata = pod.get("metadata")
    if isinstance(metadata, dict):
        own = policy.settings.opt_in.label
        result["metadata"] = {
            "labels": _pick(metadata.get("labels"), (*_LABELS, own)),
            "annotations": _pick(metadata.get("annotations"), (*_ANNOTATIONS, own)),
            "managedFields": [_manager(one, reduced) for one in items(metadata.get("managedFields"))],
        }
    elif metadata is not None:
        result["metadata"] = metadata
    return result


def _container(raw: Mapping[str, Any]) -> dict[str, Any]:
    reduced = {name: raw[name] for name in _CONTAINER if name in raw}
    if mapping(raw.get("securityContext")).get("privileged") is True:
        reduced["securityContext"] = {"privileged": True}
    return reduced


def _pick(values: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(values, dict):
        return values
    # Values that are no text too: the API server refuses them, whatever their name (S6).
    return {name: value for name, value in values.items() if name in names or not isinstance(value, str | None)}


def _manager(one: Any, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A field manager with what it owns of the containers' resources."""
    fields = mapping(mapping(mapping(one).get("fieldsV1")).get("f:spec"))
    owned: dict[str, Any] = {}
    for group in GROUPS:
        containers = mapping(fields.get(f"f:{group}"))
        keys = [f'k:{{"name":"{mapping(raw).get("name")}"}}' for raw in items(spec.get(group))] if containers else []
        owned[f"f:{group}"] = {
            key: {"f:resources": mapping(containers.get(key)).get("f:resources")} for key in keys if key in containers
        }
    return {"fieldsV1": {"f:spec": owned}}
