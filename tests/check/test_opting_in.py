"""What check says of namespaces, templates and the sweeper, and its proof."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.check.health.finding import Finding, State, ok
from app.check.health.live import live_test
from app.check.health.namespaces import excluded_namespaces, namespaces
from app.check.health.templates import sweeper, templates
from app.cluster.api import ApiError
from tests.check.kit import NAMESPACE, Cluster, healthy, lease, line, namespace

JSON = Any


async def test_opted_in_namespaces_are_named() -> None:
    cluster = healthy()
    cluster.put("namespaces", namespace("team-b", "enabled"))
    cluster.put("namespaces", namespace("team-c", "disabled"))
    assert await line(namespaces, cluster) == ok("2 opted in: team-a, team-b")


async def test_without_an_opted_in_namespace_nothing_is_converted() -> None:
    cluster = healthy()
    cluster.remove("namespaces", "team-a")
    assert await line(namespaces, cluster) == Finding(
        State.WARN,
        "no namespace opted in",
        "nothing is converted",
        "kubectl label namespace NAMESPACE hami.io/dra-webhook=enabled",
    )


async def test_a_value_that_counts_for_nothing_is_a_warning() -> None:
    cluster = healthy()
    cluster.put("namespaces", namespace("team-b", "true"))
    assert await line(namespaces, cluster) == Finding(
        State.WARN,
        "1 opted in; team-b with another value of hami.io/dra-webhook",
        "only the value enabled opts in",
        "kubectl label --overwrite namespace team-b hami.io/dra-webhook=enabled",
    )


@pytest.mark.parametrize("forbidden", [set(), {"mutatingwebhookconfigurations"}])
async def test_opted_in_namespaces_that_are_left_out_are_named(forbidden: set[str]) -> None:
    cluster = healthy()
    cluster.forbidden = forbidden
    cluster.put("namespaces", namespace("kube-system", "enabled"))
    assert await line(excluded_namespaces, cluster) == Finding(
        State.WARN,
        "kube-system opted in and left out",
        "the webhook is never asked about these namespaces, so nothing is converted there",
        "kubectl label namespace kube-system hami.io/dra-webhook-",
    )


async def test_no_namespace_is_left_out() -> None:
    assert await line(excluded_namespaces, healthy()) == ok("no opted-in namespace is left out")


def template(name: str, age: timedelta) -> JSON:
    renewed = {"hami.io/dra-webhook-renewed": f"{datetime.now(UTC) - age:%Y-%m-%dT%H:%M:%SZ}"}
    metadata = {
        "name": name,
        "namespace": "team-a",
        "labels": {"hami.io/dra-webhook-template": "true"},
        "annotations": renewed,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata, "spec": {"spec": {}}}


def user(name: str) -> JSON:
    labels = {"hami.io/dra-webhook-converted": "true"}
    claims = [{"name": "main-gpu", "resourceClaimTemplateName": name}]
    return {"metadata": {"name": "user", "namespace": "team-a", "labels": labels}, "spec": {"resourceClaims": claims}}


async def test_young_and_used_templates_are_fine() -> None:
    cluster = healthy()
    cluster.put("resourceclaimtemplates", template("young", timedelta(minutes=70)))
    cluster.put("resourceclaimtemplates", template("used", timedelta(hours=9)))
    cluster.put("pods", user("used"))
    assert await line(templates, cluster) == ok("2 made by the webhook")


async def test_templates_that_should_be_gone_are_a_warning() -> None:
    cluster = healthy()
    cluster.put("resourceclaimtemplates", template("left", timedelta(minutes=80)))
    found = await line(templates, cluster)
    assert (found.state, found.found) == (
        State.WARN,
        "1 made by the webhook, 1 of them unused for more than 1:15:00",
    )


async def test_a_lease_that_is_renewed_is_fine() -> None:
    assert await line(sweeper, healthy()) == ok("held by replica-0")


@pytest.mark.parametrize(
    ("state", "spec", "found"),
    [
        (State.WARN, None, "Lease hami-dra-webhook-sweeper is not there"),
        (State.WARN, {}, "Lease hami-dra-webhook-sweeper is there, and nobody holds it"),
    ],
)
async def test_a_lease_that_nobody_holds_is_told(state: State, spec: JSON, found: str) -> None:
    cluster = healthy()
    cluster.remove("leases", "hami-dra-webhook-sweeper")
    if spec is not None:
        cluster.put("leases", lease() | {"spec": spec})
    said = await line(sweeper, cluster)
    assert said.state is state
    assert said.found.startswith(found)


async def test_a_lease_that_nobody_renews_is_told() -> None:
    cluster = healthy()
    cluster.remove("leases", "hami-dra-webhook-sweeper")
    cluster.put("leases", lease("replica-9", datetime.now(UTC) - timedelta(minutes=20)))
    said = await line(sweeper, cluster)
    assert said.state is State.FAIL
    assert said.found.startswith("replica-9 renewed Lease hami-dra-webhook-sweeper 0:2")


async def test_a_pod_that_comes_back_with_a_claim_is_the_proof() -> None:
    cluster = healthy()
    assert await line(live_test, cluster) == ok("a dry run in namespace team-a came back with a claim")
    assert cluster.dry_runs == ["pods"]


async def test_a_pod_that_comes_back_unconverted_is_a_fault() -> None:
    cluster = healthy()
    cluster.admit = lambda pod: pod
    found = await line(live_test, cluster)
    assert (found.state, found.found) == (State.FAIL, "a dry run in namespace team-a came back unconverted")


def refusing(message: str) -> Cluster:
    cluster = healthy()

    def refuse(_: JSON) -> JSON:
        raise ApiError(403, "Forbidden", message)

    cluster.admit = refuse
    return cluster


async def test_a_refusal_by_the_webhook_is_a_fault_in_its_own_words() -> None:
    message = 'admission webhook "convert.dra-webhook.hami.io" denied the request: no'
    found = await line(live_test, refusing(message))
    assert (found.state, found.reason) == (State.FAIL, message)


async def test_a_refusal_by_an_entry_that_was_renamed_is_a_fault() -> None:
    cluster = refusing('admission webhook "gpu.example.org" denied the request: no')
    cluster.one("mutatingwebhookconfigurations", "zz-hami-dra-webhook")["webhooks"][0]["name"] = "gpu.example.org"
    assert (await line(live_test, cluster)).state is State.FAIL


async def test_who_may_not_read_the_configuration_knows_the_webhook_by_its_usual_name() -> None:
    cluster = refusing('failed calling webhook "convert.dra-webhook.hami.io": no answer')
    cluster.forbidden = {"mutatingwebhookconfigurations"}
    assert (await line(live_test, cluster)).state is State.FAIL


@pytest.mark.parametrize(
    "message",
    [
        'pods "legacy" is forbidden: exceeded quota: pods',
        'admission webhook "validate.kyverno.svc-fail" denied the request: no',
    ],
)
async def test_a_refusal_by_others_proves_nothing(message: str) -> None:
    found = await line(live_test, refusing(message))
    assert (found.state, found.found) == (State.UNKNOWN, "a dry run in namespace team-a was refused")


async def test_without_the_right_to_create_pods_there_is_no_proof() -> None:
    cluster = refusing('pods is forbidden: User "viewer" cannot create resource "pods" in API group ""')
    found = await line(live_test, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "not permitted, or no answer: pods in team-a")


async def test_nobody_is_tried_in_a_namespace_that_is_left_out() -> None:
    cluster = healthy()
    cluster.remove("namespaces", "team-a")
    cluster.put("namespaces", namespace(NAMESPACE, "enabled"))
    found = await line(live_test, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "no namespace to try it in")
    assert cluster.dry_runs == []
