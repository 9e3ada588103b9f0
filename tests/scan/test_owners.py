"""Pods are grouped by the object on top, and counted there."""

from __future__ import annotations

from app.check.scan.judge import Workload
from app.check.scan.render_json import to_json
from app.check.scan.report import ScanReport
from tests.scan.clusters import SHARE, controller, outcomes, owner, pod, scanned


def only(report: ScanReport) -> Workload:
    assert len(report.workloads) == 1, [str(one.ref) for one in report.workloads]
    return report.workloads[0]


def test_pods_of_a_replica_set_belong_to_its_deployment() -> None:
    report = scanned(
        controller("Deployment", "web", SHARE, replicas=3),
        controller("ReplicaSet", "web-7d9f", SHARE, above=owner("Deployment", "web"), replicas=3),
        controller("ReplicaSet", "web-5c4b", SHARE, above=owner("Deployment", "web"), replicas=0),
        pod("web-7d9f-a", SHARE, above=owner("ReplicaSet", "web-7d9f")),
        pod("web-7d9f-b", SHARE, above=owner("ReplicaSet", "web-7d9f")),
    )
    one = only(report)
    assert (str(one.ref), one.pods, one.running) == ("team/Deployment/web", 3, 2)


def test_pods_of_a_job_belong_to_its_cron_job_and_tell_how_many_run() -> None:
    report = scanned(
        controller("CronJob", "nightly", SHARE, schedule="0 3 * * *"),
        controller("Job", "nightly-1", SHARE, above=owner("CronJob", "nightly"), parallelism=5),
        pod("nightly-1-a", SHARE, above=owner("Job", "nightly-1")),
    )
    one = only(report)
    assert (str(one.ref), one.pods, one.running) == ("team/CronJob/nightly", 1, 1)


def test_a_custom_owner_is_named_by_the_reference_alone() -> None:
    ray = owner("RayCluster", "tuning", "ray.io/v1")
    report = scanned(pod("head", above=ray), pod("worker-1", SHARE, above=ray), pod("worker-2", SHARE, above=ray))
    one = only(report)
    assert (one.ref.api_version, str(one.ref), one.pods) == ("ray.io/v1", "team/RayCluster/tuning", 3)
    assert sorted((judged.outcome.value, judged.variant.pods) for judged in one.judged) == [
        ("converts", 2),
        ("no-gpu", 1),
    ]


def test_a_template_below_a_custom_owner_counts_for_the_custom_owner() -> None:
    report = scanned(
        controller(
            "Job", "set-workers", SHARE, above=owner("JobSet", "set", "jobset.x-k8s.io/v1alpha2"), parallelism=4
        ),
        pod("set-workers-a", SHARE, above=owner("Job", "set-workers")),
    )
    one = only(report)
    assert (str(one.ref), one.pods, one.running) == ("team/JobSet/set", 4, 1)


def test_a_pod_may_be_the_owner_of_a_stateful_set() -> None:
    """As LeaderWorkerSets make it: set → StatefulSet of leaders → leader pod → StatefulSet of its workers."""
    group = owner("LeaderWorkerSet", "llm", "leaderworkerset.x-k8s.io/v1")
    report = scanned(
        controller("StatefulSet", "llm", SHARE, above=group, replicas=1),
        pod("llm-0", SHARE, above=owner("StatefulSet", "llm")),
        controller("StatefulSet", "llm-0", SHARE, above=owner("Pod", "llm-0"), replicas=2),
        pod("llm-0-1", SHARE, above=owner("StatefulSet", "llm-0")),
    )
    one = only(report)
    assert (str(one.ref), one.pods, one.running) == ("team/LeaderWorkerSet/llm", 3, 2)


def test_former_revisions_below_a_custom_owner_are_left_out() -> None:
    rollout = owner("Rollout", "web", "argoproj.io/v1alpha1")
    report = scanned(
        controller("ReplicaSet", "web-1", {"nvidia.com/gpu": 99}, above=rollout, replicas=0),
        controller("ReplicaSet", "web-2", SHARE, above=rollout, replicas=2),
    )
    one = only(report)
    assert (one.outcome.value, one.pods) == ("converts", 2)


def test_an_owner_that_cannot_be_read_still_groups_its_pods() -> None:
    lost = owner("ReplicaSet", "web-7d9f")
    one = only(scanned(pod("a", SHARE, above=lost), pod("b", SHARE, above=lost)))
    assert (str(one.ref), one.pods) == ("team/ReplicaSet/web-7d9f", 2)


