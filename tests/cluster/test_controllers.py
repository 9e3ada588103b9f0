"""Workloads whose pods the real controllers make: under generated names, owned, as their ServiceAccounts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from app.translate.decision import CONVERTED_LABEL
from tests.cluster.contents import (
    NOISY_MACHINE_SECONDS,
    named_by,
    pods_of,
    template_names,
    uids_of,
    until_claims,
    written,
)
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, load, on_node
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import workload
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
OTHER_NODE = "another-t4-node"
MACHINES = (T4_NODE, on_node(load(T4_NODE), OTHER_NODE), HAMI_CLASSES)
SHARE: Mapping[str, str] = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1500"}
"""As text, which is how the API server keeps it: a plain number alone makes ``kubectl apply`` say "configured"."""
BYTES_BY_MISTAKE: Mapping[str, str | int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "16Gi"}

pytestmark = pytest.mark.usefixtures("webhook", "kwok")


def replication_controller(limits: Mapping[str, str | int]) -> JSON:
    """The predecessor of the ReplicaSet, with one replica."""
    made = workload("ReplicaSet", "replicationcontroller", limits)
    made["spec"]["selector"] = made["spec"]["selector"]["matchLabels"]
    return made | {"apiVersion": "v1", "kind": "ReplicationController"}


def cron_job(limits: Mapping[str, str | int]) -> JSON:
    """A Job for each day; ``run_at_once`` spares a test the wait for the next one."""
    job = workload("Job", "cronjob", limits)
    spec = {"schedule": "0 0 * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": job["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cronjob"}, "spec": spec}


WORKLOADS = {
    kind: workload(kind, kind.lower(), SHARE) for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job")
} | {"ReplicationController": replication_controller(SHARE), "CronJob": cron_job(SHARE)}
REPLICAS = {"DaemonSet": 2}
"""Where it is not one: one for each node."""


def run_at_once(namespace: Namespace) -> None:
    """Let the CronJob believe that it has missed a day."""
    before = (datetime.now(UTC) - timedelta(hours=36)).strftime("%Y-%m-%dT%H:%M:%SZ")
    namespace.api.patch(
        "CronJob", "cronjob", {"status": {"lastScheduleTime": before}}, namespace.name, subresource="status"
    )
    wait_for(lambda: namespace.list("Job"), "the Job", timeout=NOISY_MACHINE_SECONDS, describe=namespace.describe)
    namespace.api.patch("CronJob", "cronjob", {"spec": {"suspend": True}}, namespace.name)


def create(namespace: Namespace, made: JSON) -> None:
    """``kubectl apply``, and for a CronJob the wait for its hour."""
    namespace.kubectl.apply(made)
    if made["kind"] == "CronJob":
        run_at_once(namespace)


def failed_creations(namespace: Namespace) -> list[str]:
    """What controllers said about pods that they could not make."""
    return [event for event in namespace.events() if event.startswith("FailedCreate: ")]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicationController"])
def test_pods_of_every_controller_get_their_claims_and_take_them_along(namespace: Namespace, kind: str) -> None:
    namespace.kubectl.apply(WORKLOADS[kind])
    pods = pods_of(namespace, kind.lower(), REPLICAS.get(kind, 1))
    for pod in pods:
        assert pod["metadata"]["labels"][CONVERTED_LABEL] == "true"
        assert pod["metadata"]["generateName"]
        (owner,) = pod["metadata"]["ownerReferences"]
        assert owner["controller"]
        assert "limits" not in pod["spec"]["containers"][0]["resources"]
        given = namespace.allocation(pod["metadata"]["name"])
        assert (given.only.memory_mib, given.only.cores) == (1500, 0)
    assert {named_by(pod) for pod in pods} == {tuple(template_names(namespace))}
    namespace.kubectl("delete", kind.lower(), kind.lower(), check=True)
    until_claims(namespace, 0)


def claims_that_were(namespace: Namespace) -> list[JSON]:
    """All claims that the namespace ever had, as they were before they were deleted."""
    since = namespace.api.get("Namespace", namespace.name)["metadata"]["resourceVersion"]
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    query = f"watch=true&resourceVersion={since}&timeoutSeconds=1"
    events = namespace.kubectl("get", "--raw", f"{path}?{query}", check=True).stdout.splitlines()
    last = {}
    for event in map(json.loads, events):
        if event["type"] == "MODIFIED" and "allocation" in event["object"].get("status", {}):
            last[event["object"]["metadata"]["uid"]] = event["object"]
    return list(last.values())


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_job_completes_on_its_card_and_gives_it_back(namespace: Namespace, kind: str) -> None:
    create(namespace, WORKLOADS[kind])
    wait_for(
        lambda: [job for job in namespace.list("Job") if job["status"].get("succeeded") == 1],
        "the Job to complete",
        timeout=NOISY_MACHINE_SECONDS,
        describe=namespace.describe,
    )
    (pod,) = namespace.pods(app=kind.lower())
    assert pod["metadata"]["labels"][CONVERTED_LABEL] == "true"
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    until_claims(namespace, 0)
    (claim,) = claims_that_were(namespace)
    (device,) = claim["status"]["allocation"]["devices"]["results"]
    assert device["consumedCapacity"] == {"memory": "1500Mi", "cores": "0"}


def test_a_job_of_many_completions_uses_one_template(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("Job", "train", SHARE, completions=6, parallelism=3))
    namespace.kubectl("wait", "--for=condition=complete", "job/train", "--timeout=60s", check=True)
    assert len(namespace.pods(app="train")) == 6
    assert len(template_names(namespace)) == 1
    until_claims(namespace, 0)


def test_twenty_replicas_share_one_template(webhook: Webhook, namespace: Namespace) -> None:
    before = written(webhook)
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=20))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=60s", check=True)
    assert len(template_names(namespace)) == written(webhook) - before == 1
    assert len(namespace.list("ResourceClaim")) == 20


def test_a_deployment_is_scaled_up_and_down(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=1))
    for replicas in (1, 5, 2, 0, 3):
        namespace.kubectl("scale", "deployment/web", f"--replicas={replicas}", check=True)
        namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
        pods_of(namespace, "web", replicas)
        until_claims(namespace, replicas)
    assert len(template_names(namespace)) == 1


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=["client-side", "server-side"])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "CronJob"])
def test_a_workload_shows_no_drift(namespace: Namespace, kind: str, options: tuple[str, ...]) -> None:
    made = WORKLOADS[kind]
    namespace.kubectl.apply(made, options=options)
    if kind != "CronJob":
        pods_of(namespace, kind.lower(), REPLICAS.get(kind, 1))
        # Pods that become ready change the status, and a server-side diff shows what changes while it runs.
        namespace.kubectl("rollout", "status", f"{kind.lower()}/{kind.lower()}", "--timeout=50s", check=True)
    generation = namespace.get(kind, kind.lower())["metadata"]["generation"]
    drift = namespace.kubectl("diff", *options, "-f", "-", stdin=yaml.safe_dump(made))
    assert (drift.code, drift.stdout) == (0, ""), drift.stderr
    again = namespace.kubectl.apply(made, options=options).stdout
    assert again.endswith("serverside-applied\n" if options else "unchanged\n")
    after = namespace.get(kind, kind.lower())
    assert after["metadata"]["generation"] == generation


def test_a_pod_of_a_stateful_set_comes_back_under_its_name_with_a_new_claim(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("StatefulSet", "db", SHARE, replicas=2))
    namespace.kubectl("rollout", "status", "statefulset/db", "--timeout=30s", check=True)
    before = uids_of(pods_of(namespace, "db", 2))
    claims = uids_of(namespace.list("ResourceClaim"))
    namespace.kubectl("delete", "pod", "db-0", "--force", "--grace-period=0", "--wait=false", check=True)
    wait_for(
        lambda: len(uids_of(namespace.pods(app="db")) - before) == 1,
        "a new db-0",
        timeout=NOISY_MACHINE_SECONDS,
        describe=namespace.describe,
    )
    assert namespace.allocation("db-0", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1500
    until_claims(namespace, 2)
    assert len(uids_of(namespace.list("ResourceClaim")) & claims) == 1


def test_a_daemon_set_gets_a_card_on_each_node(namespace: Namespace) -> None:
    namespace.kubectl.apply(WORKLOADS["DaemonSet"])
    pods = pods_of(namespace, "daemonset", 2)
    given = [namespace.allocation(pod["metadata"]["name"]) for pod in pods]
    assert {one.node for one in given} == {T4_NODE, OTHER_NODE}
    assert all(one.only.pool == one.node for one in given)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicationController"])
def test_a_denial_is_told_by_the_controller(namespace: Namespace, kind: str) -> None:
    if kind == "ReplicationController":
        namespace.kubectl.apply(replication_controller(BYTES_BY_MISTAKE))
    else:
        namespace.kubectl.apply(workload(kind, kind.lower(), BYTES_BY_MISTAKE))
    (event, *_) = wait_for(lambda: failed_creations(namespace), "the controller's event", timeout=NOISY_MACHINE_SECONDS)
    assert 'admission webhook "convert.dra-webhook.hami.io" denied the request: ' in event
    assert "16384" in event
    assert namespace.list("Pod") == []
    assert template_names(namespace) == set()


def test_a_denied_deployment_says_why_and_works_when_it_is_corrected(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("Deployment", "web", BYTES_BY_MISTAKE))

    def failure() -> str | None:
        conditions = namespace.get("Deployment", "web").get("status", {}).get("conditions", ())
        return next((c["message"] for c in conditions if c["type"] == "ReplicaFailure"), None)

    assert "16384" in wait_for(failure, "the Deployment to say why", timeout=NOISY_MACHINE_SECONDS)
    namespace.kubectl.apply(workload("Deployment", "web", SHARE))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    (pod,) = pods_of(namespace, "web", 1)
    assert namespace.allocation(pod["metadata"]["name"]).only.memory_mib == 1500


def test_a_warning_for_a_workload_is_kept_on_its_pods(namespace: Namespace) -> None:
    limits = {**SHARE, "nvidia.com/gpumem-percentage": 50}
    said = namespace.kubectl.apply(workload("Deployment", "web", limits))
    assert said.warnings == []  # nobody reads what the API server tells the ReplicaSet controller
    (pod,) = pods_of(namespace, "web", 1)
    assert "memory-and-percentage" in pod["metadata"]["annotations"]["hami.io/dra-warnings"]
