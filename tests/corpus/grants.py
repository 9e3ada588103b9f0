"""What a pod and its ResourceClaimTemplates grant to each container, as the API would read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Grant:
    """One kind of device that a container gets through one claim."""

    claim: str
    """Name of the entry in ``spec.resourceClaims``."""
    options: Sequence[Mapping[str, Any]]
    """``exactly``, or the alternatives of ``firstAvailable`` in their order; equal for all devices of the grant."""
    devices: int
    distinct: bool
    """The devices cannot be one physical card twice."""
    same: Sequence[str]
    """Attributes that all devices share."""

    @property
    def device_class(self) -> str:
        return str(self.options[0]["deviceClassName"])

    @property
    def driver(self) -> str:
        """Domain of the attributes; equal to the class for whole cards, and one domain up for MIG devices."""
        return "gpu.nvidia.com" if self.device_class == "mig.nvidia.com" else self.device_class

    @property
    def mig(self) -> bool:
        return self.device_class.startswith("mig.")

    def capacity(self, name: str) -> list[str | None]:
        """What each alternative asks of a capacity; None where it leaves it out."""
        return [option.get("capacity", {}).get("requests", {}).get(name) for option in self.options]


def containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Init containers and containers."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def grants(pod: Mapping[str, Any], templates: Iterable[Mapping[str, Any]], container: str) -> list[Grant]:
    """What a container is granted by generated templates; the user's own claims are not looked into."""
    known = {template["metadata"]["name"]: template["spec"]["spec"]["devices"] for template in templates}
    entries = {entry["name"]: entry for entry in pod["spec"].get("resourceClaims", [])}
    found: list[Grant] = []
    for one in containers(pod):
        for use in (one.get("resources") or {}).get("claims", []) if one["name"] == container else ():
            devices = known.get(entries[use["name"]].get("resourceClaimTemplateName"))
            if devices is not None:
                found += _of_claim(use["name"], devices, use.get("request"))
    return found


def _of_claim(claim: str, devices: Mapping[str, Any], chosen: str | None) -> list[Grant]:
    constraints = devices.get("constraints", [])
    alike: dict[str, list[tuple[str, Sequence[Mapping[str, Any]]]]] = {}
    for request in devices["requests"]:
        if chosen in (None, request["name"]):
            options = [request["exactly"]] if "exactly" in request else request["firstAvailable"]
            alike.setdefault(repr([_without_name(option) for option in options]), []).append((request["name"], options))
    found = []
    for requests in alike.values():
        names = [name for name, _ in requests]
        options = requests[0][1]
        counts = {option.get("count", 1) for option in options}
        assert len(counts) == 1, f"alternatives of {names} differ in their count: {counts}"
        same, apart = [], False
        for constraint in constraints:
            if set(names) <= set(constraint.get("requests") or names):
                same += [constraint["matchAttribute"]] if "matchAttribute" in constraint else []
                apart |= "distinctAttribute" in constraint
        count = counts.pop()
        # One request with a count never allocates one device twice (since 1.36, and for devices that are not shared).
        found.append(Grant(claim, options, count * len(requests), apart or len(requests) == 1, tuple(same)))
    return found


def _without_name(option: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in option.items() if key != "name"}
