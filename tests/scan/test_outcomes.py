"""Every workload has one outcome, in the words of the translation."""

from __future__ import annotations

import pytest

from app.check.scan.judge import Outcome
from app.check.scan.render_json import to_json
from tests.scan.clusters import (
    GPU,
    MEMORY,
    PERCENT,
    READY,
    SHARE,
    cards,
    container,
    controller,
    device_class,
    labelled,
    outcomes,
    owner,
    pod,
    scanned,
)

LIMIT_RANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "bounds", "namespace": "team"},
    "spec": {"limits": [{"type": "Container", "max": {GPU: 2}}]},
}


@pytest.mark.parametrize(
    ("obj", "outcome", "code"),
    [
        (pod("p", SHARE), "converts", "converted"),
        (
            pod("p", SHARE, metadata={"annotations": {"hami.io/gpu-scheduler-policy": "spread"}}),
            "converts-with-warnings",
            "converted",
        ),
        (pod("p", {GPU: 99}), "denied", "too-many-devices"),
        (pod("p", {GPU: "0.5"}), "invalid", "invalid-request"),
        (pod("p", SHARE, schedulerName="volcano"), "foreign-scheduler", "foreign-scheduler"),
        (pod("p", {"nvidia.com/gpu.shared": 1}), "stays", "keys-stay"),
        (pod("p", SHARE, metadata={"labels": {"hami.io/webhook": "ignore"}}), "stays", "opted-out"),
        (pod("p", SHARE, metadata={"namespace": "kube-system"}), "stays", "opted-out"),
        (pod("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}]), "already-dra", "no-legacy-keys"),
        (
            pod("p", metadata={"labels": {"hami.io/dra-webhook-converted": "true"}}, resourceClaims=[{"name": "c"}]),
            "already-dra",
            "already-converted",
        ),
    ],
)
def test_outcomes_come_from_the_decision(obj: dict[str, object], outcome: str, code: str) -> None:
    (one,) = scanned(obj).workloads
    assert (one.outcome.value, [note.reason.value for note in one.reasons][:1]) == (outcome, [code])


def test_workloads_without_devices_are_counted_and_not_listed() -> None:
    report = scanned(pod("web", {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}), controller("Deployment", "api"))
    assert report.outcomes[Outcome.NO_GPU] == 2
    assert to_json(report)["workloads"] == []


def test_the_worst_pod_decides_about_a_workload() -> None:
    ray = owner("RayCluster", "tuning", "ray.io/v1")
    report = scanned(pod("head", SHARE, above=ray), pod("worker", {GPU: 99}, above=ray))
    (one,) = to_json(report)["workloads"]
    assert (one["outcome"], [reason["code"] for reason in one["reasons"]]) == ("denied", ["too-many-devices"])


def test_S2_namespaces_that_opted_out_keep_their_requests() -> None:
    report = scanned(pod("p", SHARE), labelled("team", {"hami.io/webhook": "ignore"}))
    (one,) = report.workloads
    assert (one.outcome, one.reasons[0].message) == (
        Outcome.STAYS,
        "the namespace team has the label hami.io/webhook: ignore",
    )


def test_S2_the_own_namespace_is_known_from_the_settings_or_from_the_registration() -> None:
    assert outcomes(scanned(pod("p", SHARE), own_namespace="team")) == {"Pod/p": "stays"}
    registration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "zz-release-of-another-name"},
        "webhooks": [
            {"name": "convert.dra-webhook.hami.io", "clientConfig": {"service": {"namespace": "team", "name": "w"}}}
        ],
    }
    assert outcomes(scanned(pod("p", SHARE), registration)) == {"Pod/p": "stays"}


def test_S72_a_limit_range_denies_what_would_convert() -> None:
    report = scanned(pod("p", SHARE), LIMIT_RANGE)
    (one,) = report.workloads
    assert (one.outcome, one.reasons[0].reason.value) == (Outcome.DENIED, "limit-range")


def test_S46_a_class_that_is_missing_denies_unless_it_is_taken_for_installed() -> None:
    objects = (pod("p", SHARE), pod("half", {GPU: 1, PERCENT: 50}))
    assert set(outcomes(scanned(*objects, devices=())).values()) == {"denied"}
    as_if = scanned(*objects, devices=(), as_if_installed=True)
    assert outcomes(as_if) == {"Pod/half": "converts-with-warnings", "Pod/p": "converts"}
    assert not as_if.ready


def test_pods_without_devices_warn_when_they_name_the_old_scheduler() -> None:
    report = scanned(pod("p", schedulerName="hami-scheduler"))
    (one,) = to_json(report)["workloads"]
    assert (one["outcome"], [warning["code"] for warning in one["warnings"]]) == ("no-gpu", ["scheduler-without-keys"])


def test_S71_annotations_on_the_workload_are_noticed() -> None:
    report = scanned(
        controller("Deployment", "w", SHARE, metadata={"annotations": {"nvidia.com/use-gpuuuid": "GPU-a"}})
    )
    (one,) = report.workloads
    assert [note.reason.value for note in one.warnings] == ["annotation-on-workload"]


def test_a_bound_pod_is_judged_as_it_was_created() -> None:
    """The node that the scheduler chose, and what HAMi's scheduler wrote, are not the user's."""
    bound = pod("p", SHARE, metadata={"annotations": {"hami.io/vgpu-node": "gpu-1"}}, nodeName="gpu-1")
    assert outcomes(scanned(bound)) == {"Pod/p": "converts"}


def test_S7_a_node_that_the_user_named_stays_named() -> None:
    fields = {"f:spec": {"f:nodeName": {}}}
    named = pod("p", SHARE, metadata={"managedFields": [{"manager": "kubectl", "fieldsV1": fields}]}, nodeName="gpu-1")
    (one,) = scanned(named).workloads
    assert [note.reason.value for note in one.warnings] == ["node-name-pinned"]


def test_pods_that_cannot_be_listed_are_unknown_and_not_none() -> None:
    report = to_json(
        scanned(
            controller("Deployment", "web", SHARE, replicas=3),
            controller("CronJob", "nightly", SHARE, schedule="0 3 * * *"),
            unread=["pods"],
        )
    )
    rows = {one["name"]: (one["pods"], one["running"], one["served"]) for one in report["workloads"]}
    assert rows == {"web": (3, None, None), "nightly": (None, None, None)}
    assert (report["summary"]["pods"], report["namespaces"][0]["pods"]) == (None, None)


def test_reasons_are_counted_by_workload() -> None:
    privileged = container(SHARE, securityContext={"privileged": True})
    report = scanned(pod("a", {GPU: 99}), pod("b", {GPU: 99}), pod("c", containers=[privileged]))
    counted = {one["code"]: one["workloads"] for one in to_json(report)["reasons"]}
    assert counted == {"too-many-devices": 2, "privileged": 1}


@pytest.mark.parametrize(
    ("objects", "devices", "ready"),
    [
        ((pod("p", SHARE),), READY, True),
        ((pod("p", SHARE, schedulerName="volcano"),), READY, True),
        ((pod("p", {GPU: 99}),), READY, False),
        ((pod("p", {GPU: "0.5"}),), READY, False),
        ((pod("p", SHARE),), (device_class(),), False),
        ((), (), True),
        ((pod("p", {GPU: 1, MEMORY: 50000}),), (device_class(), cards(4)), False),
    ],
)
def test_ready_means_nothing_is_refused_and_nothing_blocks(
    objects: tuple[dict[str, object], ...], devices: tuple[dict[str, object], ...], ready: bool
) -> None:
    assert scanned(*objects, devices=devices).ready is ready
