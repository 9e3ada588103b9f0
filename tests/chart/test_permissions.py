"""Replicas and hooks do their work with just the permissions that the chart gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.chart.account import run_hook
from tests.chart.cluster import TESTED, apply, point_at, remove
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, RELEASE, Helm, hook_of
from tests.chart.replica import Replica
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture
def replicas(
    installing: Helm, control_plane: ControlPlane, api: Api, hardware: None, tmp_path: Path
) -> Iterator[list[Replica]]:
    """Two replicas of an installed release, ready; the API server calls the first."""
    del hardware  # they read it when they start
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    rendered = installing.template()
    made = [Replica(control_plane, rendered, f"replica-{i}", tmp_path / f"replica-{i}") for i in range(2)]
    point_at(api, made[0].url)
    for replica in made:
        replica.start()
    for replica in made:
        replica.wait_ready()
    yield made
    for replica in made:
        replica.stop()


@pytest.fixture
def helm_test(
    installing: Helm, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> Iterator[Callable[[], CompletedProcess[str]]]:
    """What ``helm test`` does: makes the hook's objects, and runs the command of its pod."""
    rendered = installing.template()
    hooks = [obj for obj in rendered.objects if hook_of(obj) == "test"]
    made = [obj for obj in hooks if obj["kind"] != "Pod"]
    apply(control_plane, made)
    spec = rendered.one("Pod", f"{FULL_NAME}-test")["spec"]
    yield lambda: run_hook(control_plane, spec, NAMESPACE, tmp_path / "account")
    remove(api, made)


def test_replicas_share_an_authority_write_the_bundle_and_convert(
    replicas: list[Replica], helm_test: Callable[[], CompletedProcess[str]], control_plane: ControlPlane, api: Api
) -> None:
    webhooks = api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
    assert len({webhook["clientConfig"]["caBundle"] for webhook in webhooks}) == 1
    assert api.find("Secret", f"{FULL_NAME}-ca", NAMESPACE)

    passed = helm_test()
    assert passed.returncode == 0, passed.stderr
    assert "the webhook works" in passed.stdout

    admitted = api.create(pod("legacy", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}), TESTED)
    assert admitted["spec"]["resourceClaims"]
    wait_for(
        lambda: api.find("Lease", "hami-dra-webhook-sweeper", NAMESPACE),
        "the sweeper's Lease",
        describe=lambda: control_plane.processes.tail("replica-0"),
    )
    assert [replica.refusals() for replica in replicas] == [0, 0]


def test_the_certificates_can_be_looked_at_and_rotated_in_a_replica(replicas: list[Replica]) -> None:
    status = replicas[0].execute("certs", "status")
    assert status.returncode == 0, status.stderr
    assert f"Secret {NAMESPACE}/{FULL_NAME}-ca" in status.stdout
    rotated = replicas[0].execute("certs", "rotate")
    assert rotated.returncode == 0, rotated.stderr
    assert [replica.refusals() for replica in replicas] == [0, 0]
