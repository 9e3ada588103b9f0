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
    def path(self) -> str:
        """Where it is, as people write it: ``spec.containers[0]``."""
        return f"spec.{self.group}[{self.index}]"

    @property
    def pointer(self) -> str:
        """Where it is, as a JSON pointer: ``/spec/containers/0``."""
        return f"/spec/{self.group}/{self.index}"

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
    in_container = f"in container {one.name}"
    if key not in one.limits:
        text = f"{key} is in requests but not in limits {in_container}: write it in limits"
        invalid.append(Note(Reason.INVALID_REQUEST, text, one.key_path(key, "requests")))
        return
    numbers = []
    for part, values in (("limits", one.limits), ("requests", one.requests)):
        if key not in values:
            continue
        read = quantity.shown(values[key])
        try:
            number = quantity.parse(values[key])
        except quantity.QuantityError:
            text = f"{key} is {read} {in_container}: not a number"
            invalid.append(Note(Reason.INVALID_REQUEST, text, one.key_path(key, part)))
            return
        if number.denominator != 1:
            text = f"{key} is {read} {in_container}: whole cards only, extended resources are integers"
            invalid.append(Note(Reason.WHOLE_CARDS_ONLY, text, one.key_path(key, part)))
            return
        if number < 0:
            text = f"{key} is {read} {in_container}: must not be negative"
            invalid.append(Note(Reason.INVALID_REQUEST, text, one.key_path(key, part)))
            return
        numbers.append(number.numerator)
    if len(set(numbers)) > 1:
        text = (
            f"{key} differs {in_container}: {quantity.shown(one.limits[key])} in limits, "
            f"{quantity.shown(one.requests[key])} in requests; write the same number"
        )
        invalid.append(Note(Reason.INVALID_REQUEST, text, one.key_path(key)))
    elif numbers[0] > quantity.INT64_MAX:
        text = f"{key} is {quantity.shown(one.limits[key])} {in_container}: more than 64 bits hold"
        too_large.append(Note(Reason.NUMBER_TOO_LARGE, text, one.key_path(key)))
    one.values[key] = numbers[0]
