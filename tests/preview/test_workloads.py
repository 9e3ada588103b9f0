"""The pods that an object leads to are found, and built as their controller would create them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.preview.workloads import dotted, find_pods, manifests, name_of, queued, rewritable
from tests.preview.inputs import container, pod, template, workload

KUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}


def custom(version: str, kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "w", "namespace": "n", **metadata}, "spec": spec}


def paths(manifest: dict[str, Any]) -> list[str]:
    return [dotted(found.path) for found in find_pods(manifest)]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (pod(), [""]),
        ({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "w"}, "template": template()}, ["template"]),
        (workload("ReplicationController", "v1"), ["spec.template"]),
        (workload("Deployment"), ["spec.template"]),
        (workload("ReplicaSet"), ["spec.template"]),
        (workload("StatefulSet"), ["spec.template"]),
        (workload("DaemonSet"), ["spec.template"]),
        (workload("Job", "batch/v1"), ["spec.template"]),
        (
            custom("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": template()}}}),
            ["spec.jobTemplate.spec.template"],
        ),
        (
            custom(
                "ray.io/v1",
                "RayCluster",
                {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [{"template": template()}] * 2},
            ),
            ["spec.headGroupSpec.template", "spec.workerGroupSpecs[0].template", "spec.workerGroupSpecs[1].template"],
        ),
        (
            custom(
                "kubeflow.org/v1",
                "PyTorchJob",
                {"pytorchReplicaSpecs": {"Master": {"template": template()}, "Worker": {"template": template()}}},
            ),
            ["spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"],
        ),
        (custom("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"template": template()}]}), ["spec.tasks[0].template"]),
        (
            custom(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                {"leaderWorkerTemplate": {"leaderTemplate": template(), "workerTemplate": template()}},
            ),
            ["spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"],
        ),
        (
            custom("serving.kserve.io/v1beta1", "InferenceService", {"predictor": {"model": {"resources": {}}}}),
            ["spec.predictor"],
        ),
        (
            custom(
                "serving.kserve.io/v1beta1",
                "InferenceService",
                {
                    "predictor": {"containers": [container()], "workerSpec": {"containers": [container()]}},
                    "transformer": {"containers": [container()]},
                },
            ),
            ["spec.predictor", "spec.predictor.workerSpec", "spec.transformer"],
        ),
        (custom("serving.kserve.io/v1alpha1", "ServingRuntime", {"containers": [container()]}), ["spec"]),
        (custom("serving.knative.dev/v1", "Service", {"template": template()}), ["spec.template"]),
        (
            custom(
                "argoproj.io/v1alpha1",
                "Workflow",
                {
                    "templates": [
                        {"name": "a", "container": {"image": "x"}},
                        {"name": "b", "script": {"image": "x"}},
                        {"name": "c", "steps": []},
                    ]
                },
            ),
            ["spec.templates[0]", "spec.templates[1]"],
        ),
        (custom("argoproj.io/v1alpha1", "Rollout", {"template": template()}), ["spec.template"]),
        (custom("example.org/v1", "Thing", {"odd.key": {"template": template()}}), ['spec["odd.key"].template']),
        (custom("example.org/v1", "Thing", {"containers": "none", "template": {"spec": {"containers": []}}}), []),
        ({**custom("example.org/v1", "Thing", {}), "status": {"template": template()}}, []),
        (custom("kyverno.io/v1", "ClusterPolicy", {"rules": [{"validate": {"pattern": template()}}]}), []),
        (custom("v1", "Service", {"ports": []}), []),
        (custom("apps/v1", "Deployment", {"template": None}), []),
        (custom("apps/v1", "Deployment", None), []),
    ],
    ids=lambda value: f"{value['kind']}" if isinstance(value, dict) else None,
)
def test_S71_pods_are_found_in_built_in_and_custom_kinds(manifest: dict[str, Any], expected: list[str]) -> None:
    assert paths(manifest) == expected


def test_a_pod_of_a_workload_carries_what_its_controller_copies() -> None:
    manifest = workload(namespace="n", labels={"not": "copied"})
    manifest["spec"]["template"] = template(container(), labels={"app": "w"}, annotations={"a": "b"}, name="ignored")
    (found,) = find_pods(manifest)
    assert found.pod["metadata"] == {
        "generateName": "w-",
        "namespace": "n",
        "labels": {"app": "w"},
        "annotations": {"a": "b"},
    }
    assert found.pod["spec"] == manifest["spec"]["template"]["spec"]


def test_names_are_those_of_the_controllers() -> None:
    (found,) = find_pods(workload("StatefulSet"))
    assert found.pod["metadata"] == {"name": "w-0"}
    job = workload("Job", "batch/v1")
    job["metadata"] = {"generateName": "trial-"}
    (found,) = find_pods(job)
    assert found.pod["metadata"] == {"generateName": "trial-"}
    assert name_of(job) == "Job/trial-"


def test_S71_a_scheduler_beside_the_template_counts() -> None:
    spec = {"schedulerName": "own", "tasks": [{"template": template()}, {"template": template()}]}
    spec["tasks"][1]["template"]["spec"]["schedulerName"] = "nearer"  # type: ignore[index]
    found = find_pods(custom("batch.volcano.sh/v1alpha1", "Job", spec))
    assert [one.pod["spec"]["schedulerName"] for one in found] == ["own", "nearer"]
    (found_one,) = find_pods(custom("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"template": template()}]}))
    assert found_one.pod["spec"]["schedulerName"] == "volcano", "its job webhook fills it in"


def test_S71_a_model_of_kserve_is_the_container_kserve_container() -> None:
    predictor = {
        "annotations": {"nvidia.com/use-gputype": "L40"},
        "minReplicas": 1,
        "serviceAccountName": "s",
        "model": {"modelFormat": {"name": "x"}, "resources": {"limits": {"nvidia.com/gpu": 1}}},
        "containers": [container("sidecar")],
    }
    manifest = custom(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        {"predictor": predictor},
        annotations={"team": "a", "nvidia.com/use-gputype": "T4"},
    )
    (found,) = find_pods(manifest)
    assert [one["name"] for one in found.pod["spec"]["containers"]] == ["kserve-container", "sidecar"]
    assert found.pod["spec"]["containers"][0]["resources"] == predictor["model"]["resources"]  # type: ignore[index]
    assert set(found.pod["spec"]) == {"serviceAccountName", "containers"}
    assert found.pod["metadata"]["annotations"] == {"team": "a", "nvidia.com/use-gputype": "L40"}


@pytest.mark.parametrize(
    ("kind", "around"),
    [
        ("Workflow", lambda spec: spec),
        ("WorkflowTemplate", lambda spec: spec),
        ("CronWorkflow", lambda spec: {"schedule": "@daily", "workflowSpec": spec}),
    ],
)
def test_S71_the_pod_metadata_of_a_workflow_reaches_its_pods_and_those_of_a_template_win(
    kind: str, around: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    spec = {
        "podMetadata": {
            "labels": {"team": "a"},
            "annotations": {"nvidia.com/use-gputype": "T4", "nvidia.com/numa-bind": "true"},
        },
        "templates": [
            {"name": "a", "container": {"image": "x"}},
            {"name": "b", "script": {"image": "x"}, "metadata": {"annotations": {"nvidia.com/use-gputype": "L40"}}},
        ],
    }
    first, second = find_pods(custom("argoproj.io/v1alpha1", kind, around(spec), labels={"not": "copied"}))
    assert first.pod["metadata"]["labels"] == {"team": "a"}
    assert first.pod["metadata"]["annotations"] == {"nvidia.com/use-gputype": "T4", "nvidia.com/numa-bind": "true"}
    assert second.pod["metadata"]["annotations"] == {"nvidia.com/use-gputype": "L40", "nvidia.com/numa-bind": "true"}


def test_containers_without_a_name_get_the_name_their_operator_gives() -> None:
    nameless = {"image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    (found,) = find_pods(custom("serving.knative.dev/v1", "Service", {"template": template(nameless)}))
    assert found.pod["spec"]["containers"] == [{"name": "user-container", **nameless}]
    (found,) = find_pods(
        custom(
            "argoproj.io/v1alpha1",
            "Workflow",
            {"templates": [{"name": "t", "container": nameless, "sidecars": [{"name": "s"}]}]},
        )
    )
    assert [one["name"] for one in found.pod["spec"]["containers"]] == ["main", "s"]
    assert set(found.pod["spec"]) == {"containers"}


def test_lists_are_opened_also_inside_lists() -> None:
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}, "spec": {}}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [workload(), inner, None]}
    found = list(manifests(outer))
    assert [path for path, _ in found] == [("items", 0), ("items", 1, "items", 0), ("items", 2)]
    assert found[1][1] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    allow = {"apiVersion": "example.org/v1", "kind": "AllowList", "spec": {}}
    assert list(manifests(allow)) == [((), allow)], "a kind that merely ends in List"


def test_S71_only_pods_templates_and_the_apps_and_batch_kinds_are_rewritten() -> None:
    assert rewritable(pod())
    assert rewritable(workload())
    assert rewritable(workload("Job", "batch/v1"))
    assert not rewritable(workload("Job", "batch.volcano.sh/v1alpha1"))
    assert not rewritable(custom("ray.io/v1", "RayCluster", {}))


def test_S71_queued_jobs_stay() -> None:
    assert not rewritable(workload("Job", "batch/v1", **KUEUE))
    cron = custom("batch/v1", "CronJob", {"jobTemplate": {"metadata": KUEUE, "spec": {"template": template()}}})
    assert queued(cron)
    assert not rewritable(cron)
    assert rewritable(custom("batch/v1", "CronJob", {"jobTemplate": {"spec": {}}}, **KUEUE)), "its Jobs are not queued"
