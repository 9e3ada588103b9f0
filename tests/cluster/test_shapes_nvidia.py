"""Requests on NVIDIA's driver, which hands out whole cards: shares become whole cards, and that is said (S39)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.shapes import Limits, Shape, check_shape, gpu, left_waiting
from tests.cluster.testbed.hardware import H100_NODE, HAMI_CLASSES, NVIDIA_CLASSES, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod
from tests.cluster.testbed.webhook import Webhook

NVIDIA = {"bindings": {"nvidia": {"driver": "gpu.nvidia.com"}}}
WEBHOOK_SETTINGS = NVIDIA
MACHINES = (with_cards(load(H100_NODE), 1), NVIDIA_CLASSES)
CARD = 81559
"""MiB of an H100."""
CROWD = (gpu(1), gpu(mem=1))
SHAPES = [
    Shape("S20", gpu(1), None, refused=CROWD),
    Shape("S21", gpu(2), None, cards=2, refused=CROWD),
    Shape("S22", gpu(1, mem=8000), None, refused=CROWD),
    Shape("S22", gpu(1, mem=CARD), None, refused=CROWD),
    Shape("S23", gpu(2, mem=8000), None, cards=2, refused=CROWD),
    Shape("S24", gpu(1, percent=50), None, refused=CROWD),
    Shape("S25", gpu(1, percent=100), None, refused=CROWD),
    Shape("S27", gpu(1, cores=30), None, refused=CROWD),
    Shape("S29", gpu(1, mem=8000, cores=30), None, refused=CROWD),
]

pytestmark = pytest.mark.usefixtures("machines")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("webhook")
def test_S39_every_request_takes_whole_cards_for_itself(
    use_machines: Callable[..., None], namespace: Namespace, shape: Shape
) -> None:
    use_machines(with_cards(load(H100_NODE), shape.cards), NVIDIA_CLASSES)
    given = check_shape(namespace, shape)
    assert {one.driver for one in given.devices} == {"gpu.nvidia.com"}


@pytest.mark.usefixtures("webhook")
def test_S39_memory_is_a_lower_bound_for_the_card(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("too-large", gpu(1, mem=CARD + 1)))
    left_waiting(namespace, "too-large")
    namespace.kubectl.apply(pod("fits", gpu(1, mem=CARD)))
    namespace.scheduled("fits")


@pytest.mark.parametrize("limits", [gpu(1, mem=8000), gpu(1, percent=50), gpu(1, cores=30)], ids=str)
@pytest.mark.usefixtures("webhook")
def test_S39_a_share_that_became_a_card_is_told(namespace: Namespace, limits: Limits) -> None:
    said = namespace.kubectl.apply(pod("p", limits))
    assert said.warnings == ["NVIDIA dra-driver-nvidia-gpu does not share cards: whole cards are taken (main)"]
    assert namespace.kubectl.apply(pod("whole", gpu(1))).warnings == []


def test_S39_a_site_may_refuse_shares_instead(start_webhook: Callable[..., Webhook], namespace: Namespace) -> None:
    start_webhook({**NVIDIA, "noSharing": "deny"})
    said = namespace.kubectl.apply(pod("p", gpu(1, mem=8000)), check=False)
    assert said.code == 1
    assert "hands out whole cards only: write nvidia.com/gpu alone (noSharing is deny)" in said.stderr
    check_shape(namespace, Shape("S20", gpu(1), None, refused=(gpu(1),)))


@pytest.mark.usefixtures("webhook")
def test_S46_a_card_without_its_device_class_is_refused_by_name(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(H100_NODE, HAMI_CLASSES)
    start_webhook(NVIDIA)
    said = namespace.kubectl.apply(pod("p", gpu(1)), check=False)
    assert "this cluster has no DeviceClass gpu.nvidia.com" in said.stderr
    said = namespace.kubectl.apply(pod("mig", {"nvidia.com/mig-1g.10gb": 1}))
    assert said.warnings == ["nvidia.com/mig-1g.10gb stays: this cluster has no DeviceClass mig.nvidia.com"]
    left_waiting(namespace, "mig", "Insufficient nvidia.com/mig-1g.10gb")


@pytest.mark.usefixtures("webhook")
def test_S53_numa_bind_keeps_all_cards_on_one_numa_node(
    use_machines: Callable[..., None], namespace: Namespace
) -> None:
    use_machines(H100_NODE, NVIDIA_CLASSES)  # gpu-0 … gpu-3 on node 0, gpu-4 … gpu-7 on node 1
    bound = {"nvidia.com/numa-bind": "true"}
    namespace.kubectl.apply(pod("first", gpu(1)))
    assert namespace.allocation("first").only.device == "gpu-0"
    namespace.kubectl.apply(pod("four", gpu(4), annotations=bound))
    assert {one.device for one in namespace.allocation("four").devices} == {f"gpu-{i}" for i in range(4, 8)}
    namespace.kubectl.apply(pod("more", gpu(4), annotations=bound))
    left_waiting(namespace, "more")
    namespace.kubectl.apply(pod("three", gpu(3), annotations=bound))
    assert {one.device for one in namespace.allocation("three").devices} == {"gpu-1", "gpu-2", "gpu-3"}


@pytest.mark.usefixtures("webhook")
def test_S53_without_numa_bind_cards_come_from_both_numa_nodes(
    use_machines: Callable[..., None], namespace: Namespace
) -> None:
    use_machines(H100_NODE, NVIDIA_CLASSES)
    namespace.fill(pod("first", gpu(1)), pod("four", gpu(4), annotations={"nvidia.com/numa-bind": "yes"}))
    assert {one.device for one in namespace.allocation("four").devices} == {f"gpu-{i}" for i in range(1, 5)}


@pytest.mark.usefixtures("webhook")
def test_S8_a_privileged_container_may_use_a_driver_that_limits_nothing(namespace: Namespace) -> None:
    privileged = container(gpu(1), securityContext={"privileged": True})
    namespace.kubectl.apply(pod("p", containers=[privileged]))
    assert namespace.allocation("p").only.driver == "gpu.nvidia.com"
