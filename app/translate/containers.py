"""Reads the containers of a pod: which legacy keys they hold, and whether the API server would take them (S1, S6).

A pod stays the mapping that came in. Everything here tolerates any JSON in any place: what is not a
container, a map or a number is either passed over or reported, never raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from app.translate import quantity
from app.translate.decision import Note, Role
from app.translate.keys import Match, classify
from app.translate.memory import remembered
from app.translate.policy import Policy
from app.translate.reasons import Reason

EMPTY: Mapping[str, Any] = {}
GROUPS = ("initContainers", "containers")
"""Lists of containers in a pod, in the order in which their containers start."""
Quantities = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What one container asks for, and where: all that repeats from pod to pod, so it is read once and shared.

    Compared by identity, to key caches.
    """

    name: str
    role: Role
    group: str
    """``containers`` or ``initContainers``."""
    index: int
    limits: Mapping[str, Any]
    requests: Mapping[str, Any]
    keys: Mapping[str, Match]
    """Configured names in limits or requests."""
    values: Mapping[str, int]
    """Their numbers, as far as the API server would take them."""
    invalid: tuple[Note, ...]
    """What the API server refuses once it validates (S6)."""
    too_large: tuple[Note, ...]
    """Numbers that 64 bits do not hold (S11)."""

    @property
    def parts(self) -> tuple[tuple[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]:
        """Limits and requests with their names."""
        return ("limits", self.limits), ("requests", self.requests)

    def written(self, key: str) -> Any:
        """The value of a key as it is written; what comes back into a converted container may be a request only."""
        return self.limits[key] if key in self.limits else self.requests[key]

    @property
    def path(self) -> str:
        """Where it is, as people write it: ``spec.containers[0]``."""
        return f"spec.{self.group}[{self.index}]"

    def key_path(self, key: str, part: str = "limits") -> str:
        """Where one key is: ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
        return f'{self.path}.resources.{part}["{key}"]'


class Container(NamedTuple):
    """One container or init container of a pod."""

    shape: Shape
    raw: Mapping[str, Any]


def mapping(value: object) -> Mapping[str, Any]:
    """The value when it is a mapping, else an empty one (``null`` and wrong types are the API server's to refuse)."""
    return value if isinstance(value, dict) else EMPTY


def items(value: object) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_containers(spec: Mapping[str, Any], policy: Policy) -> list[Container]:
    """All containers in the order in which they start: init containers and sidecars, then containers."""
    found: list[Container] = []
    for group in GROUPS:
        for index, raw in enumerate(items(spec.get(group))):
            if isinstance(raw, dict):
                role = Role.CONTAINER
                if group == "initContainers":
                    role = Role.SIDECAR if raw.get("restartPolicy") == "Always" else Role.INIT
                resources = mapping(raw.get("resources"))
                limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
                found.append(Container(shape_of(policy, group, index, role, raw.get("name"), limits, requests), raw))
    return found


def shape_of(
    policy: Policy,
    group: str,
    index: int,
    role: Role,
    name: object,
    limits: Mapping[str, Any],
    requests: Mapping[str, Any],
) -> Shape:
    """The shape of one container."""
    arguments = (policy, group, index, role, name if isinstance(name, str) else "")
    # Reviews hold text only. Other values are not kept: as keys of a cache True is 1, and a list is none.
    if all(type(value) is str for value in limits.values()) and all(type(value) is str for value in requests.values()):
        return _shape(*arguments, tuple(limits.items()), tuple(requests.items()))
    return _shape.__wrapped__(*arguments, tuple(limits.items()), tuple(requests.items()))


@remembered()
def _shape(
    policy: Policy, group: str, index: int, role: Role, name: str, limits: Quantities, requests: Quantities
) -> Shape:
    asked = {**dict(limits), **dict(requests)}
    keys = {key: match for key in asked if (match := classify(policy, key)) is not None}
    values: dict[str, int] = {}
    invalid: list[Note] = []
    too_large: list[Note] = []
    shape = Shape(name, role, group, index, dict(limits), dict(requests), keys, values, (), ())
    for key in keys:
        number, problem = _read_key(shape, key)
        if problem is not None:
            (too_large if problem.reason is Reason.NUMBER_TOO_LARGE else invalid).append(problem)
        values[key] = number
    return replace(shape, invalid=tuple(invalid), too_large=tuple(too_large))


def malformed(pod: Mapping[str, Any], containers: list[Container]) -> list[Note]:
    """Places that rules read or a patch changes, and that hold another type than they must (S6).

    ``null`` is fine everywhere; anything else is refused by the API server's decoder.
    """
    metadata, spec = pod.get("metadata"), mapping(pod.get("spec"))
    maps = [("metadata", metadata), ("spec.affinity", spec.get("affinity"))]
    maps += [(f"metadata.{name}", mapping(metadata).get(name)) for name in ("labels", "annotations")]
    lists = [(f"spec.{name}", spec.get(name)) for name in ("resourceClaims", "tolerations", *GROUPS)]
    for group in GROUPS:
        maps += [(f"spec.{group}[{index}]", raw) for index, raw in enumerate(items(spec.get(group)))]
    for shape, raw in containers:
        resources = raw.get("resources")
        lists.append((f"{shape.path}.env", raw.get("env")))
        lists.append((f"{shape.path}.resources.claims", mapping(resources).get("claims")))
        maps.append((f"{shape.path}.resources", resources))
        maps += [(f"{shape.path}.resources.{part}", mapping(resources).get(part)) for part in ("limits", "requests")]
    texts = [
        (f'metadata.{name}["{key}"]', value)
        for name in ("labels", "annotations")
        for key, value in mapping(mapping(metadata).get(name)).items()
    ]
    wrong = [(where, value, "a map") for where, value in maps if value is not None and not isinstance(value, dict)]
    wrong += [(where, value, "a list") for where, value in lists if value is not None and not isinstance(value, list)]
    wrong += [(where, value, "text, in quotes") for where, value in texts if not isinstance(value, str | None)]
    return [
        Note(Reason.INVALID_REQUEST, f"{where} is {_as_json(value)}: must be {kind}", where)
        for where, value, kind in wrong
    ]


def _as_json(value: object) -> str:
    """A value as manifests spell it: ``true``, not ``True``."""
    return str(value).lower() if isinstance(value, bool) else quantity.shown(value)


def pod_level(spec: Mapping[str, Any], policy: Policy) -> list[Note]:
    """Keys in the resources of the pod itself: the API server takes cpu, memory and hugepages there (S6)."""
    return [
        Note(
            Reason.INVALID_REQUEST,
            f"{key} is no resource of a pod, only cpu, memory and hugepages are: write it in a container",
            f'spec.resources.{part}["{key}"]',
        )
        for part in ("limits", "requests")
        for key in mapping(mapping(spec.get("resources")).get(part))
        if classify(policy, key) is not None
    ]


def check(containers: list[Container]) -> tuple[list[Note], list[Note]]:
    """What the API server refuses once it validates (S6), and what no number holds (S11).

    Returns:
        Problems that leave the whole pod to the API server's own message, and problems that deny it.
    """
    invalid: list[Note] = []
    names: set[str] = set()
    for shape, _ in containers:
        if shape.keys and (not shape.name or shape.name in names):
            name = quantity.shown(shape.name)
            text = f"container name {name} is used twice" if shape.name else "a container has no name"
            invalid.append(Note(Reason.INVALID_REQUEST, text, f"{shape.path}.name"))
        names.add(shape.name)
        invalid += shape.invalid
    return invalid, [note for shape, _ in containers for note in shape.too_large]


def _read_key(one: Shape, key: str) -> tuple[int, Note | None]:
    """The number of a key, and what is wrong with it."""
    if key not in one.limits:
        text = f"{key} is in requests but not in limits in container {one.name}: write it in limits"
        number, _ = _read(one, key, "requests", one.requests[key])
        return number, Note(Reason.INVALID_REQUEST, text, one.key_path(key, "requests"))
    number, problem = _read(one, key, "limits", one.limits[key])
    if problem is None and key in one.requests:
        requested, problem = _read(one, key, "requests", one.requests[key])
        if problem is None and requested != number:
            text = (
                f"{key} differs in container {one.name}: {quantity.shown(one.limits[key])} in limits, "
                f"{quantity.shown(one.requests[key])} in requests; write the same number"
            )
            problem = Note(Reason.INVALID_REQUEST, text, one.key_path(key))
    if problem is None and number > quantity.INT64_MAX:
        text = f"{key} is {quantity.shown(one.limits[key])} in container {one.name}: more than 64 bits hold"
        problem = Note(Reason.NUMBER_TOO_LARGE, text, one.key_path(key))
    return number, problem


def _read(one: Shape, key: str, part: str, value: object) -> tuple[int, Note | None]:
    """The number, or why the API server refuses it."""
    reason = Reason.INVALID_REQUEST
    try:
        number = quantity.integer(value)
    except quantity.QuantityError:
        why = "not a number"
    else:
        if number is not None and number >= 0:
            return number, None
        why = "must not be negative"
        if number is None:
            reason, why = Reason.WHOLE_CARDS_ONLY, "whole cards only, extended resources are integers"
    text = f"{key} is {quantity.shown(value)} in container {one.name}: {why}"
    return 0, Note(reason, text, one.key_path(key, part))
