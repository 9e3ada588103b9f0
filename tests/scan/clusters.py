"""Clusters for the tests of the scan, made of API objects and read by the scan's own readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from app.check.scan import keep
from app.check.scan.model import Cluster
from app.check.scan.objects import read_controller, read_pod
from app.check.scan.reading import CONTROLLERS
from app.check.scan.report import DEFAULTS, ScanReport, Scope
from app.check.scan.run import examine
from app.check.scan.shapes import Shapes
from app.cluster.listing import Gap
from app.preview.surroundings import about_object
from app.translate import Policy, TranslationSettings

JSON = Any
AT: Final = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
OWN: Final = "zz-hami-dra-webhook"
HAMI: Final = "hami-core-gpu.project-hami.io"
GPU, MEMORY, PERCENT, CORES = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
)
SHARE: Final = {GPU: 1, MEMORY: 8000}
_VERSIONS: Final = {"Pod": "v1", "ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}
_PLURALS: Final = {
    "pods": "pods", "limit_ranges": "limitranges", "quotas": "resourcequotas", "nodes": "nodes",
    "slices": "resourceslices", "classes": "deviceclasses", "claims": "resourceclaims",
    "webhooks": "mutatingwebhookconfigurations", "hami_settings": "configmaps",
}  # fmt: skip
"""Part of a cluster → the plural name of what it is made of."""
_KEPT: Final = {
    "Node": ("nodes", keep.node),
    "ResourceSlice": ("slices", keep.named_spec),
    "DeviceClass": ("classes", keep.named_spec),
    "ResourceClaim": ("claims", keep.claim),
    "MutatingWebhookConfiguration": ("webhooks", keep.webhooks),
    "ConfigMap": ("hami_settings", keep.config_map),
}


def owner(kind: str, name: str, version: str | None = None) -> JSON:
    """An ownerReference of the controller."""
    return {"apiVersion": version or _VERSIONS.get(kind, "apps/v1"), "kind": kind, "name": name, "controller": True}


def container(limits: Mapping[str, JSON] | None = None, name: str = "main", **fields: JSON) -> JSON:
    """A container; no limits = nothing asked."""
    return {"name": name, "image": "example.org/app:1", "resources": {"limits": dict(limits or {})}, **fields}


def pod(
    name: str = "p",
    limits: Mapping[str, JSON] | None = None,
    *,
    above: JSON = None,
    containers: Sequence[JSON] = (),
    phase: str = "Running",
    metadata: Mapping[str, JSON] | None = None,
    **spec: JSON,
) -> JSON:
    """A pod of the namespace ``team``; ``above`` is an ownerReference."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "ownerReferences": [above] if above else [],
            **(metadata or {}),
        },
        "spec": {"containers": list(containers) or [container(limits)], **spec},
        "status": {"phase": phase},
    }


def controller(
    kind: str,
    name: str,
    limits: Mapping[str, JSON] | None = None,
    *,
    above: JSON = None,
    pod_spec: Mapping[str, JSON] | None = None,
    status: JSON = None,
    metadata: Mapping[str, JSON] | None = None,
    **spec: JSON,
) -> JSON:
    """A workload of the namespace ``team``; ``spec`` are fields beside the template."""
    template = {"spec": {"containers": [container(limits)], **(pod_spec or {})}}
    if kind == "CronJob":
        template = {"spec": {"template": template}}
    return {
        "apiVersion": _VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "team",
            "ownerReferences": [above] if above else [],
            **(metadata or {}),
        },
        "spec": {"jobTemplate" if kind == "CronJob" else "template": template, **spec},
        "status": status or {},
    }


def labelled(name: str, labels: Mapping[str, str]) -> JSON:
    """A Namespace with labels."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}


def node(name: str = "gpu-1", annotations: Mapping[str, str] | None = None, **allocatable: str) -> JSON:
    """A node; ``gpu="8"`` is what a device plugin offers."""
    offered = {GPU if key == "gpu" else key: value for key, value in allocatable.items()}
    metadata = {"name": name, "annotations": dict(annotations or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"allocatable": {"cpu": "8", **offered}},
    }


def device_class(name: str = HAMI, extended: str | None = None) -> JSON:
    """A DeviceClass that selects all devices of HAMi's driver."""
    spec: JSON = {"selectors": [{"cel": {"expression": f"device.driver == '{HAMI}'"}}]}
    if extended:
        spec["extendedResourceName"] = extended
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def cards(count: int, mebibytes: int = 40960, on: str = "gpu-1") -> JSON:
    """A ResourceSlice with cards that HAMi's driver shares."""

    def capacity(value: str) -> JSON:
        return {"value": value, "requestPolicy": {"default": value, "validRange": {"min": "0", "max": value}}}

    devices = [
        {
            "name": f"card-{number}",
            "attributes": {"type": {"string": "hami-gpu"}, "uuid": {"string": f"GPU-{on}-{number}"}},
            "capacity": {"memory": capacity(f"{mebibytes}Mi"), "cores": capacity("100")},
            "allowMultipleAllocations": True,
        }
        for number in range(count)
    ]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{on}-{HAMI}"},
        "spec": {"driver": HAMI, "nodeName": on, "pool": pool, "devices": devices},
    }


