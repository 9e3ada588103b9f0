"""S60: applying the file of a converted pod again ends as "configured" and changes nothing, whatever its shape."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.reapply import assert_changes_nothing, each_way, settled, wait_for_the_next_second
from tests.cluster.testbed.hardware import T4_NODE
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod

JSON = Any
SHARE = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
PRIORITY = {**SHARE, "nvidia.com/priority": 0}
WAITS = {"waits": "yes"}
"""Label of the shapes that no node takes; the others are placed."""
USERS_OWN = {"name": "CUDA_TASK_PRIORITY", "value": "1"}
ON_LINUX = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
ON_THAT_HOST = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [T4_NODE]}]}


def required(*terms: JSON, **beside: JSON) -> JSON:
    """A pod's own node affinity."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}, **beside}}


def preferred(term: JSON) -> JSON:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}


SHAPES: dict[str, JSON] = {
    "one-card-and-nothing-else": pod("p", {"nvidia.com/gpu": 1}),
    "two-cards": pod("p", {"nvidia.com/gpu": 2}),
    "no-card": pod("p", {"nvidia.com/gpu": 0}),
    "memory-as-number": pod("p", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000}),
    "memory-as-text": pod("p", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "8000"}),
    "memory-in-thousands": pod("p", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "8k"}),
    "memory-without-a-count": pod("p", {"nvidia.com/gpumem": 4000, "nvidia.com/gpucores": 30}),
    "percentage": pod("p", {"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 50}),
    "requests-spelled-too": pod("p", containers=[container(resources={"limits": SHARE, "requests": SHARE})]),
    "beside-cpu-and-memory": pod(
        "p",
        containers=[container(resources={"limits": {**SHARE, "memory": "1Gi"}, "requests": {"cpu": "100m", **SHARE}})],
    ),
    "hami-scheduler": pod("p", SHARE, schedulerName="hami-scheduler"),
    "node-name": pod("p", SHARE, nodeName=T4_NODE),
    "name-of-no-node": pod("p", SHARE, labels=WAITS, nodeName="gone"),
    "node-name-and-own-affinity": pod("p", SHARE, nodeName=T4_NODE, affinity=required(ON_LINUX, ON_THAT_HOST)),
    "name-of-no-node-and-own-affinity": pod("p", SHARE, labels=WAITS, nodeName="gone", affinity=required(ON_LINUX)),
    "node-name-and-preferred-affinity": pod(
        "p", SHARE, nodeName=T4_NODE, affinity={"nodeAffinity": preferred(ON_LINUX)}
    ),
    "node-name-and-both-affinities": pod(
        "p", SHARE, nodeName=T4_NODE, affinity=required(ON_LINUX, **preferred(ON_THAT_HOST))
    ),
    "own-affinity": pod("p", SHARE, affinity=required(ON_LINUX)),
    "own-toleration": pod("p", SHARE, tolerations=[{"key": "gpu", "operator": "Exists"}]),
    "priority": pod("p", PRIORITY),
    "priority-beside-other-variables": pod("p", containers=[container(PRIORITY, env=[{"name": "A", "value": "a"}])]),
    "priority-that-the-user-sets-too": pod(
        "p", containers=[container({**SHARE, "nvidia.com/priority": 1}, env=[USERS_OWN])]
    ),
    "priority-that-the-user-sets-otherwise": pod("p", containers=[container(PRIORITY, env=[USERS_OWN])]),
    "priority-between-other-variables": pod(
        "p",
        containers=[container(PRIORITY, env=[{"name": "A", "value": "a"}, USERS_OWN, {"name": "B", "value": "b"}])],
    ),
    "init-container": pod("p", SHARE, initContainers=[container(SHARE, name="prepare")]),
    "init-container-with-its-own-claim": pod(
        "p", SHARE, initContainers=[container({**SHARE, "nvidia.com/gpu": 2}, name="prepare")]
    ),
    "sidecar": pod("p", SHARE, initContainers=[container(SHARE, name="beside", restartPolicy="Always")]),
    "three-containers": pod("p", containers=[container(SHARE), container(name="log"), container(SHARE, name="second")]),
    "annotations": pod("p", SHARE, annotations={"nvidia.com/use-gputype": "T4", "note": "x"}, labels={"app": "a"}),
    "a-key-that-stays-beside-one-that-goes": pod("p", {**SHARE, "nvidia.com/gpu.shared": 1}, labels=WAITS),
    "keys-that-stay-for-the-old-scheduler": pod(
        "p", {"nvidia.com/gpu.shared": 1}, labels=WAITS, schedulerName="hami-scheduler"
    ),
    "everything-at-once": pod(
        "p",
        containers=[container({**PRIORITY, "cpu": "1"}, env=[{"name": "A", "value": "a"}]), container(SHARE, "second")],
        initContainers=[container(SHARE, "prepare")],
        schedulerName="hami-scheduler",
        nodeName=T4_NODE,
        affinity=required(ON_LINUX),
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        labels={"app": "a"},
    ),
}


@pytest.mark.usefixtures("webhook")
@each_way
@pytest.mark.parametrize("file", SHAPES.values(), ids=SHAPES)
def test_S60_applying_the_same_file_again_changes_nothing(
    namespace: Namespace, file: JSON, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(file, options=options)
    assert "hami.io/dra-original-resources" in settled(namespace, "p")["metadata"]["annotations"]
    assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_the_times_and_the_order_of_the_writers_are_no_change(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    file = pod("p", SHARE, schedulerName="hami-scheduler")
    namespace.kubectl.apply(file, options=options)
    wait_for_the_next_second(settled(namespace, "p"))
    # Writers are sorted by time: applying again moves kubectl behind this one.
    namespace.kubectl("label", "pod", "p", "team=red", "--field-manager=somebody", check=True)
    wait_for_the_next_second(namespace.get("Pod", "p"))
    assert_changes_nothing(namespace, file, options)
