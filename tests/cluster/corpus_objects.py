"""Applies the manifests of a corpus case as a user does, and collects what came of their pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import yaml

from app.preview.workloads import find_pods, manifests
from app.translate.decision import CONVERTED_LABEL, WARNINGS_ANNOTATION
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.kubectl import Result
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for
from tests.corpus.cases import Case, Entry
from tests.corpus.facts import Observed, entry_problems

JSON = Any
WORKLOADS = {("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("batch/v1", "Job")}
CRON_JOB = ("batch/v1", "CronJob")
POD = ("v1", "Pod")
HAVE_PODS = {*WORKLOADS, CRON_JOB, POD}
RECORDED = {"the card stays reserved until the pod ends": "init-own-claim", "nodeName": "node-name-pinned"}
"""Subjects of warnings that users of a workload do not see, and the word that its pods carry."""
PREVIEW_ONLY = {"annotation on the Deployment has no effect", "kueue", "whole cards only", "gpu.shared"}
"""Subjects that no pod of a workload carries: they are about the workload itself, or the pod is left as it is."""


@dataclass(frozen=True)
class Applied:
    """One object, and what kubectl said of it."""

    manifest: Mapping[str, JSON]
    said: Result

    @property
    def kind(self) -> tuple[str, str]:
        return self.manifest["apiVersion"], self.manifest["kind"]

    @property
    def name(self) -> str:
        """The name; of a generated one, what the API server made of it."""
        metadata = self.manifest["metadata"]
        return str(metadata.get("name") or self.said.stdout.removeprefix("pod/").removesuffix(" created\n"))

    def is_of(self, entry: Entry) -> bool:
        metadata = self.manifest["metadata"]
        written = metadata.get("name") or f"{metadata['generateName']}*"
        return (self.kind[1], written) == (entry.kind, entry.name)


def objects_of(case: Case) -> list[JSON]:
    """The objects of a case that have pods and are of kinds that Kubernetes itself serves, without their namespaces."""
    found = [obj for document in yaml.safe_load_all(case.file.read_text()) for _, obj in manifests(document) if obj]
    served = [deepcopy(obj) for obj in found if (obj["apiVersion"], obj["kind"]) in HAVE_PODS]
    for obj in served:
        obj["metadata"].pop("namespace", None)
    return served


@contextmanager
def taken_for_granted(api: Api) -> Iterator[None]:
    """What the manifests take for granted: a RuntimeClass, and a volume for the one that claims one."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "spec": {"capacity": {"storage": "60Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}},
    }
    made: list[JSON] = [{**runtime, "metadata": {"name": "nvidia"}}]
    made += [{**volume, "metadata": {"name": f"models-{number}"}} for number in range(3)]
    for obj in made:
        api.create(obj)
    yield
    for obj in made:
        api.delete(obj["kind"], obj["metadata"]["name"])
    # A volume goes once its controller lets it; the next module makes it anew.
    left = [(obj["kind"], obj["metadata"]["name"]) for obj in made]
    wait_for(lambda: not any(api.find(*one) for one in left), "volumes and RuntimeClass to go", timeout=30)


def apply_object(namespace: Namespace, obj: JSON) -> Applied:
    """``kubectl apply``, or ``create`` where a name is generated; makes a CronJob and a suspended Job start."""
    act = namespace.kubectl.apply if "name" in obj["metadata"] else namespace.kubectl.create
    applied = Applied(obj, act(obj, check=False))
    if applied.kind == CRON_JOB:
        name = obj["metadata"]["name"]
        namespace.kubectl("create", "job", f"{name}-now", f"--from=cronjob/{name}", check=True)
    if obj["spec"].get("suspend"):
        namespace.api.patch("Job", obj["metadata"]["name"], {"spec": {"suspend": False}}, namespace.name)
    return applied


def observe(namespace: Namespace, applied: Applied, names: Mapping[str, str]) -> Iterator[Observed]:
    """What came of each pod of an object.

    Args:
        namespace: where it was applied.
        applied: the object.
        names: the ``resourceNames`` of the webhook's settings.
    """
    (found,) = find_pods(applied.manifest)
    renamed = frozenset(names.values())
    if applied.said.code != 0:
        outcome = "denied" if "denied the request" in applied.said.stderr else "invalid"
        yield Observed(outcome, found.pod, None, messages=[applied.said.stderr], renamed=renamed)
        return
    pods, refusals = pods_of(namespace, applied)
    if refusals:
        yield Observed("denied", found.pod, None, messages=refusals, renamed=renamed)
    templates = namespace.list("ResourceClaimTemplate")
    for pod in pods:
        converted = pod["metadata"].get("labels", {}).get(CONVERTED_LABEL) == "true"
        outcome = "converted" if converted else "untouched"
        yield Observed(outcome, found.pod, _as_written(pod), templates, warnings=applied.said.warnings, renamed=renamed)


def pods_of(namespace: Namespace, applied: Applied) -> tuple[list[JSON], list[str]]:
    """The stored pods of an object once its controller has made them, and why it could not."""
    if applied.kind == POD:
        return [namespace.get("Pod", applied.name)], []
    count = applied.manifest["spec"].get("replicas", 1)

    def made() -> tuple[list[JSON], list[str]] | None:
        pods = [pod for pod in namespace.list("Pod") if _made_by(applied.name, pod)]
        failed = [
            event["message"]
            for event in namespace.list("Event", fieldSelector="reason=FailedCreate")
            if event["involvedObject"]["name"].startswith(applied.name)
        ]
        return (pods, failed) if len(pods) == count or failed else None

    what = f"{count} pods of {applied.kind[1]} {applied.name}"
    return wait_for(made, what, timeout=30, describe=namespace.describe)


def _made_by(workload: str, pod: JSON) -> bool:
    """A pod belongs to the workload, or to a ReplicaSet or Job that it made."""
    owners = pod["metadata"].get("ownerReferences", ())
    return any(owner["name"] == workload or owner["name"].startswith(f"{workload}-") for owner in owners)


def problems(namespace: Namespace, applied: Applied, entry: Entry, names: Mapping[str, str]) -> Iterator[str]:
    """Every fact of the entry that does not hold, ``placement`` apart."""
    seen = list(observe(namespace, applied, names))
    if not seen:
        yield "no pod was made"
    for one in seen:
        if one.pod and one.outcome == "untouched":
            before, after = (pod["spec"].get("resourceClaims") for pod in (one.original, one.pod))
            yield from () if before == after else (f"an untouched pod has the claims {after}",)
        if applied.kind == POD:
            yield from entry_problems(entry, one)
            continue
        yield from entry_problems(replace(entry, warn=()), one)
        recorded = ((one.pod or {}).get("metadata", {}).get("annotations") or {}).get(WARNINGS_ANNOTATION, "")
        for subject in set(entry.warn) - PREVIEW_ONLY:
            if RECORDED[subject] not in recorded.split(","):
                yield f"{RECORDED[subject]} is not among the recorded warnings: {recorded!r}"


def _as_written(pod: JSON) -> JSON:
    """The stored pod without the tolerations that the API server gives to every pod."""
    kept = [one for one in pod["spec"].get("tolerations", ()) if not one["key"].startswith("node.kubernetes.io/")]
    return {**pod, "spec": {**pod["spec"], "tolerations": kept}}
