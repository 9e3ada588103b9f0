"""A cluster made of plain objects, and an installation in it in which nothing is wrong."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from importlib.metadata import version as package_version
from typing import Any

import yaml

from app.check.health.finding import Finding
from app.check.health.reader import Reader
from app.check.health.run import made
from app.check.health.site import Site, find_site
from app.cluster.api import ApiError
from app.settings import Settings
from certs.issue import Issuer
from certs.trust import Trust
from tests.cluster.testbed.registration import webhook_configuration

JSON = Any
OWN = package_version("hami-dra-webhook")
"""The version of this program."""
NAMESPACE, NAME, CLASS = "hami-dra-webhook", "gpu-hami-dra-webhook", "hami-core-gpu.project-hami.io"
LABELS = {
    "app.kubernetes.io/name": "hami-dra-webhook",
    "app.kubernetes.io/instance": "gpu",
    "app.kubernetes.io/component": "webhook",
}
HELM = f"helm upgrade gpu charts/hami-dra-webhook --namespace {NAMESPACE} --reuse-values"
TRUST = Trust(Issuer(["localhost"]).authority())
_PATH = re.compile(
    r"^/apis?(?:/[a-z0-9.-]+)?/v1(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)(?:/(?P<name>.+))?$"
)


class Cluster:
    """What a :class:`app.cluster.api.Connection` leads to: objects by collection, and who may not read them."""

    def __init__(self) -> None:
        self.objects: dict[str, list[JSON]] = {}
        """By plural name."""
        self.version = "1.36.3"
        self.forbidden: set[str] = set()
        """Plural names."""
        self.drop: Callable[[JSON], None] = lambda _: None
        """What the API server loses of a claim template."""
        self.admit: Callable[[JSON], JSON] = converted
        """What becomes of a pod in a dry run; may raise ApiError."""
        self.denied_permissions: set[tuple[str, str]] = set()
        """Verb and resource that the ServiceAccount may not."""
        self.dry_runs: list[str] = []
        self.read: list[str] = []
        """Paths of lists and objects, with the selector."""

    def put(self, plural: str, obj: JSON) -> JSON:
        """Add an object, or put it in the place of the one with its name."""
        self.remove(plural, obj["metadata"]["name"])
        self.objects.setdefault(plural, []).append(obj)
        return obj

    def remove(self, plural: str, name: str) -> None:
        """Take an object away."""
        self.objects[plural] = [one for one in self.objects.get(plural, ()) if one["metadata"]["name"] != name]

    def one(self, plural: str, name: str) -> JSON:
        """An object, to be changed."""
        return next(one for one in self.objects[plural] if one["metadata"]["name"] == name)

    async def request(
        self, verb: str, path: str, *, query: Mapping[str, str] | None = None, body: JSON = None, **_: JSON
    ) -> JSON:
        """As :meth:`app.cluster.api.Connection.request`."""
        if path == "/version":
            major, minor, _patch = self.version.split(".")
            return {"major": major, "minor": minor, "gitVersion": f"v{self.version}"}
        if path == "/apis/resource.k8s.io/v1":
            return {"kind": "APIResourceList"}
        match = _PATH.match(path)
        assert match is not None, path
        plural = match["plural"]
        self._permit(verb, plural)
        if verb == "get":
            self.read.append(path)
            for one in self.objects.get(plural, ()):
                if one["metadata"]["name"] == match["name"]:
                    return deepcopy(one)
            raise ApiError(404, "NotFound", f'{plural} "{match["name"]}" not found')
        assert verb == "create"
        assert query == {"dryRun": "All"}
        self.dry_runs.append(plural)
        return self._created(plural, deepcopy(body))

    async def pages(self, path: str, *, query: Mapping[str, str] | None = None, **_: JSON) -> AsyncIterator[JSON]:
        """As :meth:`app.cluster.api.Connection.pages`."""
        match = _PATH.match(path)
        assert match is not None, path
        self._permit("list", match["plural"])
        self.read.append(f"{path}?{query}")
        wanted = [pair.split("=") for pair in (query or {}).get("labelSelector", "").split(",") if pair]
        items = [
            deepcopy(one)
            for one in self.objects.get(match["plural"], ())
            if match["namespace"] in (None, one["metadata"].get("namespace"))
            and all((one["metadata"].get("labels") or {}).get(key) == value for key, value in wanted)
        ]
        yield {"apiVersion": "v1", "metadata": {}, "items": items}

    def _permit(self, verb: str, plural: str) -> None:
        if plural in self.forbidden:
            raise ApiError(403, "Forbidden", f'{plural} is forbidden: User "viewer" cannot {verb} resource "{plural}"')

    def _created(self, plural: str, body: JSON) -> JSON:
        if plural == "pods":
            return self.admit(body)
        if plural == "resourceclaimtemplates":
            self.drop(body["spec"]["spec"])
            return body
        wanted = body["spec"]["resourceAttributes"]
        return {"status": {"allowed": (wanted["verb"], wanted["resource"]) not in self.denied_permissions}}


def converted(pod: JSON) -> JSON:
    """A pod as the webhook leaves it."""
    pod["metadata"]["labels"] = {"hami.io/dra-webhook-converted": "true"}
    pod["spec"]["resourceClaims"] = [{"name": "main-gpu", "resourceClaimTemplateName": "gpu-1x"}]
    return pod


def namespace(name: str, opted: str | None = None) -> JSON:
    """A namespace, with this value of the opt-in label."""
    labels = {"kubernetes.io/metadata.name": name} | ({"hami.io/dra-webhook": opted} if opted is not None else {})
    return {"metadata": {"name": name, "labels": labels}}


def resource_slice(
    name: str, *, driver: str = CLASS, pool: str = "", devices: int = 2, generation: int = 1, count: int = 1
) -> JSON:
    spec = {
        "driver": driver,
        "nodeName": pool or name,
        "pool": {"name": pool or name, "generation": generation, "resourceSliceCount": count},
        "devices": [{"name": f"gpu-{i}"} for i in range(devices)],
    }
    return {"metadata": {"name": name}, "spec": spec}


def scheduler(version: str = "1.36.3", *arguments: str) -> JSON:
    container = {"image": f"example.org/kube-scheduler:v{version}", "command": ["kube-scheduler", *arguments]}
    metadata = {
        "name": f"kube-scheduler-{version}",
        "namespace": "kube-system",
        "labels": {"component": "kube-scheduler"},
    }
    return {"metadata": metadata, "spec": {"containers": [container]}}


def healthy(settings: JSON = None) -> Cluster:
    """An installation in which nothing is wrong, as far as no replica has to be connected to."""
    cluster = Cluster()
    cluster.put("deviceclasses", {"metadata": {"name": CLASS}, "spec": {"extendedResourceName": "nvidia.com/gpu"}})
    cluster.put("resourceslices", resource_slice("node-a"))
    cluster.put("namespaces", namespace("team-a", "enabled"))
    cluster.put("namespaces", namespace("kube-system"))
    cluster.put("pods", scheduler())
    cluster.put("deployments", deployment())
    for i in range(2):
        cluster.put("pods", replica(f"{NAME}-{i}"))
    budget = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": {"selector": {"matchLabels": LABELS}}}
    cluster.put("poddisruptionbudgets", budget)
    data = {"config.yaml": yaml.safe_dump(settings or {})}
    cluster.put("configmaps", {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data})
    configuration = webhook_configuration("https://127.0.0.1:1/mutate", TRUST.bundle, settings or {})
    configuration["metadata"]["resourceVersion"] = "1"
    cluster.put("mutatingwebhookconfigurations", configuration)
    cluster.put("leases", lease())
    cluster.put("secrets", secret(TRUST))
    return cluster


def deployment(replicas: int = 2, ready: int | None = None, **status: int) -> JSON:
    container = {
        "name": "webhook",
        "image": f"example.org/w:{OWN}",
        "volumeMounts": [{"name": "settings", "mountPath": "/s"}],
    }
    spec = {
        "serviceAccountName": NAME,
        "containers": [container],
        "volumes": [{"name": "settings", "configMap": {"name": NAME}}],
    }
    ready = replicas if ready is None else ready
    return {
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "generation": 3,
            "labels": {**LABELS, "helm.sh/chart": f"hami-dra-webhook-{OWN}"},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": spec},
        },
        "status": {"observedGeneration": 3, "updatedReplicas": replicas, "readyReplicas": ready, **status},
    }


def replica(name: str, image: str = f"example.org/w:{OWN}", label: str = OWN) -> JSON:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {**LABELS, "app.kubernetes.io/version": label}}
    return {"metadata": metadata, "spec": {"containers": [{"image": image}]}}


def secret(trust: Trust) -> JSON:
    """The Secret with the CA."""
    labels = {"hami.io/dra-webhook-ca": "true"}
    metadata = {"name": "hami-dra-webhook-ca", "namespace": NAMESPACE, "labels": labels}
    return {"metadata": metadata, "data": trust.to_data()}


def lease(holder: str = "replica-0", renewed: datetime | None = None) -> JSON:
    moment = renewed or datetime.now(UTC)
    spec = {"holderIdentity": holder, "renewTime": f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}", "leaseDurationSeconds": 900}
    return {"metadata": {"name": "hami-dra-webhook-sweeper", "namespace": NAMESPACE}, "spec": spec}


async def site_of(cluster: Cluster, settings: Settings | None = None) -> Site:
    """What checks are given."""
    reader = Reader(cluster)  # type: ignore[arg-type]
    return await find_site(reader, NAMESPACE, settings, "settings.yaml")


async def line(
    check: Callable[[Site], Awaitable[Finding]], cluster: Cluster, settings: Settings | None = None
) -> Finding:
    """What a check finds."""
    return await made(check, await site_of(cluster, settings))
