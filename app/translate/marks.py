"""What a converted pod carries: label, recorded originals, warnings; and how they are read back (S66)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.translate import quantity
from app.translate.containers import Shape, items, mapping
from app.translate.decision import CONVERTED_LABEL, ORIGINALS_ANNOTATION, WARNINGS_ANNOTATION, Note
from app.translate.memory import remembered
from app.translate.patch import Patch

_ENCODE = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode
"""Made once: building an encoder costs more than using it."""
Keys = Mapping[str, str]
"""Legacy keys of one container and their values, as canonical quantities."""


@dataclass(frozen=True, slots=True)
class Originals:
    """The content of the annotation ``hami.io/dra-original-resources``."""

    containers: Mapping[str, Keys] = field(default_factory=dict)
    """Removed keys by container name."""
    added_by_others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of them that the user did not write (a LimitRange default, another webhook)."""

    def with_more(self, containers: Mapping[str, Keys], added: Mapping[str, tuple[str, ...]]) -> Originals:
        """These originals plus those of containers converted in a later round."""
        return Originals({**self.containers, **containers}, {**self.added_by_others, **added})

    def text(self) -> str:
        """The annotation's value."""
        content: dict[str, Any] = {"containers": self.containers}
        if self.added_by_others:
            content["addedByOthers"] = self.added_by_others
        return _ENCODE(content)


def read_originals(pod: Mapping[str, Any]) -> Originals | None:
    """The recorded originals of a pod; None when it has none, or a text that we did not write."""
    text = mapping(mapping(pod.get("metadata")).get("annotations")).get(ORIGINALS_ANNOTATION)
    if not isinstance(text, str):
        return None
    try:
        content = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return None
    recorded = mapping(mapping(content).get("containers"))
    added = mapping(mapping(content).get("addedByOthers"))
    return Originals(
        {
            name: {key: value for key, value in keys.items() if isinstance(value, str) and _is_number(value)}
            for name, keys in recorded.items()
            if isinstance(keys, dict)
        },
        {name: tuple(k for k in keys if isinstance(k, str)) for name, keys in added.items() if isinstance(keys, list)},
    )


def _is_number(text: str) -> bool:
    """Whether a recorded value can be ours: anybody may write the annotation."""
    try:
        number = quantity.integer(text)
    except quantity.QuantityError:
        return False
    return number is not None and number >= 0


@remembered()
def record(one: Shape, keys: tuple[str, ...]) -> Keys:
    """The keys of a container as they are recorded."""
    return {key: quantity.canonical(one.limits[key]) for key in sorted(keys)}


def added_by_others(pod: Mapping[str, Any], one: Shape, keys: Iterable[str]) -> tuple[str, ...]:
    """Keys that no field manager owns; none of them when the pod carries no managedFields.

    managedFields are computed before admission, so what LimitRanger or another webhook added is missing there.
    """
    managers = items(mapping(pod.get("metadata")).get("managedFields"))
    if not managers:
        return ()
    group, name = f"f:{one.group}", f'k:{{"name":"{one.name}"}}'
    owners: list[Mapping[str, Any]] = []
    for manager in managers:
        fields = mapping(mapping(mapping(manager).get("fieldsV1")).get("f:spec"))
        resources = mapping(mapping(mapping(fields.get(group)).get(name)).get("f:resources"))
        owners += [mapping(resources.get("f:limits")), mapping(resources.get("f:requests"))]
    return tuple(key for key in sorted(keys) if not any(f"f:{key}" in owned for owned in owners))


def mark(pod: Mapping[str, Any], patch: Patch, originals: Originals, warnings: Iterable[Note], *, label: bool) -> None:
    """Adds label and annotations to the patch.

    Args:
        label: False for pods of which nothing but the scheduler changed; they are no converted pods.
    """
    metadata = pod.get("metadata")
    present = mapping(metadata)
    annotations = {ORIGINALS_ANNOTATION: originals.text()}
    words = {note.reason.value for note in warnings}
    if words:
        earlier = mapping(present.get("annotations")).get(WARNINGS_ANNOTATION)
        if isinstance(earlier, str) and earlier:
            words.update(earlier.split(","))
        annotations[WARNINGS_ANNOTATION] = ",".join(sorted(words))
    labels = {CONVERTED_LABEL: "true"} if label else {}
    if metadata is None:
        patch.add(("metadata",), {"labels": labels, "annotations": annotations})
        return
    if labels:
        patch.update(("metadata", "labels"), present.get("labels"), labels)
    patch.update(("metadata", "annotations"), present.get("annotations"), annotations)
