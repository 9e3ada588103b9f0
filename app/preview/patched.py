"""Applies a patch to a pod that stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import jsonpatch


def patched(pod: Mapping[str, Any], patch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The patched pod. It shares with the pod whatever the patch does not reach, which is most of it."""
    changed = {**pod}
    own = {id(changed)}
    for operation in copy.deepcopy([*patch]):
        step = jsonpatch.JsonPatch([operation])
        _own(changed, jsonpatch.JsonPointer(operation["path"]).parts[:-1], own)
        step.apply(changed, in_place=True)
    return changed


def _own(value: Any, path: Sequence[str], own: set[int]) -> None:
    """Copies the collections on a path, unless they are copies already."""
    for part in path:
        at: Any = int(part) if isinstance(value, list) else part
        inner = value[at]
        if id(inner) not in own:
            inner = {**inner} if isinstance(inner, dict) else [*inner]
            own.add(id(inner))
            value[at] = inner
        value = inner
