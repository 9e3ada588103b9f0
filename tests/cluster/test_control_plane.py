"""The test bed itself: what other cluster tests take for granted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.testbed import build
from tests.cluster.testbed import hardware as machines
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.components import API, SCHEDULER
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.go import BuildError
from tests.cluster.testbed.hardware import (
    A100_NODE,
    H100_NODE,
    HAMI_CLASSES,
    L40S_NODE,
    MIG_NODE,
    NVIDIA_CLASSES,
    T4_NODE,
    Hardware,
)
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import claim_template, claiming, pod, workload
from tests.cluster.testbed.processes import gone
from tests.cluster.testbed.wait import wait_for

HAMI = "hami-core-gpu.project-hami.io"


@pytest.fixture
def shares(hardware: Hardware, namespace: Namespace) -> Namespace:
    hardware.use(machines.with_cards(machines.load(T4_NODE), 1), HAMI_CLASSES)
    namespace.create(claim_template("half", HAMI, {"memory": "8000Mi", "cores": "0"}))
    return namespace


def test_the_server_is_the_version_that_was_asked_for(control_plane: ControlPlane) -> None:
    version = control_plane.kubectl.json("version")
    assert version["serverVersion"]["gitVersion"] == f"v{control_plane.version}"
    assert version["clientVersion"]["gitVersion"] == f"v{control_plane.version}"


def test_the_scheduler_allocates_a_share_of_a_card(shares: Namespace) -> None:
    shares.create(claiming("a", "half"))
    given = shares.allocation("a")
    assert given.node == T4_NODE
    assert (given.only.device, given.only.memory_mib, given.only.cores) == ("hami-gpu-0", 8000, 0)
    assert given.of("gpu") == given.devices


def test_a_full_card_refuses_the_next_pod_until_a_share_is_free(shares: Namespace) -> None:
    shares.create(claiming("a", "half"))
    shares.scheduled("a")
    shares.create(claiming("b", "half"))
    assert "cannot allocate all claims" in shares.unschedulable("b")
    shares.finish("a")
    assert shares.allocation("b").only.device == "hami-gpu-0"


def test_every_machine_and_class_of_the_fixtures_is_what_the_api_server_stores(hardware: Hardware, api: Api) -> None:
    classes = machines.without_extended_resource(machines.load(HAMI_CLASSES, NVIDIA_CLASSES))
    hardware.use(T4_NODE, A100_NODE, H100_NODE, MIG_NODE, L40S_NODE, classes)
    sizes = {one["spec"]["nodeName"]: len(one["spec"]["devices"]) for one in api.list("ResourceSlice")}
    assert sizes == {T4_NODE: 4, A100_NODE: 8, H100_NODE: 8, MIG_NODE: 10, L40S_NODE: 4}
    stored = {one["metadata"]["name"]: one["spec"] for one in api.list("DeviceClass")}
    assert stored.keys() == {HAMI, "gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"}
    assert all("extendedResourceName" not in spec for spec in stored.values())


def test_machines_change_between_tests(hardware: Hardware, api: Api) -> None:
    hardware.use(T4_NODE, A100_NODE, HAMI_CLASSES)
    assert [node["metadata"]["name"] for node in api.list("Node")] == [A100_NODE, T4_NODE]
    assert all("taints" not in node["spec"] for node in api.list("Node"))
    more = machines.with_memory(machines.on_node(machines.load(T4_NODE), "another"), 16000)
    hardware.use(more, NVIDIA_CLASSES)
    assert [node["metadata"]["name"] for node in api.list("Node")] == ["another"]
    (published,) = api.list("ResourceSlice")
    assert {card["capacity"]["memory"]["value"] for card in machines.cards([published])} == {"16000Mi"}
    assert (
        len({card["attributes"]["uuid"]["string"] for card in machines.cards([published, *machines.load(T4_NODE)])})
        == 8
    )
    hardware.clear()
    assert api.list("Node") == api.list("ResourceSlice") == api.list("DeviceClass") == []


def test_a_killed_api_server_comes_back_with_everything_in_it(control_plane: ControlPlane, shares: Namespace) -> None:
    shares.create(claiming("before", "half"))
    control_plane.restart_component(API, kill=True)
    shares.scheduled("before")
    shares.delete_pod("before")
    shares.create(claiming("after", "half"))
    assert shares.allocation("after").only.memory_mib == 8000


def test_pods_wait_while_the_scheduler_is_away(control_plane: ControlPlane, shares: Namespace) -> None:
    control_plane.stop_component(SCHEDULER)
    try:
        shares.create(claiming("patient", "half"))
        wait_for(lambda: shares.list("ResourceClaim"), "the claim to be made")
        assert "nodeName" not in shares.get("Pod", "patient")["spec"]
    finally:
        control_plane.start_component(SCHEDULER)
    assert shares.allocation("patient").only.memory_mib == 8000


def test_controllers_make_pods_and_nothing_is_left_of_a_namespace(
    hardware: Hardware, namespace: Namespace, api: Api
) -> None:
    hardware.use(T4_NODE, HAMI_CLASSES)
    namespace.create(claim_template("quarter", HAMI, {"memory": "4000Mi", "cores": "0"}))
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "quarter"}]}
    for kind in ("Deployment", "StatefulSet", "Job", "DaemonSet"):
        namespace.create(workload(kind, kind.lower(), pod_spec=spec))
    wait_for(lambda: len(namespace.list("ResourceClaim")) == 4, "four claims", describe=namespace.describe)
    namespace.remove()
    assert api.list("ResourceClaim") == []


@pytest.mark.usefixtures("kwok")
def test_with_kwok_pods_run_and_jobs_complete(hardware: Hardware, namespace: Namespace) -> None:
    hardware.use(T4_NODE, HAMI_CLASSES)
    namespace.create(pod("server"))
    namespace.create(workload("Job", "training"))
    wait_for(lambda: namespace.get("Pod", "server")["status"]["phase"] == "Running", "the pod to run")
    wait_for(lambda: namespace.get("Job", "training")["status"].get("succeeded") == 1, "the Job to complete")


def test_kubectl_and_the_client_report_the_same_refusal(namespace: Namespace) -> None:
    broken = pod("Upper_Case")
    with pytest.raises(ApiError, match=r"422 Invalid: .*metadata\.name") as refused:
        namespace.create(broken)
    said = namespace.kubectl.create(broken, check=False)
    assert said.code == 1
    assert refused.value.message.split(": ")[0] in said.stderr


def test_a_failed_wait_shows_what_was_there_instead(hardware: Hardware, namespace: Namespace) -> None:
    hardware.clear()
    namespace.create(pod("lonely"))
    namespace.unschedulable("lonely")
    with pytest.raises(AssertionError) as failure:
        namespace.scheduled("lonely", timeout=0.1)
    assert "pod lonely to be scheduled" in str(failure.value)
    assert "FailedScheduling: no nodes available to schedule pods" in str(failure.value)


def test_a_killed_test_run_leaves_no_server_behind(tmp_path: Path) -> None:
    program = f"""
import os, pathlib
from tests.cluster.testbed import components
from tests.cluster.testbed.control_plane import ControlPlane

started = ControlPlane().start()
programs = (components.ETCD, components.API, components.CONTROLLERS, components.SCHEDULER)
seen = [str(started.processes.pid(name)) for name in programs] + [str(started.folder)]
pathlib.Path({str(tmp_path / "seen")!r}).write_text(" ".join(seen))
os.kill(os.getpid(), 9)
"""
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", program], cwd=root, check=False)
    assert run.returncode == -9
    *pids, folder = (tmp_path / "seen").read_text().split()
    wait_for(
        lambda: all(gone(int(pid)) for pid in pids) and not Path(folder).exists(),
        "the end of all that was started",
    )


def test_a_recipe_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(BuildError, match=r"no recipe 'kubernetes-1\.2\.3'; there are .*kubernetes-1\.36\.3"):
        build.folder_of("kubernetes-1.2.3")
