"""MIG devices by profile, by memory, and beside a card: S43 to S45 and S52."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.cluster.shapes import gpu, left_waiting
from tests.cluster.testbed.hardware import (
    HAMI_CLASSES,
    MIG_NODE,
    NVIDIA_CLASSES,
    T4_NODE,
    load,
    on_node,
    with_cards,
    without_extended_resource,
)
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.webhook import Webhook

HAMI, NVIDIA = "hami-core-gpu.project-hami.io", "gpu.nvidia.com"
CLASSES = (HAMI_CLASSES, without_extended_resource(load(NVIDIA_CLASSES)))
MACHINES = (MIG_NODE, with_cards(load(T4_NODE), 1), *CLASSES)
BY_PROFILE = {
    "1g.5gb": {"gpu-0-mig-1g5gb-19-2", "gpu-0-mig-1g5gb-19-3", "gpu-1-mig-1g5gb-19-3"},
    "1g.5gb.me": {"gpu-1-mig-1g5gb-me-20-2"},
    "1g.10gb": {"gpu-1-mig-1g10gb-15-0"},
    "2g.10gb": {"gpu-0-mig-2g10gb-14-0"},
    "3g.20gb": {"gpu-0-mig-3g20gb-9-4", "gpu-1-mig-3g20gb-9-4"},
    "7g.40gb": {"gpu-2-mig-7g40gb-0-0"},
}
SECOND_CARD = "GPU-cb31c373-be94-b8e8-d9a3-abb8680cffc7"

pytestmark = pytest.mark.usefixtures("machines")


def mig(profile: str, count: int = 1) -> Mapping[str, int]:
    return {f"nvidia.com/mig-{profile}": count}


@pytest.mark.parametrize(("profile", "devices"), BY_PROFILE.items(), ids=BY_PROFILE)
@pytest.mark.usefixtures("webhook")
def test_S43_a_profile_gets_its_devices_and_no_others(namespace: Namespace, profile: str, devices: set[str]) -> None:
    namespace.kubectl.apply(pod("all", mig(profile, len(devices))))
    given = namespace.allocation("all", timeout=30)
    assert {one.device for one in given.devices} == devices
    assert len(given.devices) == len(devices)
    namespace.kubectl.apply(pod("more", mig(profile)))
    left_waiting(namespace, "more")


@pytest.mark.usefixtures("webhook")
def test_S43_several_slices_are_told_to_be_no_use_to_one_program(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("p", {**mig("1g.10gb"), **mig("1g.5gb", 2)}))
    assert said.warnings == ["a program uses one MIG slice, container main gets 3"]
    devices = {one.device for one in namespace.allocation("p").devices}
    assert devices < BY_PROFILE["1g.10gb"] | BY_PROFILE["1g.5gb"]
    assert len(devices) == 3
    assert len(namespace.get("Pod", "p")["spec"]["resourceClaims"]) == 1


@pytest.mark.parametrize("name", ["1c.3g.20gb", "large"])
@pytest.mark.usefixtures("webhook")
def test_S43_a_name_that_is_no_profile_stays_and_is_told(namespace: Namespace, name: str) -> None:
    said = namespace.kubectl.apply(pod("p", mig(name)))
    assert len(said.warnings) == 1
    assert f"nvidia.com/mig-{name}" in said.warnings[0]
    left_waiting(namespace, "p", f"Insufficient nvidia.com/mig-{name}")
    assert namespace.list("ResourceClaim") == []


def test_S43_a_renamed_profile_gets_the_devices_it_stands_for(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    start_webhook({"migAliases": {"2g.12gb": "2g.10gb"}})
    namespace.kubectl.apply(pod("p", mig("2g.12gb")))
    assert {namespace.allocation("p").only.device} == BY_PROFILE["2g.10gb"]


def test_S44_a_plain_count_is_any_mig_device_where_the_site_says_so(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    start_webhook({"nvidia": {"count": "mig"}})
    namespace.kubectl.apply(pod("nine", gpu(9)))
    devices = {one.device for one in namespace.allocation("nine", timeout=30).devices}
    assert devices == set().union(*BY_PROFILE.values())
    namespace.kubectl.apply(pod("more", gpu(1)))
    left_waiting(namespace, "more")


@pytest.mark.parametrize("limits", [gpu(1), gpu(1, mem=8000)], ids=["whole", "share"])
def test_S45_a_card_and_a_slice_in_one_container_are_one_claim_for_each_driver(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace, limits: Any
) -> None:
    hami_cards = on_node(with_cards(load(T4_NODE), 1), MIG_NODE)
    use_machines(MIG_NODE, [obj for obj in hami_cards if obj["kind"] == "ResourceSlice"], *CLASSES)
    start_webhook()
    namespace.kubectl.apply(pod("p", {**limits, **mig("3g.20gb")}))
    given = namespace.allocation("p", timeout=30)
    assert {(one.driver, one.device in BY_PROFILE["3g.20gb"]) for one in given.devices} == {
        (HAMI, False),
        (NVIDIA, True),
    }
    spec = namespace.get("Pod", "p")["spec"]
    claims = [entry["name"] for entry in spec["resourceClaims"]]
    assert [use["name"] for use in spec["containers"][0]["resources"]["claims"]] == claims
    assert len(claims) == 2


@pytest.mark.parametrize(
    ("memory", "device"),
    [
        (4000, BY_PROFILE["1g.5gb"] | BY_PROFILE["1g.5gb.me"]),
        (4864, BY_PROFILE["1g.5gb"] | BY_PROFILE["1g.5gb.me"]),
        (4865, BY_PROFILE["1g.10gb"] | BY_PROFILE["2g.10gb"]),
        (9857, BY_PROFILE["3g.20gb"]),
        (19969, BY_PROFILE["7g.40gb"]),
    ],
)
@pytest.mark.usefixtures("webhook")
def test_S52_mode_mig_takes_the_smallest_slice_with_enough_memory(
    namespace: Namespace, memory: int, device: set[str]
) -> None:
    namespace.kubectl.apply(pod("p", gpu(1, mem=memory), annotations={"nvidia.com/vgpu-mode": "mig"}))
    given = namespace.allocation("p", timeout=30)
    assert given.only.device in device
    assert given.only.driver == NVIDIA


@pytest.mark.usefixtures("webhook")
def test_S52_mode_mig_takes_the_next_size_once_the_smallest_is_gone(namespace: Namespace) -> None:
    mode = {"nvidia.com/vgpu-mode": "mig"}
    for number in range(5):
        namespace.kubectl.apply(pod(f"p-{number}", gpu(1, mem=5000), annotations=mode))
        given = namespace.allocation(f"p-{number}", timeout=30).only.device
        smallest = BY_PROFILE["1g.10gb"] | BY_PROFILE["2g.10gb"] if number < 2 else BY_PROFILE["3g.20gb"]
        assert given in (smallest if number < 4 else BY_PROFILE["7g.40gb"])
    namespace.kubectl.apply(pod("p-5", gpu(1, mem=5000), annotations=mode))
    left_waiting(namespace, "p-5")


@pytest.mark.usefixtures("webhook")
def test_S52_a_slice_may_be_chosen_by_the_uuid_of_its_card(namespace: Namespace) -> None:
    annotations = {"nvidia.com/vgpu-mode": "mig", "nvidia.com/use-gpuuuid": SECOND_CARD}
    namespace.kubectl.apply(pod("p", gpu(1, mem=9857), annotations=annotations))
    assert namespace.allocation("p", timeout=30).only.device == "gpu-1-mig-3g20gb-9-4"


@pytest.mark.usefixtures("webhook")
def test_S52_mode_hami_core_takes_a_share_of_a_card(namespace: Namespace) -> None:
    for name, mode in (("p", "hami-core"), ("q", "mig,hami-core")):
        namespace.kubectl.apply(pod(name, gpu(1, mem=5000), annotations={"nvidia.com/vgpu-mode": mode}))
        given = namespace.allocation(name, timeout=30).only
        assert (given.driver, given.memory_mib) == (HAMI, 5000)


@pytest.mark.parametrize("mode", ["MIG", "mps", "none"])
@pytest.mark.usefixtures("webhook")
def test_S52_a_mode_that_nothing_serves_is_refused_with_those_that_exist(namespace: Namespace, mode: str) -> None:
    asking = pod("p", gpu(1, mem=5000), annotations={"nvidia.com/vgpu-mode": mode})
    said = namespace.kubectl.apply(asking, check=False)
    assert said.code == 1
    assert f'nvidia.com/vgpu-mode is "{mode}", which no bound driver serves: write hami-core or mig' in said.stderr


@pytest.mark.usefixtures("webhook")
def test_S50_annotations_do_not_reach_mig_names(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("p", mig("2g.10gb"), annotations={"nvidia.com/use-gpuuuid": SECOND_CARD}))
    assert any("mig" in warning for warning in said.warnings), said.stderr
    assert {namespace.allocation("p").only.device} == BY_PROFILE["2g.10gb"]  # a device of another card
