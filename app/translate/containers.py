"""Reads the containers of a pod: which legacy keys they hold, and whether the API server would take them (S1, S6).

A pod stays the mapping that came in. Everything here tolerates any JSON in any place: what is not a
container, a map or a number is either passed over or reported, never raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.translate import quantity
from app.translate.decision import Note, Role
from app.translate.keys import Match, classify
from app.translate.policy import Policy
from app.translate.reasons import Reason

EMPTY: Mapping[str, Any] = {}


@dataclass(slots=True)
class Container:
    """One container or init container and its legacy keys."""

    name: str
    role: Role
    group: str
    """``containers`` or ``initContainers``."""
    index: int
    raw: Mapping[str, Any]
    limits: Mapping[str, Any]
    requests: Mapping[str, Any]
    keys: dict[str, Match] = field(default_factory=dict)
    """Configured names in limits or requests."""
    values: dict[str, int] = field(default_factory=dict)
    """Their values; filled by :func:`check`."""

    @property
    def parts(self) -> tuple[tuple[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]:
        """Limits and requests with their names."""
        return ("limits", self.limits), ("requests", self.requests)

    @property
    def path(self) -> str:
        """Where it is, as people write it: ``spec.containers[0]``."""
        return f"spec.{self.group}[{self.index}]"

    def key_path(self, key: str, part: str = "limits") -> str:
        """Where one key is: ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
        return f'{self.path}.resources.{part}["{key}"]'


def mapping(value: object) -> Mapping[str, Any]:
    """The value when it is a mapping, else an empty one (``null`` and wrong types are the API server's to refuse)."""
    return value if isinstance(value, dict) else EMPTY


def items(value: object) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_containers(spec: Mapping[str, Any], policy: Policy) -> list[Container]:
    """All containers in the order in which they start: init containers and sidecars, then containers."""
    found: list[Container] = []
    for group in ("initContainers", "containers"):
        for index, raw in enumerate(items(spec.get(group))):
            if not isinstance(raw, dict):
                continue
            resources = mapping(raw.get("resources"))
            limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
            if group == "containers":
                role = Role.CONTAINER
            else:
                role = Role.SIDECAR if raw.get("restartPolicy") == "Always" else Role.INIT
            name = raw.get("name")
            one = Container(name if isinstance(name, str) else "", role, group, index, raw, limits, requests)
            for key in limits:
                match = classify(policy, key)
                if match is not None:
                    one.keys[key] = match
            for key in requests:
                match = None if key in limits else classify(policy, key)
                if match is not None:
                    one.keys[key] = match
            found.append(one)
    return found


def malformed(pod: Mapping[str, Any], containers: list[Container]) -> list[Note]:
    """Places that a patch may add to and that hold a list instead of a map, or the other way round (S6).

    ``null`` is fine everywhere; anything else is refused by the API server's decoder.
    """
    metadata, spec = pod.get("metadata"), mapping(pod.get("spec"))
    maps = [("metadata", metadata), ("spec.affinity", spec.get("affinity"))]
    maps += [(f"metadata.{name}", mapping(metadata).get(name)) for name in ("labels", "annotations")]
    lists = [(f"spec.{name}", spec.get(name)) for name in ("resourceClaims", "tolerations")]
    for one in containers:
        lists.append((f"{one.path}.env", one.raw.get("env")))
        lists.append((f"{one.path}.resources.claims", mapping(one.raw.get("resources")).get("claims")))
    wrong = [(where, value, "map") for where, value in maps if value is not None and not isinstance(value, dict)]
    wrong += [(where, value, "list") for where, value in lists if value is not None and not isinstance(value, list)]
    return [
        Note(Reason.INVALID_REQUEST, f"{where} is {quantity.shown(value)}: must be a {kind}", where)
        for where, value, kind in wrong
    ]


def check(containers: list[Container]) -> tuple[list[Note], list[Note]]:
    """Fills in the values, and finds what the API server refuses once it validates (S6) or what no number holds (S11).

    Returns:
        Problems that leave the whole pod to the API server's own message, and problems that deny it.
    """
    invalid: list[Note] = []
    too_large: list[Note] = []
    names: set[str] = set()
    for one in containers:
        if one.keys and (not one.name or one.name in names):
            text = f"container name {quantity.shown(one.name)} is used twice" if one.name else "a container has no name"
            invalid.append(Note(Reason.INVALID_REQUEST, text, f"{one.path}.name"))
        names.add(one.name)
        for key in one.keys:
            _check_key(one, key, invalid, too_large)
    return invalid, too_large


def _check_key(one: Container, key: str, invalid: list[Note], too_large: list[Note]) -> None:
    if key not in one.limits:
        text = f"{key} is in requests but not in limits in container {one.name}: write it in limits"
        invalid.append(Note(Reason.INVALID_REQUEST, text, one.key_path(key, "requests")))
        return
    problem, number = _read(one, key, "limits", one.limits[key])
    if problem is None and key in one.requests:
        problem, requested = _read(one, key, "requests", one.requests[key])
        if problem is None and requested != number:
            text = (
                f"{key} differs in container {one.name}: {quantity.shown(one.limits[key])} in limits, "
                f"{quantity.shown(one.requests[key])} in requests; write the same number"
            )
            problem = Note(Reason.INVALID_REQUEST, text, one.key_path(key))
    if problem is not None:
        invalid.append(problem)
        return
    if number > quantity.INT64_MAX:
        text = f"{key} is {quantity.shown(one.limits[key])} in container {one.name}: more than 64 bits hold"
        too_large.append(Note(Reason.NUMBER_TOO_LARGE, text, one.key_path(key)))
    one.values[key] = number


def _read(one: Container, key: str, part: str, value: object) -> tuple[Note | None, int]:
    """The number, or why the API server refuses it."""
    reason = Reason.INVALID_REQUEST
    try:
        number = quantity.integer(value)
    except quantity.QuantityError:
        why = "not a number"
    else:
        if number is not None and number >= 0:
            return None, number
        why = "must not be negative"
        if number is None:
            reason, why = Reason.WHOLE_CARDS_ONLY, "whole cards only, extended resources are integers"
    text = f"{key} is {quantity.shown(value)} in container {one.name}: {why}"
    return Note(reason, text, one.key_path(key, part)), 0