def claim(name: str, device: str, consumed: Mapping[str, str] | None = None, on: str = "gpu-1") -> JSON:
    """An allocated ResourceClaim; ``consumed`` None = the whole device."""
    result: JSON = {"request": "gpu", "driver": HAMI, "pool": on, "device": device}
    if consumed is not None:
        result |= {"shareID": f"share-{name}", "consumedCapacity": dict(consumed)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def webhook(name: str, *called: str, selector: JSON = None, **rule: Sequence[str]) -> JSON:
    """A MutatingWebhookConfiguration that is called when pods are created."""
    rules = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **rule}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {"name": one, "rules": rules, "namespaceSelector": selector or {}, "clientConfig": {}} for one in called
        ],
    }


def config_map(name: str = "hami-scheduler-device", **data: str) -> JSON:
    """A ConfigMap of HAMi; ``device_config`` and ``config`` are its files."""
    files = {"device_config": "device-config.yaml", "config": "config.json"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "hami"},
        "data": {files[key]: text for key, text in data.items()},
    }


READY: Final = (device_class(), cards(4), node())
"""What a cluster needs so that converted pods find their devices."""


def cluster(
    objects: Iterable[JSON], policy: Policy, unread: Iterable[str] = (), version: tuple[int, int] = (1, 36)
) -> Cluster:
    """A cluster with exactly these objects; ``unread`` are parts that may not be read."""
    shapes = Shapes(policy)
    kinds = {resource.kind for resource in CONTROLLERS}
    read: dict[str, list[JSON]] = {part: [] for part in _PLURALS}
    found = Cluster("https://cluster.example.org", version, {"team": {}})
    for obj in objects:
        kind = obj["kind"]
        if kind == "Pod":
            read["pods"].append(read_pod(obj, shapes))
        elif kind in kinds:
            found.controllers.append(read_controller(obj, shapes))
        elif kind == "Namespace":
            one = keep.namespace(obj)
            found.namespaces[one["name"]] = one["labels"]
        elif kind in ("LimitRange", "ResourceQuota"):
            if about_object(obj, policy):
                read["limit_ranges" if kind == "LimitRange" else "quotas"].append(obj)
        else:
            part, reduce = _KEPT[kind]
            kept = reduce(obj)
            read[part] += [] if kept is None else [kept]
    for part, values in read.items():
        setattr(found, part, None if part in unread else values)
    found.gaps = [Gap(_PLURALS[part], None, "forbidden", f"you may not list {part}") for part in unread]
    return found


def scanned(
    *objects: JSON,
    devices: Sequence[JSON] = READY,
    unread: Iterable[str] = (),
    own_namespace: str | None = None,
    as_if_installed: bool = False,
    version: tuple[int, int] = (1, 36),
    **settings: JSON,
) -> ScanReport:
    """The scan of a cluster with these objects and devices."""
    policy = Policy(TranslationSettings.model_validate(settings))
    scope = Scope(as_if_installed=as_if_installed, settings=DEFAULTS)
    return examine(
        cluster([*objects, *devices], policy, unread, version), policy, scope, at=AT, own_webhook=OWN,
        own_namespace=own_namespace,
    )  # fmt: skip


def outcomes(report: ScanReport) -> dict[str, str]:
    """``Kind/name`` → outcome."""
    return {f"{one.ref.kind}/{one.ref.name}": one.outcome.value for one in report.workloads}


def hazard(report: ScanReport, code: str) -> list[tuple[str, str]]:
    """The objects of a hazard with what was read there; empty where it was not found."""
    return [tuple(found) for one in report.hazards if one.check.code == code for found in one.found]