def test_replica_sets_and_jobs_that_cannot_be_read_are_recognised_by_their_names() -> None:
    report = scanned(
        controller("Deployment", "web", SHARE, replicas=2),
        controller("CronJob", "nightly", SHARE, schedule="0 3 * * *"),
        pod("web-7d9f-a", SHARE, above=owner("ReplicaSet", "web-7d9f")),
        pod("nightly-29401980-a", SHARE, above=owner("Job", "nightly-29401980")),
        pod("other-7d9f-a", SHARE, above=owner("ReplicaSet", "other-7d9f")),
    )
    assert {f"{one.ref.kind}/{one.ref.name}": (one.pods, one.running) for one in report.workloads} == {
        "CronJob/nightly": (1, 1),
        "Deployment/web": (2, 1),
        "ReplicaSet/other-7d9f": (1, 1),
    }


def test_owners_in_a_circle_end_the_search() -> None:
    report = scanned(
        controller("ReplicaSet", "a", SHARE, above=owner("ReplicaSet", "b"), replicas=1),
        controller("ReplicaSet", "b", SHARE, above=owner("ReplicaSet", "c"), replicas=1),
        controller("ReplicaSet", "c", SHARE, above=owner("ReplicaSet", "a"), replicas=1),
        pod("a-1", SHARE, above=owner("ReplicaSet", "a")),
    )
    assert {one.ref.name: one.running for one in report.workloads} == {"a": 1, "b": 0, "c": 0}


def test_the_template_counts_and_not_what_the_old_webhook_made_of_its_pods() -> None:
    report = scanned(
        controller("Deployment", "web", {"nvidia.com/gpu": 1}, replicas=1),
        controller("ReplicaSet", "web-1", {"nvidia.com/gpu": 1}, above=owner("Deployment", "web"), replicas=1),
        pod("web-1-a", {"nvidia.com/gpu": 1, "nvidia.com/gpucores": 100}, above=owner("ReplicaSet", "web-1")),
    )
    (claim,) = only(report).judged[0].claims
    assert dict(claim.read) == {"nvidia.com/gpu": 1}


def test_pods_asked_for_now_by_kind() -> None:
    report = scanned(
        controller("DaemonSet", "agent", SHARE, status={"desiredNumberScheduled": 7}),
        controller("Job", "most-left", SHARE, parallelism=4, completions=10, status={"succeeded": 3}),
        controller("Job", "one-left", SHARE, parallelism=4, completions=10, status={"succeeded": 9}),
        controller("Job", "suspended", SHARE, parallelism=4, suspend=True),
        controller("ReplicationController", "old", SHARE, replicas=2),
        controller("StatefulSet", "defaulted", SHARE),
    )
    assert {one.ref.name: one.pods for one in report.workloads} == {
        "agent": 7, "most-left": 4, "one-left": 1, "suspended": 0, "old": 2, "defaulted": 1,
    }  # fmt: skip


def test_null_counts_are_those_that_api_servers_fill_in() -> None:
    report = scanned(
        controller("Deployment", "w", SHARE, replicas=None), controller("Job", "j", SHARE, parallelism=None)
    )
    assert {one.ref.name: one.pods for one in report.workloads} == {"w": 1, "j": 1}


def test_steps_that_have_ended_refuse_nothing() -> None:
    flow = owner("Workflow", "w", "argoproj.io/v1alpha1")
    ended = controller(
        "Job", "j", {"nvidia.com/gpu": 99}, above=flow, status={"conditions": [{"type": "Failed", "status": "True"}]}
    )
    first = pod("a", {"nvidia.com/gpu": 99}, above=flow, phase="Succeeded")
    assert outcomes(scanned(first, ended, pod("b", SHARE, above=flow))) == {"Workflow/w": "converts"}


def test_what_has_ended_is_counted_apart() -> None:
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    report = scanned(
        controller("Job", "done", {"nvidia.com/gpu": 99}, status=complete),
        pod("done-a", {"nvidia.com/gpu": 99}, above=owner("Job", "done"), phase="Succeeded"),
        pod("crashed", SHARE, phase="Failed"),
        pod("going", SHARE, metadata={"deletionTimestamp": "2026-11-30T10:00:00Z"}),
    )
    assert report.workloads == ()
    assert (report.finished, report.pods, to_json(report)["summary"]["finished"]) == (3, 0, 3)
