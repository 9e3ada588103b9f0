"""What check says of the Deployment, its replicas and their permissions."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.health.finding import Finding, State, ok
from app.check.health.permissions import permissions
from app.check.health.replicas import disruption_budget, replicas, versions
from tests.check.kit import HELM, NAME, NAMESPACE, OWN, deployment, healthy, line, replica

JSON = Any
KUBECTL = f"kubectl --namespace {NAMESPACE}"
ON = f"in Deployment {NAMESPACE}/{NAME}"


async def test_two_ready_replicas_are_fine() -> None:
    assert await line(replicas, healthy()) == ok(f"2 of 2 ready {ON}")


@pytest.mark.parametrize(
    ("state", "status", "found", "reason", "fix"),
    [
        (
            State.FAIL,
            deployment(0),
            f"0 of 0 ready {ON}",
            "pods with legacy keys are refused in opted-in namespaces",
            f"{KUBECTL} scale deployment/{NAME} --replicas=2",
        ),
        (
            State.FAIL,
            deployment(2, ready=0),
            f"0 of 2 ready {ON}",
            "pods with legacy keys are refused in opted-in namespaces",
            f"{KUBECTL} logs deployment/{NAME}",
        ),
        (
            State.WARN,
            deployment(2, ready=1),
            f"1 of 2 ready {ON}",
            "a roll-out is under way, or hangs",
            f"{KUBECTL} rollout status deployment/{NAME}",
        ),
        (
            State.WARN,
            deployment(2, updatedReplicas=1),
            f"2 of 2 ready {ON}",
            "a roll-out is under way, or hangs",
            f"{KUBECTL} rollout status deployment/{NAME}",
        ),
        (
            State.WARN,
            deployment(2, observedGeneration=2),
            f"2 of 2 ready {ON}",
            "the controller has not seen the newest change",
            "look again in a minute",
        ),
        (
            State.WARN,
            deployment(1),
            f"1 of 1 ready {ON}",
            "pods with legacy keys are refused while the only replica restarts",
            f"{KUBECTL} scale deployment/{NAME} --replicas=2",
        ),
    ],
)
async def test_what_is_wrong_with_the_deployment_is_told(
    state: State, status: JSON, found: str, reason: str, fix: str
) -> None:
    cluster = healthy()
    cluster.put("deployments", status)
    assert await line(replicas, cluster) == Finding(state, found, reason, fix)


async def test_without_a_deployment_another_namespace_is_suggested() -> None:
    cluster = healthy()
    cluster.remove("deployments", NAME)
    found = await line(replicas, cluster)
    assert (found.state, found.found) == (State.FAIL, f"no Deployment of the chart in namespace {NAMESPACE}")
    assert found.fix.startswith("name its namespace with --namespace")


async def test_a_deployment_of_somebody_else_is_not_taken_for_ours() -> None:
    cluster = healthy()
    cluster.one("deployments", NAME)["metadata"]["labels"]["helm.sh/chart"] = "ingress-1.0.0"
    assert (await line(replicas, cluster)).state is State.FAIL


@pytest.mark.parametrize(
    ("image", "label"),
    [
        (f"example.org/w:{OWN}", "9.9.9"),
        (f"example.org/w:v{OWN}@sha256:abc", "9.9.9"),
        ("example.org:5000/w", OWN),
        ("example.org/w:nightly", OWN),
    ],
)
async def test_the_version_is_that_of_the_tag_else_that_of_the_label(image: str, label: str) -> None:
    cluster = healthy()
    for i in range(2):
        cluster.put("pods", replica(f"{NAME}-{i}", image, label))
    assert await line(versions, cluster) == ok(f"replicas are {OWN}")


async def test_replicas_of_another_version_are_a_warning() -> None:
    cluster = healthy()
    for i in range(2):
        cluster.put("pods", replica(f"{NAME}-{i}", "example.org/w:9.9.9"))
    assert await line(versions, cluster) == Finding(
        State.WARN,
        "replicas are 9.9.9",
        f"this program is {OWN} and may judge otherwise than they do",
        "use version 9.9.9 of it",
    )


async def test_pods_that_have_ended_are_no_replicas() -> None:
    cluster = healthy()
    cluster.put("pods", {**replica("evicted", "example.org/w:9.9.9"), "status": {"phase": "Failed"}})
    assert await line(versions, cluster) == ok(f"replicas are {OWN}")


async def test_replicas_of_two_versions_are_a_roll_out() -> None:
    cluster = healthy()
    cluster.put("pods", replica(f"{NAME}-0", "example.org/w:9.9.9"))
    found = await line(versions, cluster)
    assert (found.state, found.found) == (State.WARN, f"replicas are {OWN}, 9.9.9")


async def test_one_budget_that_selects_the_replicas_is_fine() -> None:
    assert await line(disruption_budget, healthy()) == ok(f"PodDisruptionBudget {NAME}")


async def test_without_a_budget_a_drain_may_take_all_replicas() -> None:
    cluster = healthy()
    cluster.one("poddisruptionbudgets", NAME)["spec"]["selector"]["matchLabels"] = {"app": "other"}
    found = await line(disruption_budget, cluster)
    assert (found.state, found.found, found.fix) == (
        State.WARN,
        "no PodDisruptionBudget",
        f"{HELM} --set podDisruptionBudget.enabled=true",
    )


async def test_two_budgets_keep_nodes_from_being_drained() -> None:
    cluster = healthy()
    second = cluster.one("poddisruptionbudgets", NAME) | {"metadata": {"name": "second", "namespace": NAMESPACE}}
    cluster.put("poddisruptionbudgets", second)
    found = await line(disruption_budget, cluster)
    assert (found.state, found.fix) == (State.WARN, "leave one of them")


async def test_one_replica_needs_no_budget() -> None:
    cluster = healthy()
    cluster.put("deployments", deployment(1))
    assert await line(disruption_budget, cluster) == ok("one replica needs none")


async def test_all_permissions_are_there() -> None:
    assert await line(permissions, healthy()) == ok(f"ServiceAccount {NAMESPACE}/{NAME} has all 17")


async def test_a_missing_permission_is_named_with_its_place() -> None:
    cluster = healthy()
    cluster.denied_permissions = {("update", "leases"), ("patch", "resourceclaimtemplates")}
    assert await line(permissions, cluster) == Finding(
        State.FAIL,
        f"ServiceAccount {NAMESPACE}/{NAME} may not patch resourceclaimtemplates, "
        f"update leases hami-dra-webhook-sweeper in {NAMESPACE}",
        "templates, certificates or the caBundle are not written, and pods are refused",
        f"{HELM} --set rbac.create=true",
    )


async def test_without_the_right_to_ask_permissions_are_unknown() -> None:
    cluster = healthy()
    cluster.forbidden = {"subjectaccessreviews"}
    found = await line(permissions, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "not permitted, or no answer: subjectaccessreviews")
