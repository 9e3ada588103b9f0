"""The webhook on Kubernetes 1.35, with and without its feature gates, and in the middle of an upgrade (S37, S42)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.cluster.testbed.components import SCHEDULER
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import (
    H100_NODE,
    HAMI_CLASSES,
    MIG_NODE,
    NVIDIA_CLASSES,
    T4_NODE,
    Hardware,
    load,
    without_extended_resource,
)
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod, workload
from tests.cluster.testbed.registration import Registration
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
OLD = "1.35.4"
GATE = "DRAConsumableCapacity"
GATES = {GATE: True, "DRAExtendedResource": True, "DRAPartitionableDevices": True}
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
NVIDIA = {"bindings": {"nvidia": {"driver": "gpu.nvidia.com"}}}

pytestmark = pytest.mark.versions


@contextmanager
def serving(control_plane: ControlPlane, settings: JSON = None, *, name: str = "webhook") -> Iterator[Webhook]:
    """The registered webhook of a control plane of this module."""
    webhook = Webhook(control_plane, settings, name=name)
    webhook.start()
    registration = Registration(control_plane.api)
    registration.use(webhook)
    try:
        yield webhook
    finally:
        registration.use(None)
        webhook.stop()


@pytest.fixture(scope="module")
def without_gates() -> Iterator[ControlPlane]:
    """A 1.35 as it comes, with shared T4, whole H100 and MIG devices."""
    with ControlPlane(OLD) as control_plane:
        classes = without_extended_resource(load(HAMI_CLASSES, NVIDIA_CLASSES))
        Hardware(control_plane.api).use(T4_NODE, H100_NODE, MIG_NODE, classes)
        yield control_plane


@pytest.fixture(scope="module")
def with_gates() -> Iterator[ControlPlane]:
    """A 1.35 with the gates that sharing needs, and the node of four T4."""
    with ControlPlane(OLD, feature_gates=GATES) as control_plane:
        Hardware(control_plane.api).use(T4_NODE, HAMI_CLASSES)
        yield control_plane


@pytest.mark.parametrize(
    "limits",
    [
        SHARE,
        {"nvidia.com/gpu": 1},
        {"nvidia.com/gpu": 2, "nvidia.com/gpumem": 4000},
        {"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 50},
    ],
    ids=["share", "whole", "two-shares", "percentage"],
)
def test_S42_without_its_gate_a_share_is_refused_naming_the_gate_and_nothing_is_left(
    without_gates: ControlPlane, limits: Mapping[str, int]
) -> None:
    namespace = Namespace(without_gates)
    with serving(without_gates):
        refused = namespace.kubectl.apply(pod("p", limits), check=False)
        assert refused.code == 1
        assert "Error from server (Forbidden)" in refused.stderr
        assert re.search(rf"switch on.* {GATE} \(on by default from .*1\.36\)", refused.stderr), refused.stderr
        namespace.create(workload("Deployment", "d", limits))
        wait_for(
            lambda: [said for said in namespace.events() if "FailedCreate" in said and GATE in said],
            "the refusal as an event",
            describe=namespace.describe,
        )
        for kind in ("Pod", "ResourceClaim", "ResourceClaimTemplate"):
            assert namespace.list(kind) == []


def test_S42_without_its_gate_readiness_says_so(without_gates: ControlPlane) -> None:
    with serving(without_gates) as webhook:
        details = httpx.get(f"{webhook.ops_url}/readyz?verbose", trust_env=False)
    assert details.is_success
    assert f"the API server drops capacity (feature gate {GATE})" in details.text
    assert f"the API server drops distinctAttribute (feature gate {GATE})" in details.text


def test_S42_without_its_gate_pods_that_ask_for_no_card_pass(without_gates: ControlPlane) -> None:
    namespace = Namespace(without_gates)
    with serving(without_gates):
        namespace.create(pod("zero", {"nvidia.com/gpu": 0}))
        namespace.create(pod("plain"))
    assert "resourceClaims" not in namespace.scheduled("zero")["spec"]
    namespace.scheduled("plain")


def test_S43_without_the_gate_mig_devices_work(without_gates: ControlPlane) -> None:
    namespace = Namespace(without_gates)
    with serving(without_gates):
        namespace.kubectl.apply(pod("p", {"nvidia.com/mig-1g.5gb": 2}))
    given = namespace.allocation("p")
    assert given.node == MIG_NODE
    assert len(set(given.cards)) == 2
    assert all("-mig-1g5gb-19-" in one.device for one in given.devices)  # 19 is plain 1g.5gb, not 1g.5gb+me


def test_S39_without_the_gate_whole_cards_of_nvidia_work(without_gates: ControlPlane) -> None:
    namespace = Namespace(without_gates)
    with serving(without_gates, NVIDIA):
        namespace.kubectl.apply(pod("eight", {"nvidia.com/gpu": 8}))
        given = namespace.allocation("eight")
        assert given.node == H100_NODE
        assert len(set(given.cards)) == 8
        said = namespace.kubectl.apply(pod("share", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000}))
        assert said.warnings == ["NVIDIA dra-driver-nvidia-gpu does not share cards: whole cards are taken (main)"]
    assert namespace.allocation("share").node == MIG_NODE  # its one card that is not cut up


@pytest.mark.parametrize("cards", [2, 3, 4])
def test_S37_an_old_scheduler_gives_as_many_different_cards_as_asked(with_gates: ControlPlane, cards: int) -> None:
    namespace = Namespace(with_gates)
    with serving(with_gates):
        namespace.kubectl.apply(pod("p", {"nvidia.com/gpu": cards, "nvidia.com/gpumem": 4000}))
    assert len(set(namespace.allocation("p").cards)) == cards
    assert {device.memory_mib for device in namespace.allocation("p").devices} == {4000}
    namespace.remove()


def test_S37_an_old_scheduler_gives_half_of_different_cards(with_gates: ControlPlane) -> None:
    namespace = Namespace(with_gates)
    with serving(with_gates):
        namespace.kubectl.apply(pod("p", {"nvidia.com/gpu": 3, "nvidia.com/gpumem-percentage": 50}))
    assert len(set(namespace.allocation("p").cards)) == 3
    namespace.remove()


def test_S37_an_old_scheduler_never_gives_more_cards_than_there_are(with_gates: ControlPlane) -> None:
    namespace = Namespace(with_gates)
    with serving(with_gates):
        namespace.kubectl.apply(pod("p", {"nvidia.com/gpu": 5, "nvidia.com/gpumem": 100}))
    assert "cannot allocate all claims" in namespace.unschedulable("p")
    namespace.remove()


def test_S37_a_setting_bridges_the_time_in_which_only_the_scheduler_is_old(
    start_control_plane: Callable[..., ControlPlane],
) -> None:
    mixed = start_control_plane(scheduler=OLD, scheduler_feature_gates={GATE: True})
    Hardware(mixed.api).use(T4_NODE, HAMI_CLASSES)
    namespace = Namespace(mixed)
    three = {"nvidia.com/gpu": 3, "nvidia.com/gpumem": 4000}
    with serving(mixed, {"schedulerVersion": "1.35"}):
        namespace.kubectl.apply(pod("during", three))
        assert len(set(namespace.allocation("during").cards)) == 3
    mixed.stop_component(SCHEDULER)
    mixed.start_component(SCHEDULER, mixed.version)
    with serving(mixed, name="upgraded"):
        namespace.kubectl.apply(pod("after", three))
        assert len(set(namespace.allocation("after").cards)) == 3
    during, after = (namespace.get("Pod", name)["spec"]["resourceClaims"] for name in ("during", "after"))
    assert during[0]["resourceClaimTemplateName"] != after[0]["resourceClaimTemplateName"]
