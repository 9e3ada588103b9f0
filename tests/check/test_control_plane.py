"""What check says of the API server and the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.health.control_plane import api_server, claim_fields, scheduler
from app.check.health.finding import Finding, State, ok
from app.check.health.run import check_health
from app.cluster.api import ApiError, Unreachable
from tests.check import kit
from tests.check.kit import HELM, healthy, line

JSON = Any


async def test_the_api_server_is_named_by_its_version() -> None:
    assert await line(api_server, healthy()) == ok("Kubernetes 1.36.3 serves resource.k8s.io/v1")


async def test_an_api_server_without_the_api_is_too_old() -> None:
    class Old(kit.Cluster):
        async def request(self, verb: str, path: str, **rest: JSON) -> JSON:
            if path.startswith("/apis/resource.k8s.io"):
                raise ApiError(404, "", "404 page not found")
            return await super().request(verb, path, **rest)

    old = Old()
    old.version = "1.33.1"
    found = await line(api_server, old)
    assert (found.state, found.found) == (State.FAIL, "Kubernetes 1.33.1 does not serve resource.k8s.io/v1")
    assert found.fix.startswith("upgrade to Kubernetes 1.34 or newer")


@pytest.mark.parametrize("answer", [{}, [], {"major": "1", "minor": "", "gitVersion": "v1"}])
async def test_a_server_that_is_no_api_server_is_told(answer: JSON) -> None:
    class Other(kit.Cluster):
        host = "https://127.0.0.1:1"

        async def request(self, *_: JSON, **__: JSON) -> JSON:
            return answer

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1/version is not the answer of a Kubernetes API server"):
        await check_health(Other(), None)  # type: ignore[arg-type]


def without_capacity(spec: JSON) -> None:
    for request in spec["devices"]["requests"]:
        request.get("exactly", {}).pop("capacity", None)


async def test_kept_fields_are_found_out_by_dry_runs_that_store_nothing() -> None:
    cluster = healthy()
    assert await line(claim_fields, cluster) == ok("capacity, distinctAttribute, firstAvailable are kept")
    assert cluster.dry_runs == ["resourceclaimtemplates"] * 3


async def test_a_dropped_field_is_a_fault_for_a_driver_that_shares() -> None:
    cluster = healthy()
    cluster.drop = without_capacity
    assert await line(claim_fields, cluster) == Finding(
        State.FAIL,
        "the API server drops capacity from claims",
        "pods that ask for cards are refused",
        "switch on the feature gate DRAConsumableCapacity (on by default from 1.36) in kube-apiserver, kube-scheduler "
        "and kubelet, or upgrade",
    )


async def test_a_dropped_field_is_a_warning_for_a_driver_of_whole_cards() -> None:
    cluster = healthy({"bindings": {"nvidia": {"driver": "gpu.nvidia.com"}}})
    cluster.drop = without_capacity
    found = await line(claim_fields, cluster)
    assert (found.state, found.reason) == (State.WARN, "pods that ask for memory are refused")


async def test_without_the_right_to_dry_runs_kept_fields_are_unknown() -> None:
    cluster = healthy()
    cluster.forbidden = {"resourceclaimtemplates"}
    found = await line(claim_fields, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "dry runs of claim templates gave no answer")
    assert found.fix == "ask somebody who may create ResourceClaimTemplates in default to run this check"


async def test_the_scheduler_is_seen_by_its_pods() -> None:
    assert await line(scheduler, healthy()) == ok("kube-scheduler 1.36")


async def test_an_older_scheduler_needs_a_setting() -> None:
    cluster = healthy()
    cluster.put("pods", kit.scheduler("1.35.4", "--feature-gates=DRAConsumableCapacity=true"))
    assert await line(scheduler, cluster) == Finding(
        State.FAIL,
        "kube-scheduler 1.35",
        "the webhook writes claims as 1.36 reads them (S37)",
        f"{HELM} --set-string settings.schedulerVersion=1.35",
    )


@pytest.mark.parametrize("version", ["1.35.4", "1.36.3"])
async def test_a_scheduler_whose_gate_is_off_does_not_count_shares(version: str) -> None:
    cluster = healthy({"schedulerVersion": "1.35"})
    cluster.version = "1.36.3"
    cluster.remove("pods", "kube-scheduler-1.36.3")
    gates = [] if version == "1.35.4" else ["--feature-gates=A=true,DRAConsumableCapacity=false"]
    cluster.put("pods", kit.scheduler(version, *gates))
    found = await line(scheduler, cluster)
    assert (found.state, found.fix) == (
        State.FAIL,
        "start kube-scheduler with --feature-gates=DRAConsumableCapacity=true",
    )


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        (["--feature-gates", "DRAConsumableCapacity=false"], State.FAIL),
        (["--feature-gates=AllBeta=false"], State.UNKNOWN),
        (["--feature-gates=AllBeta=false,DRAConsumableCapacity=true"], State.OK),
        (["--feature-gates=DRAConsumableCapacity=false", "--feature-gates=DRAConsumableCapacity=true"], State.OK),
    ],
)
async def test_the_gate_is_read_as_the_scheduler_reads_it(arguments: list[str], state: State) -> None:
    cluster = healthy()
    cluster.put("pods", kit.scheduler("1.36.3", *arguments))
    assert (await line(scheduler, cluster)).state is state


@pytest.mark.parametrize(("server", "old", "setting"), [("1.37.0", "1.36.3", None), ("1.35.0", "1.35.0", "1.34")])
async def test_S37_versions_on_one_side_of_1_36_read_claims_alike(server: str, old: str, setting: str | None) -> None:
    cluster = healthy({} if setting is None else {"schedulerVersion": setting})
    cluster.version = server
    cluster.remove("pods", "kube-scheduler-1.36.3")
    cluster.put("pods", kit.scheduler(old, "--feature-gates=DRAConsumableCapacity=true"))
    assert (await line(scheduler, cluster)).state is State.OK


async def test_a_setting_for_an_older_scheduler_follows_the_upgrade() -> None:
    found = await line(scheduler, healthy({"schedulerVersion": "1.35"}))
    assert found == Finding(
        State.WARN,
        "kube-scheduler 1.36",
        "settings.schedulerVersion says 1.35, which costs speed (S37)",
        f"{HELM} --set-string settings.schedulerVersion=1.36",
    )


async def test_a_scheduler_that_no_pod_shows_is_taken_to_be_as_new_as_the_api_server() -> None:
    cluster = healthy()
    cluster.remove("pods", "kube-scheduler-1.36.3")
    found = await line(scheduler, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "taken to be 1.36")


async def test_a_scheduler_whose_pods_may_not_be_listed_is_unknown() -> None:
    cluster = healthy()
    cluster.forbidden = {"pods"}
    found = await line(scheduler, cluster)
    assert (found.state, found.fix) == (
        State.UNKNOWN,
        "ask somebody who may list pods in kube-system to run this check",
    )
