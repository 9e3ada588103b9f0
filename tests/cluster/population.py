"""A cluster full of workloads, made through the API in seconds, and counted while it is made.

Controllers and scheduler are stopped meanwhile: owners, pods and bindings are written as they would write them, so that
every number is known. :class:`Population` holds what was made, as plain numbers; nothing of the program is used here.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.testbed.api import Api
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, load, on_node
from tests.cluster.testbed.objects import container, pod

JSON = Any
NAMESPACES, NODES = 100, 200
PODS_OF_A_NAMESPACE = 20
WITH_DRA, WITH_BOTH, WITH_PLUGIN = 150, 10, 30
"""Nodes by who offers their cards; the others have none."""
DRIVER = "hami-core-gpu.project-hami.io"
REFUSED = "team-001"
"""The namespace with a LimitRange on a legacy key."""
INSTALLATION = "hami-dra-webhook"
MEMORY_FACTOR = 2
"""A setting of the installation."""
CLAIMS = 10
"""Half of them hold a card each, half a part of one."""
CARDS_OF_A_NODE, CARD_MIB, PART_MIB, PART_CORES = 8, 81920, 8000, 30
_AT_ONCE = 8
GPU, MEMORY, PERCENT, CORES = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
)
POLICY = "hami.io/gpu-scheduler-policy"


@dataclass(frozen=True)
class Ask:
    """What one pod asks, after conversion."""

    devices: int = 0
    whole: int = 0
    memory: int = 0
    percent: int = 0
    cores: int = 0


@dataclass(frozen=True)
class Recipe:
    """A workload that every namespace has."""

    name: str
    kind: str
    pods: int
    outcome: str
    ask: Ask = Ask()
    limits: Mapping[str, int] = field(default_factory=dict)
    spec: Mapping[str, JSON] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


RECIPES = (
    Recipe("web", "Deployment", 5, "no-gpu"),
    Recipe("serve", "Deployment", 4, "converts", Ask(1, memory=4000), {GPU: 1, MEMORY: 4000}),
    Recipe("train", "StatefulSet", 2, "converts", Ask(2, whole=2), {GPU: 2}),
    Recipe("batch", "Job", 3, "converts", Ask(1, percent=50), {GPU: 1, PERCENT: 50}),
    Recipe("ray", "RayCluster", 3, "converts", Ask(1, memory=8000, cores=30), {GPU: 1, MEMORY: 8000, CORES: 30}),
    Recipe(
        "notebook", "Pod", 1, "converts-with-warnings", Ask(1, memory=2000), {GPU: 1, MEMORY: 2000},
        annotations={POLICY: "binpack"},
    ),
    Recipe("queued", "Deployment", 1, "foreign-scheduler", limits={GPU: 1}, spec={"schedulerName": "volcano"}),
    Recipe("native", "Pod", 1, "already-dra", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}),
)  # fmt: skip
"""20 pods. The head of the RayCluster asks for nothing, so one of its three pods counts for no device."""
_API = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1", "RayCluster": "ray.io/v1", "Pod": "v1"}
_KIND_OF_TEMPLATE = ("Deployment", "StatefulSet", "Job")


@dataclass
class Population:
    """What was made."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_namespace: dict[str, Counter[str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """Sums of the pods that do not hold devices yet."""
    pods: int = 0
    finished: int = 0
    opted_in: int = 0
    refused: list[str] = field(default_factory=list)
    """Workloads that a LimitRange refuses."""

    def count(self, namespace: str, outcome: str, ask: Ask = Ask(), pods: int = 0) -> None:
        """One workload."""
        self.outcomes[outcome] += 1
        self.by_namespace.setdefault(namespace, Counter())[outcome] += 1
        if outcome.startswith("converts"):
            self.asked.update(
                devices=ask.devices * pods, whole=ask.whole * pods, memory=ask.memory * pods,
                percent=ask.percent * pods, cores=ask.cores * pods, pods=pods,
            )  # fmt: skip


def populate(api: Api) -> Population:
    """Fills the cluster."""
    made = Population()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        run = _runner(pool)
        run(api.create, load(HAMI_CLASSES))
        run(lambda number: _node(api, number), range(NODES))
        names = [f"team-{number:03}" for number in range(NAMESPACES)]
        run(lambda name: _namespace(api, name), names)
        jobs = [job for name in names for job in _workloads(api, name, made)]
        run(lambda job: job(), jobs)
        run(lambda number: _claim(api, number), range(CLAIMS))
    for obj in _last():
        api.create(obj)
    return made


def _runner(pool: ThreadPoolExecutor) -> Callable[[Callable[[Any], Any], Iterable[Any]], None]:
    def run(work: Callable[[Any], Any], things: Iterable[Any]) -> None:
        for _ in pool.map(work, things):
            pass

    return run


def _node(api: Api, number: int) -> None:
    name = f"node-{number:03}"
    node, slice_ = on_node(load(A100_NODE), name)
    if WITH_DRA <= number < WITH_DRA + WITH_BOTH + WITH_PLUGIN:
        node["status"]["allocatable"][GPU] = node["status"]["capacity"][GPU] = "80"
    api.create(node)
    if number < WITH_DRA + WITH_BOTH:
        api.create(slice_)


def _namespace(api: Api, name: str) -> None:
    labels = {"hami.io/dra-webhook": "enabled"} if name.endswith("0") else {}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, name)


def _workloads(api: Api, namespace: str, made: Population) -> Iterator[Callable[[], None]]:
    """Counts what a namespace gets, and yields what makes it."""
    made.opted_in += namespace.endswith("0")
    refused = namespace == REFUSED
    for recipe in RECIPES:
        outcome = "denied" if refused and recipe.outcome.startswith("converts") else recipe.outcome
        if outcome == "denied":
            made.refused.append(f"{namespace}/{recipe.kind}/{recipe.name}")
        holding = 2 if namespace == "team-010" and recipe.name == "serve" else 0
        asking = recipe.pods - 1 if recipe.kind == "RayCluster" else recipe.pods
        made.pods += recipe.pods
        made.count(namespace, outcome, recipe.ask, asking - holding)
        yield lambda recipe=recipe, holding=holding: _make(api, namespace, recipe, holding)
    if namespace.endswith("5"):
        made.finished += 1
        yield lambda: _finished_job(api, namespace)
        made.count(namespace, "converts", Ask(1, whole=1), 0)
        yield lambda: _cron_job(api, namespace)
    if namespace.endswith("7"):
        made.count(namespace, "denied")
        yield lambda: _too_much(api, namespace)


def _make(api: Api, namespace: str, recipe: Recipe, holding: int) -> None:
    owner = _owner(api, namespace, recipe)
    for number in range(recipe.pods):
        name = recipe.name if recipe.kind == "Pod" else f"{recipe.name}-{number}"
        limits = {} if recipe.kind == "RayCluster" and number == 0 else recipe.limits
        obj = pod(name, limits, annotations=dict(recipe.annotations), **dict(recipe.spec))
        if owner is not None:
            obj["metadata"]["ownerReferences"] = [owner]
        if number < holding:
            _converted(obj)
        api.create(obj, namespace)
        if number < holding or recipe.name == "train":
            _bind(api, namespace, name)


def _owner(api: Api, namespace: str, recipe: Recipe) -> JSON | None:
    if recipe.kind == "Pod":
        return None
    if recipe.kind not in _KIND_OF_TEMPLATE:
        return _reference(_API[recipe.kind], recipe.kind, recipe.name, f"uid-{namespace}-{recipe.name}")
    made = api.create(_controller(recipe, recipe.kind, recipe.name), namespace)
    if recipe.kind == "Deployment":
        above = _reference("apps/v1", "Deployment", recipe.name, made["metadata"]["uid"])
        below = _controller(recipe, "ReplicaSet", f"{recipe.name}-7d9f")
        below["metadata"]["ownerReferences"] = [above]
        made = api.create(below, namespace)
    return _reference(made["apiVersion"], made["kind"], made["metadata"]["name"], made["metadata"]["uid"])


def _controller(recipe: Recipe, kind: str, name: str) -> JSON:
    labels = {"app": recipe.name}
    template = {
        "metadata": {"labels": labels, "annotations": dict(recipe.annotations)},
        "spec": {"containers": [container(recipe.limits)], **recipe.spec},
    }
    spec: JSON = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec |= {"parallelism": recipe.pods, "completions": recipe.pods + 7}
    else:
        spec |= {"replicas": recipe.pods, "selector": {"matchLabels": labels}}
    if kind == "StatefulSet":
        spec["serviceName"] = recipe.name
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _reference(api_version: str, kind: str, name: str, uid: str) -> JSON:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def _converted(obj: JSON) -> None:
    """As the webhook leaves a pod."""
    obj["metadata"]["labels"] = {"hami.io/dra-webhook-converted": "true"}
    obj["spec"]["containers"] = [container()]
    obj["spec"]["resourceClaims"] = [{"name": "main-gpu", "resourceClaimTemplateName": "gpu-1x-4000mi-0c"}]


def _bind(api: Api, namespace: str, name: str) -> None:
    body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-000"}}
    api.request(
        "POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", {"apiVersion": "v1", "kind": "Binding"} | body
    )


def _finished_job(api: Api, namespace: str) -> None:
    recipe = Recipe("done", "Job", 1, "", limits={GPU: 99})
    api.create(_controller(recipe, "Job", "done"), namespace)
    at = "2026-08-20T08:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "reason": "CompletionsReached", "lastProbeTime": at, "lastTransitionTime": at}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {
        "conditions": conditions,
        "startTime": at,
        "completionTime": at,
        "succeeded": 8,
        "uncountedTerminatedPods": {},
    }
    api.patch("Job", "done", {"status": status}, namespace, subresource="status")


def _cron_job(api: Api, namespace: str) -> None:
    template = {"spec": {"containers": [container({GPU: 1})], "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    api.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}, namespace)


def _too_much(api: Api, namespace: str) -> None:
    api.create(_controller(Recipe("huge", "Deployment", 1, "", limits={GPU: 99}), "Deployment", "huge"), namespace)


def _claim(api: Api, number: int) -> None:
    """A claim that the scheduler has allocated: a whole card of the first node, or a part of one of the second."""
    whole = number < CLAIMS // 2
    name, node = f"held-{number}", "node-000" if whole else "node-001"
    exactly: JSON = {"deviceClassName": DRIVER}
    result: JSON = {"request": "gpu", "driver": DRIVER, "pool": node, "device": f"hami-gpu-{number % (CLAIMS // 2)}"}
    if not whole:
        taken = {"memory": f"{PART_MIB}Mi", "cores": str(PART_CORES)}
        exactly["capacity"] = {"requests": taken}
        result |= {"shareID": str(uuid.uuid4()), "consumedCapacity": taken}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}
    api.create(body, "team-000")
    status = {"allocation": {"devices": {"results": [result]}}}
    api.patch("ResourceClaim", name, {"status": status}, "team-000", subresource="status")


def _last() -> Iterator[JSON]:
    """What would change or refuse the pods above: bounds, quotas, and what is left of HAMi."""
    yield {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "bounds", "namespace": REFUSED},
        "spec": {"limits": [{"type": "Container", "max": {GPU: "2"}}]},
    }
    yield {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "team-002"},
        "spec": {"hard": {f"requests.{GPU}": "40", f"limits.{MEMORY}": "64000"}},
    }
    labels = {"app.kubernetes.io/component": "hami-scheduler"}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hami-scheduler-device", "namespace": "kube-system", "labels": labels},
        "data": {"device-config.yaml": "nvidia:\n  deviceMemoryScaling: 1.5\n"},
    }
    scheduler = container(name="vgpu-scheduler-extender")
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hami-scheduler", "namespace": "kube-system"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [scheduler]}},
        },
    }
    yield from _installation()
    for name, called in (("hami-webhook", "vgpu.hami.io"), ("zzz-later", "later.example.org")):
        hook = {
            "name": called,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "nobody", "namespace": "kube-system"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
        }
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [hook],
        }


def _installation() -> Iterator[JSON]:
    """The objects of the chart that tell which settings the replicas run with; nothing runs here."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": INSTALLATION}}
    place = {"name": INSTALLATION, "namespace": INSTALLATION}
    settings = f"memoryFactor: {MEMORY_FACTOR}\n"
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": {"config.yaml": settings}}
    labels = {"app.kubernetes.io/component": "webhook"}
    main = container(volumeMounts=[{"name": "settings", "mountPath": "/etc/settings"}])
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [main], "volumes": [{"name": "settings", "configMap": {"name": INSTALLATION}}]},
    }
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": place | {"labels": {"helm.sh/chart": "hami-dra-webhook-0.1.0"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
