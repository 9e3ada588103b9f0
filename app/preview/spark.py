"""Pods of the Spark operator, which its objects describe field by field.

Spark makes the container and gives it the resources of ``sparkConf``
(``spark.executor.resource.gpu.vendor``, ``.amount`` → ``nvidia.com/gpu``; Spark's KubernetesUtils), and the operator's
own webhook adds the rest, ``gpu`` among it (``sparkpod_defaulter.go``). That webhook is asked before ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.preview.kinds import Path
from app.translate.containers import items, mapping

JSON = Any

GROUP: Final = "sparkoperator.k8s.io"
_APPLICATIONS: Final[Mapping[str, Path]] = {
    "SparkApplication": ("spec",),
    "ScheduledSparkApplication": ("spec", "template"),
}
"""Kind → where the application is described."""
_ROLES: Final = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}
"""Field of an application → name of the container in its pods."""
_POD_FIELDS: Final = ("affinity", "hostNetwork", "nodeSelector", "runtimeClassName", "schedulerName")
_ASKED: Final = re.compile(r"spark\.(driver|executor)\.resource\.([^.]+)\.(amount|vendor)")


@dataclass(frozen=True, slots=True)
class Described:
    """One pod that an object describes."""

    path: Path
    """Of the description."""
    metadata: Mapping[str, JSON]
    spec: Mapping[str, JSON]


def described_pods(manifest: Mapping[str, JSON]) -> list[Described] | None:
    """The driver and the executors of an application; None for other kinds."""
    path = _APPLICATIONS.get(str(manifest.get("kind")))
    if path is None:
        return None
    application: Mapping[str, JSON] = manifest
    for part in path:
        application = mapping(application.get(str(part)))
    return [_pod((*path, role), application, role) for role in _ROLES if isinstance(application.get(role), dict)]


def _pod(path: Path, application: Mapping[str, JSON], role: str) -> Described:
    part = application[role]
    template = mapping(part.get("template"))
    spec = {**mapping(template.get("spec")), **{field: part[field] for field in _POD_FIELDS if field in part}}
    if application.get("batchScheduler"):
        spec["schedulerName"] = application["batchScheduler"]
    spec["containers"] = [*_containers(items(spec.get("containers")), application, role), *items(part.get("sidecars"))]
    for field in ("initContainers", "tolerations"):
        spec[field] = [*items(spec.get(field)), *items(part.get(field))]
    metadata = {
        field: {**mapping(mapping(template.get("metadata")).get(field)), **mapping(part.get(field))}
        for field in ("labels", "annotations")
    }
    return Described(path, _present(metadata), _present(spec))


def _present(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """What is not empty."""
    return {field: value for field, value in fields.items() if value not in ([], {}, None)}


def _containers(written: list[JSON], application: Mapping[str, JSON], role: str) -> Iterator[JSON]:
    """The containers of the template, with Spark's own, which is made where there is none."""
    name, part = _ROLES[role], application[role]
    own = next((one for one in written if mapping(one).get("name") == name), {"name": name})
    limits = {**mapping(mapping(own.get("resources")).get("limits")), **_limits(application, role)}
    made = {**own, "env": [*items(own.get("env")), *items(part.get("env"))]}
    if limits:
        made["resources"] = {**mapping(own.get("resources")), "limits": limits}
    if "securityContext" in part:
        made["securityContext"] = part["securityContext"]
    yield _present(made)
    yield from (one for one in written if one is not own)


def _limits(application: Mapping[str, JSON], role: str) -> dict[str, JSON]:
    """What Spark and the operator ask for; a ``gpu`` without a name or a positive number is passed over by both."""
    asked: dict[str, dict[str, JSON]] = {}
    for key, value in mapping(application.get("sparkConf")).items():
        match = _ASKED.fullmatch(key)
        if match is not None and match[1] == role:
            asked.setdefault(match[2], {})[match[3]] = value
    limits = {f"{one['vendor']}/{name}": one["amount"] for name, one in asked.items() if len(one) > 1}
    gpu = mapping(application[role].get("gpu"))
    name, quantity = gpu.get("name"), gpu.get("quantity")
    if name and isinstance(name, str) and isinstance(quantity, int) and quantity > 0:
        limits[name] = quantity
    return limits
