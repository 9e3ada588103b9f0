"""What may be added to pods that get devices: environment, runtime class, tolerations (S35, S68)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.translate.advice import VISIBLE_DEVICES
from app.translate.containers import Container, Shape, items, mapping
from app.translate.decision import Change
from app.translate.patch import Patch
from app.translate.policy import Policy

PRIORITY_VARIABLE = "CUDA_TASK_PRIORITY"
_CORE_POLICY = "GPU_CORE_UTILIZATION_POLICY"


def add_environment(
    patch: Patch,
    containers: Sequence[Container],
    priorities: Mapping[int, int],
    with_devices: Collection[str],
    policy: Policy,
) -> list[Change]:
    """Appends variables; a user's own value wins, except for the priority, which legacy appended last too (S35).

    Args:
        priorities: by position in ``containers``.
        with_devices: names of the containers that get devices.
    """
    options = policy.settings.options
    changes = []
    for position, (one, raw) in enumerate(containers):
        entries = [mapping(entry) for entry in items(raw.get("env"))]
        values = {entry["name"]: entry.get("value") for entry in entries if isinstance(entry.get("name"), str)}
        extra: dict[str, str] = {}
        if position in priorities and values.get(PRIORITY_VARIABLE) != str(priorities[position]):
            extra[PRIORITY_VARIABLE] = str(priorities[position])
        if one.name in with_devices:
            if options.gpu_core_policy is not None and _CORE_POLICY not in values:
                extra[_CORE_POLICY] = options.gpu_core_policy
                changes.append(_added(one, _CORE_POLICY, options.gpu_core_policy, "options.gpuCorePolicy"))
            if options.visible_devices is not None and VISIBLE_DEVICES not in values:
                extra[VISIBLE_DEVICES] = options.visible_devices
                changes.append(_added(one, VISIBLE_DEVICES, options.visible_devices, "options.visibleDevices"))
        elif options.hide_from_others and VISIBLE_DEVICES not in values:
            extra[VISIBLE_DEVICES] = "none"
            changes.append(_added(one, VISIBLE_DEVICES, "none", "options.hideFromOthers"))
        path = ("spec", one.group, one.index, "env")
        patch.append(path, raw.get("env"), [{"name": name, "value": value} for name, value in extra.items()])
    return changes


def _added(one: Shape, variable: str, value: str, setting: str) -> Change:
    return Change("S68", {}, (f"env {variable}={value}",), setting, one.name, one.role)


def add_to_spec(patch: Patch, spec: Mapping[str, Any], policy: Policy) -> list[Change]:
    """Sets the runtime class where there is none, and adds tolerations that are not there (S68)."""
    options = policy.settings.options
    changes = []
    if options.runtime_class_name is not None and not spec.get("runtimeClassName"):
        patch.add(("spec", "runtimeClassName"), options.runtime_class_name)
        becomes = (f"runtimeClassName: {options.runtime_class_name}",)
        changes.append(Change("S68", {}, becomes, "options.runtimeClassName"))
    present = items(spec.get("tolerations"))
    missing = [t for t in option_tolerations(policy) if t not in present]
    if missing:
        patch.append(("spec", "tolerations"), present, missing)
        changes.append(Change("S68", {}, (f"tolerations: {len(missing)} more",), "options.tolerations"))
    return changes


def option_tolerations(policy: Policy) -> list[dict[str, Any]]:
    """The tolerations of the options as a pod spells them."""
    return [t.model_dump(by_alias=True, exclude_none=True) for t in policy.settings.options.tolerations]
