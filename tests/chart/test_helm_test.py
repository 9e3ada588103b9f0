"""``helm test`` when something is wrong: its pod ends with another code than 0, and says what it found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.chart.account import run_hook
from tests.chart.cluster import TESTED, point_at
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, RELEASE, Helm
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.processes import free_port

pytestmark = pytest.mark.cluster


def install(installing: Helm) -> None:
    """Install the release; nobody serves it."""
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")


def test_it_fails_when_the_pod_comes_back_unconverted(helm_test: Callable[[], CompletedProcess[str]]) -> None:
    ended = helm_test()  # nothing is installed, so nobody is asked
    assert (ended.returncode, ended.stderr) == (
        1,
        "the pod was admitted unconverted: the API server does not call the webhook, or it left the pod alone\n",
    )


def test_it_fails_when_the_webhook_is_away(
    helm_test: Callable[[], CompletedProcess[str]], installing: Helm, api: Api
) -> None:
    install(installing)
    point_at(api, f"https://127.0.0.1:{free_port()}/mutate")
    ended = helm_test()
    assert ended.returncode == 1
    assert ended.stderr.startswith("the API server does not reach the webhook: Internal error occurred: failed calling")
    assert "connection refused" in ended.stderr


@pytest.mark.usefixtures("opted_in", "hardware")
@pytest.mark.parametrize(
    ("policy", "metric"),
    [
        ("Fail", "apiserver_admission_webhook_rejection_count"),
        ("Ignore", "apiserver_admission_webhook_fail_open_count"),
    ],
)
def test_an_alert_asks_what_the_api_server_counts_when_the_webhook_is_away(
    installing: Helm, control_plane: ControlPlane, api: Api, policy: str, metric: str
) -> None:
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}", f"--set=webhook.failurePolicy={policy}")
    point_at(api, f"https://127.0.0.1:{free_port()}/mutate")
    legacy = pod("legacy", {"nvidia.com/gpu": 1}, schedulingGates=[{"name": "test/wait"}])
    if policy == "Fail":
        with pytest.raises(ApiError, match="failed calling webhook"):
            api.create(legacy, TESTED)
    else:
        assert "resourceClaims" not in api.create(legacy, TESTED)["spec"]
    asked = re.search(metric + r"\{(.*?)\}", (CHART / "files" / "alerts.yaml").read_text())
    assert asked is not None
    counted = control_plane.kubectl("get", "--raw=/metrics", check=True).stdout
    (labels,) = [one for one in re.findall(metric + r"\{(.*?)\} [1-9]", counted) if "convert.dra-webhook" in one]
    assert set(asked[1].split(",")) <= set(labels.split(","))


def test_it_fails_when_its_permission_is_missing(
    helm_test: Callable[[], CompletedProcess[str]], installing: Helm, api: Api
) -> None:
    install(installing)
    api.delete("RoleBinding", f"{FULL_NAME}-test", TESTED)
    ended = helm_test()
    assert ended.returncode == 1
    assert ended.stderr.startswith("the permission to create a pod is missing, or something else than the webhook")
    assert f'User "system:serviceaccount:{NAMESPACE}:{FULL_NAME}-test" cannot create resource "pods"' in ended.stderr


def test_it_fails_when_the_api_server_does_not_answer(
    installing: Helm, control_plane: ControlPlane, tmp_path: Path
) -> None:
    spec = installing.template().one("Pod", f"{FULL_NAME}-test")["spec"] | {"serviceAccountName": "default"}
    ended = run_hook(control_plane, spec, NAMESPACE, tmp_path / "account", port=free_port())
    assert ended.returncode == 1
    assert ended.stderr.startswith("the API server does not answer: ")
    assert "Connection refused" in ended.stderr
