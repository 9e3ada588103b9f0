"""Requests on NVIDIA's driver with consumable shares: memory is counted, cores do not exist (S40, S41, S44)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.shapes import Shape, check_shape, gpu, left_waiting
from tests.cluster.testbed.hardware import L40S_NODE, NVIDIA_CLASSES, cards, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.webhook import Webhook

NVIDIA = {"driver": "gpu.nvidia.com"}
WEBHOOK_SETTINGS = {"bindings": {"nvidia": NVIDIA}}
MACHINES = (with_cards(load(L40S_NODE), 1), NVIDIA_CLASSES)
CARD = 46068
"""MiB of an L40S."""
REST = CARD - 8000
CROWD = (gpu(1), gpu(mem=1))
SHARED = {"nvidia.com/gpu.shared": 1}
SHAPES = [
    Shape("S20", gpu(1), CARD, refused=CROWD),
    Shape("S21", gpu(2), CARD, cards=2, refused=CROWD),
    Shape("S22", gpu(1, mem=8000), 8000, joins=gpu(mem=REST), refused=(gpu(mem=REST + 1), gpu(1))),
    Shape("S23", gpu(2, mem=8000), 8000, cards=2, joins=gpu(2, mem=REST), refused=(gpu(mem=REST + 1),)),
    Shape("S24", gpu(1, percent=50), CARD // 2, joins=gpu(percent=50), refused=(gpu(mem=CARD // 2 + 1),)),
    Shape("S25", gpu(1, percent=100), CARD, refused=CROWD),
    Shape("S27", gpu(1, cores=30), CARD, refused=CROWD),
    Shape("S29", gpu(1, mem=8000, cores=30), 8000, joins=gpu(mem=REST, cores=100), refused=(gpu(1),)),
]

pytestmark = pytest.mark.usefixtures("machines")


def sharing_freely(keep: int, shares: int | None = None) -> list[Any]:
    """The machine with ``consumableShares: unlimited``, or with a number of shares: memory left out costs nothing."""
    machine = with_cards(load(L40S_NODE), keep)
    for card in cards(machine):
        card["capacity"]["memory"]["requestPolicy"] = {
            "default": "0",
            "validRange": {"min": "0", "max": f"{CARD}Mi", "step": "1Mi"},
        }
        if shares is not None:
            policy = {"default": "1", "validRange": {"min": "1", "max": str(shares), "step": "1"}}
            card["capacity"]["shares"] = {"value": str(shares), "requestPolicy": policy}
    return machine


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("webhook")
def test_S40_memory_is_taken_and_cores_are_never_asked(
    use_machines: Callable[..., None], namespace: Namespace, shape: Shape
) -> None:
    use_machines(with_cards(load(L40S_NODE), shape.cards), NVIDIA_CLASSES)
    check_shape(namespace, shape)


@pytest.mark.usefixtures("webhook")
def test_S40_cores_without_effect_are_told(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("p", gpu(1, mem=8000, cores=30)))
    assert said.warnings == ["NVIDIA dra-driver-nvidia-gpu has no cores: nvidia.com/gpucores has no effect (main)"]


def test_S40_a_whole_card_keeps_others_away_where_memory_costs_nothing(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(sharing_freely(1), NVIDIA_CLASSES)
    start_webhook(WEBHOOK_SETTINGS)
    check_shape(namespace, Shape("S20", gpu(1), CARD, refused=CROWD))


def test_S40_a_whole_card_takes_all_shares(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(sharing_freely(1, shares=4), NVIDIA_CLASSES)
    start_webhook({"bindings": {"nvidia": {**NVIDIA, "shared": "gpu.nvidia.com-shares"}}})
    given = check_shape(namespace, Shape("S20", gpu(1), CARD, refused=(*CROWD, SHARED)))
    assert given.only.consumed["shares"] == "4"


def test_S41_shared_names_take_one_share_each_where_a_driver_with_shares_is_bound(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(sharing_freely(1, shares=2), NVIDIA_CLASSES)
    start_webhook({"bindings": {"nvidia": {**NVIDIA, "shared": "gpu.nvidia.com-shares"}}})
    namespace.fill(pod("a", SHARED), pod("b", SHARED))
    one, two = (namespace.allocation(name) for name in ("a", "b"))
    assert one.cards == two.cards
    assert (one.only.consumed["shares"], one.only.memory_mib) == ("1", 0)
    namespace.kubectl.apply(pod("c", SHARED), pod("whole", gpu(1)))
    left_waiting(namespace, "c")
    left_waiting(namespace, "whole")


@pytest.mark.usefixtures("webhook")
def test_S41_without_such_a_driver_shared_names_stay(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("p", SHARED))
    assert len(said.warnings) == 1
    assert "nvidia.com/gpu.shared stays: no driver with shares is bound" in said.warnings[0]
    left_waiting(namespace, "p", "Insufficient nvidia.com/gpu.shared")


def test_S44_a_plain_count_is_a_share_where_the_site_says_so(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(sharing_freely(2, shares=2), NVIDIA_CLASSES)
    binding = {**NVIDIA, "shared": "gpu.nvidia.com-shares"}
    start_webhook({"nvidia": {"count": "share"}, "bindings": {"nvidia": binding}})
    namespace.fill(pod("two", gpu(2)), pod("one", gpu(1)))
    given = namespace.allocation("two")
    assert [one.consumed["shares"] for one in given.devices] == ["1", "1"]
    assert len(set(given.cards)) == 2
    assert set(namespace.allocation("one").cards) < set(given.cards)
