"""Pods of the Spark operator: what its objects describe, as Spark and the operator build it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from app.preview.workloads import dotted, find_pods
from tests.preview.inputs import shown

JSON = Any
GPU = {"name": "nvidia.com/gpu", "quantity": 2}


def application(**spec: JSON) -> JSON:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "team"},
        "spec": {"image": "example.org/spark:4", **spec},
    }


def limits(manifest: JSON) -> list[JSON]:
    """Of Spark's own container, pod by pod."""
    return [one.pod["spec"]["containers"][0].get("resources", {}).get("limits") for one in find_pods(manifest)]


def test_S71_the_gpu_of_driver_and_executor_is_a_limit_of_their_containers() -> None:
    driver, executor = find_pods(application(driver={"cores": 1}, executor={"gpu": GPU, "instances": 4}))
    assert (dotted(driver.path), dotted(executor.path)) == ("spec.driver", "spec.executor")
    assert driver.pod["spec"] == {"containers": [{"name": "spark-kubernetes-driver"}]}
    assert executor.pod["spec"] == {
        "containers": [{"name": "spark-kubernetes-executor", "resources": {"limits": {"nvidia.com/gpu": 2}}}]
    }
    assert executor.pod["metadata"] == {"generateName": "pi-", "namespace": "team"}


def test_S71_a_scheduled_application_describes_the_same_one_level_deeper() -> None:
    manifest = application(driver={}, executor={"gpu": GPU})
    scheduled = {**manifest, "kind": "ScheduledSparkApplication", "spec": {"template": manifest["spec"]}}
    assert [dotted(one.path) for one in find_pods(scheduled)] == ["spec.template.driver", "spec.template.executor"]
    assert limits(scheduled) == [None, {"nvidia.com/gpu": 2}]


@pytest.mark.parametrize(
    "gpu", [None, {}, {"name": "nvidia.com/gpu"}, {"name": "", "quantity": 1}, {**GPU, "quantity": 0}]
)
def test_a_gpu_that_the_operator_passes_over_is_none(gpu: JSON) -> None:
    assert limits(application(executor={"gpu": gpu})) == [None]


def test_S71_resources_of_the_spark_configuration_count_and_the_field_wins() -> None:
    conf = {
        "spark.executor.resource.gpu.amount": "1",
        "spark.executor.resource.gpu.vendor": "nvidia.com",
        "spark.driver.resource.gpu.amount": "1",
        "spark.task.resource.gpu.amount": "1",
    }
    assert limits(application(sparkConf=conf, driver={}, executor={})) == [None, {"nvidia.com/gpu": "1"}]
    assert limits(application(sparkConf=conf, driver={}, executor={"gpu": GPU})) == [None, {"nvidia.com/gpu": 2}]


def test_what_the_translation_reads_reaches_the_pod() -> None:
    part = {
        "annotations": {"nvidia.com/use-gputype": "T4"},
        "env": [{"name": "A", "value": "b"}],
        "gpu": GPU,
        "initContainers": [{"name": "i"}],
        "nodeSelector": {"a": "b"},
        "schedulerName": "own",
        "securityContext": {"privileged": True},
        "sidecars": [{"name": "s"}],
        "tolerations": [{"operator": "Exists"}],
    }
    (found,) = find_pods(application(executor=part))
    assert found.pod["metadata"]["annotations"] == {"nvidia.com/use-gputype": "T4"}
    assert found.pod["spec"] == {
        "containers": [
            {
                "name": "spark-kubernetes-executor",
                "env": [{"name": "A", "value": "b"}],
                "resources": {"limits": {"nvidia.com/gpu": 2}},
                "securityContext": {"privileged": True},
            },
            {"name": "s"},
        ],
        "initContainers": [{"name": "i"}],
        "nodeSelector": {"a": "b"},
        "schedulerName": "own",
        "tolerations": [{"operator": "Exists"}],
    }


def test_a_batch_scheduler_wins() -> None:
    (found,) = find_pods(application(batchScheduler="volcano", executor={"schedulerName": "own", "gpu": GPU}))
    assert found.pod["spec"]["schedulerName"] == "volcano"


def test_a_template_beside_the_fields_is_the_same_pod() -> None:
    template = {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {
            "containers": [
                {"name": "first"},
                {"name": "spark-kubernetes-executor", "resources": {"limits": {"nvidia.com/gpumem": 4000}}},
            ]
        },
    }
    (found,) = find_pods(application(executor={"gpu": GPU, "template": template}))
    assert found.pod["metadata"]["annotations"] == {"a": "b"}
    assert found.pod["spec"]["containers"] == [
        {
            "name": "spark-kubernetes-executor",
            "resources": {"limits": {"nvidia.com/gpumem": 4000, "nvidia.com/gpu": 2}},
        },
        {"name": "first"},
    ]


@pytest.mark.parametrize("spec", [None, [], "x", {"driver": None, "executor": []}])
def test_an_application_without_pods_has_none(spec: JSON) -> None:
    assert find_pods({**application(), "spec": spec}) == []


def test_S71_the_preview_shows_what_the_executors_become_and_leaves_the_object() -> None:
    manifest = application(executor={"gpu": GPU})
    (item,) = shown(yaml.safe_dump(manifest)).report()["items"]
    assert item["outcome"] == "converted"
    (container,) = item["containers"]
    assert (container["name"], container["claims"][0]["devices"]) == ("spark-kubernetes-executor", 2)
    assert item["object"] == manifest
