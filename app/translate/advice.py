"""Warnings about what stays on the pod but no longer does what it did (S9, S54, S55, S70)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.translate import quantity
from app.translate.containers import Container, Shape, items, mapping
from app.translate.decision import Note
from app.translate.gates import IGNORE_LABEL, IGNORE_VALUE, required_terms
from app.translate.keys import near_miss
from app.translate.policy import Policy
from app.translate.reasons import Reason

POLICY_ANNOTATIONS = (
    "hami.io/gpu-scheduler-policy",
    "hami.io/node-scheduler-policy",
    "hami.io/device-scoring-weights",
)
SCHEDULER_OWNED = (
    "hami.io/vgpu-devices-to-allocate",
    "hami.io/vgpu-devices-allocated",
    "hami.io/vgpu-node",
    "hami.io/vgpu-time",
    "hami.io/bind-time",
    "hami.io/bind-phase",
    "hami.io/vgpu-mig-allocations",
)
KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_HARMLESS_VISIBLE = ("none", "void", "")
_DISABLE_CONTROL = "CUDA_DISABLE_CONTROL"
_MAX_NAMES = 100
"""Names that are compared, each some 100 us in which no other review is answered; real pods have a handful."""
_PRODUCT_LABEL = "nvidia.com/gpu.product"
_STRATEGY_LABEL = "nvidia.com/gpu.sharing-strategy"
_OPT_OUT_LIKE = frozenset({"ignore", "ignored", "disable", "disabled", "off", "false", "no", "skip", "true"})


def look_alikes(containers: Iterable[Container], policy: Policy) -> list[Note]:
    """A warning for each key that resembles a configured one (S9), among the first :data:`_MAX_NAMES` other names."""
    warnings = []
    names: set[str] = set()
    for one, _ in containers:
        for key in {**one.limits, **one.requests}:
            if key in one.keys or (key not in names and len(names) == _MAX_NAMES):
                continue
            names.add(key)
            meant = near_miss(policy, key)
            if meant is not None:
                reason = Reason.MIG_NAME if "<" in meant else Reason.NEAR_MISS
                text = f"{quantity.shown(key)} is not converted and stays: did you mean {meant}?"
                warnings.append(Note(reason, text, one.key_path(key, "limits" if key in one.limits else "requests")))
    return warnings


def about_annotations(annotations: Mapping[str, Any]) -> list[Note]:
    """Policies without a form in DRA, and annotations of the old scheduler (S54, S55)."""
    warnings = []
    for name in POLICY_ANNOTATIONS:
        if name in annotations:
            text = f"{name}: {quantity.shown(annotations[name])} has no effect with DRA"
            warnings.append(Note(Reason.WITHOUT_EFFECT, text, f'metadata.annotations["{name}"]'))
    for name in SCHEDULER_OWNED:
        if name in annotations:
            text = f"{name} belongs to the old scheduler and is ignored"
            warnings.append(Note(Reason.SCHEDULER_OWNED, text, f'metadata.annotations["{name}"]'))
    return warnings


def about_pod(pod: Mapping[str, Any], containers: Sequence[Container], policy: Policy) -> list[Note]:
    """Environment, selectors and labels whose effect changes (S70)."""
    metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
    labels = mapping(metadata.get("labels"))
    warnings = [note for one, raw in containers for note in _about_environment(one, raw)]
    warnings += _about_selectors(pod, spec)
    if KUEUE_LABEL in labels:
        text = f"{KUEUE_LABEL}: kueue counts the workload's keys, not the claims of its pods"
        warnings.append(Note(Reason.KUEUE, text, f'metadata.labels["{KUEUE_LABEL}"]'))
    opt_in = policy.settings.opt_in
    for place, values in (("labels", labels), ("annotations", mapping(metadata.get("annotations")))):
        for name, right in ((IGNORE_LABEL, IGNORE_VALUE), (opt_in.label, opt_in.opt_out_value)):
            value = values.get(name)
            if isinstance(value, str) and (value.strip().lower() in _OPT_OUT_LIKE):
                # The exact label would have kept us away, so this one is misspelt or in the wrong place.
                text = f"{name}: {quantity.shown(value)} is no opt-out; write the label {name}: {right}"
                warnings.append(Note(Reason.MISSPELT_OPT_OUT, text, f'metadata.{place}["{name}"]'))
    return warnings


def shows_cards(variable: Mapping[str, Any]) -> bool:
    """Whether a variable may have the NVIDIA runtime show cards beyond the claim."""
    # API servers leave an empty value out.
    elsewhere, value = variable.get("valueFrom") is not None, variable.get("value") or ""
    return variable.get("name") == VISIBLE_DEVICES and (elsewhere or value not in _HARMLESS_VISIBLE)


def _about_environment(one: Shape, raw: Mapping[str, Any]) -> list[Note]:
    warnings = []
    for index, entry in enumerate(items(raw.get("env"))):
        path = f"{one.path}.env[{index}]"
        if shows_cards(mapping(entry)):
            text = f"{VISIBLE_DEVICES} is kept and may show cards beyond the claim (container {one.name})"
            warnings.append(Note(Reason.VISIBLE_DEVICES, text, path))
        elif mapping(entry).get("name") == _DISABLE_CONTROL:
            text = f"{_DISABLE_CONTROL} is kept; the driver decides whether it works (container {one.name})"
            warnings.append(Note(Reason.DISABLE_CONTROL, text, path))
    return warnings


def _about_selectors(pod: Mapping[str, Any], spec: Mapping[str, Any]) -> list[Note]:
    if not spec.get("nodeSelector") and not spec.get("affinity"):
        return []
    asked: list[tuple[str, Any, str]] = [
        (key, value, f'spec.nodeSelector["{key}"]') for key, value in mapping(spec.get("nodeSelector")).items()
    ]
    for index, term in enumerate(required_terms(pod)):
        for expression in items(mapping(term).get("matchExpressions")):
            one = mapping(expression)
            if one.get("operator") == "In":
                path = f"spec.affinity.nodeAffinity…nodeSelectorTerms[{index}]"
                asked += [(str(one.get("key")), value, path) for value in items(one.get("values"))]
    warnings = []
    for key, value, path in asked:
        text = str(value)
        sliced = key == _PRODUCT_LABEL and ("-MIG-" in text or text.endswith("-SHARED"))
        if sliced or (key == _STRATEGY_LABEL and text != "none"):
            message = f"{key}: {quantity.shown(text)} names a MIG, shared or time-sliced product; DRA nodes may lack it"
            warnings.append(Note(Reason.PRODUCT_SELECTOR, message, path))
    return warnings
