"""What may be added to pods that get devices: environment, runtime class, tolerations (S35, S68)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.translate.advice import VISIBLE_DEVICES
from app.translate.containers import Container, items, mapping
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
) -> None:
    """Appends variables; a user's own value wins, except for the priority, which legacy appended last too (S35).

    Args:
        priorities: by position in ``containers``.
        with_devices: names of the containers that get devices.
    """
    options = policy.settings.options
    for position, (one, raw) in enumerate(containers):
        values = {mapping(e).get("name"): mapping(e).get("value") for e in items(raw.get("env"))}
        extra: dict[str, str] = {}
        if position in priorities and values.get(PRIORITY_VARIABLE) != str(priorities[position]):
            extra[PRIORITY_VARIABLE] = str(priorities[position])
        if one.name in with_devices:
            if options.gpu_core_policy is not None and _CORE_POLICY not in values:
                extra[_CORE_POLICY] = options.gpu_core_policy
            if options.visible_devices is not None and VISIBLE_DEVICES not in values:
                extra[VISIBLE_DEVICES] = options.visible_devices
        elif options.hide_from_others and VISIBLE_DEVICES not in values:
            extra[VISIBLE_DEVICES] = "none"
        path = ("spec", one.group, one.index, "env")
        patch.append(path, raw.get("env"), [{"name": name, "value": value} for name, value in extra.items()])


def add_to_spec(patch: Patch, spec: Mapping[str, Any], policy: Policy) -> None:
    """Sets the runtime class where there is none, and adds tolerations that are not there (S68)."""
    options = policy.settings.options
    if options.runtime_class_name is not None and not spec.get("runtimeClassName"):
        patch.add(("spec", "runtimeClassName"), options.runtime_class_name)
    present = items(spec.get("tolerations"))
    patch.append(("spec", "tolerations"), present, [t for t in option_tolerations(policy) if t not in present])


def option_tolerations(policy: Policy) -> list[dict[str, Any]]:
    """The tolerations of the options as a pod spells them."""
    return [t.model_dump(by_alias=True, exclude_none=True) for t in policy.settings.options.tolerations]
