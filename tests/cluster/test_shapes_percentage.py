"""Percentages on cards of different sizes: each card gives the share of its own memory (S38)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.shapes import gpu, left_waiting
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, T4_NODE, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.webhook import Webhook

MIB = {T4_NODE: 15360, A100_NODE: 81920}
"""Size of the cards of each machine."""
MACHINES = (with_cards(load(T4_NODE), 2), with_cards(load(A100_NODE), 2), HAMI_CLASSES)

pytestmark = pytest.mark.usefixtures("machines")


@pytest.fixture(params=["slices", "configuration"])
def sizes_from(request: pytest.FixtureRequest) -> str:
    """Where the webhook knows the sizes from: it starts before the machines are there, or after them."""
    source = str(request.param)
    if source == "slices":
        request.getfixturevalue("webhook")
        return source
    request.getfixturevalue("machines")
    use_machines = request.getfixturevalue("use_machines")
    use_machines(HAMI_CLASSES)
    request.getfixturevalue("start_webhook")({"cardMemoryMiB": list(MIB.values())})
    use_machines(*MACHINES)
    return source


@pytest.mark.usefixtures("sizes_from")
def test_S38_a_percentage_is_that_of_the_card_on_each_machine(namespace: Namespace) -> None:
    asked = {("a", T4_NODE): 50, ("b", A100_NODE): 50, ("c", T4_NODE): 33, ("d", A100_NODE): 1}
    for (name, node), percent in asked.items():
        there = {"kubernetes.io/hostname": node}
        namespace.kubectl.apply(pod(name, gpu(1, percent=percent), nodeSelector=there))
    for (name, node), percent in asked.items():
        given = namespace.allocation(name, timeout=30)
        assert (given.node, given.only.memory_mib, given.only.cores) == (node, MIB[node] * percent // 100, 0)
    namespace.kubectl.apply(pod("free", gpu(2, percent=20, cores=40)))
    given = namespace.allocation("free", timeout=30)
    assert given.node is not None
    assert {(one.memory_mib, one.cores) for one in given.devices} == {(MIB[given.node] // 5, 40)}
    assert len(set(given.cards)) == 2


@pytest.mark.usefixtures("sizes_from")
def test_S38_two_halves_fill_every_card_and_a_third_waits(namespace: Namespace) -> None:
    small = {"kubernetes.io/hostname": T4_NODE}
    halves = [pod(f"half-{number}", gpu(1, percent=50), nodeSelector=small) for number in range(4)]
    namespace.fill(*halves)
    cards = [namespace.allocation(half["metadata"]["name"], timeout=30).cards for half in halves]
    assert len(cards) == 4
    assert len(set(cards)) == 2
    namespace.kubectl.apply(pod("too-much", gpu(1, percent=1), nodeSelector=small))
    left_waiting(namespace, "too-much")


@pytest.mark.usefixtures("sizes_from")
def test_S38_a_percentage_of_a_chosen_type_is_that_of_its_cards(namespace: Namespace) -> None:
    for name, product, node in (("big", "A100", A100_NODE), ("small", "tesla", T4_NODE)):
        namespace.kubectl.apply(pod(name, gpu(percent=80), annotations={"nvidia.com/use-gputype": product}))
        given = namespace.allocation(name, timeout=30)
        assert (given.node, given.only.memory_mib) == (node, MIB[node] * 80 // 100)


def test_S38_a_card_size_that_was_not_configured_serves_no_percentage(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(HAMI_CLASSES)
    start_webhook({"cardMemoryMiB": [MIB[A100_NODE]]})
    use_machines(with_cards(load(T4_NODE), 1), HAMI_CLASSES)
    namespace.kubectl.apply(pod("p", gpu(1, percent=50)))
    left_waiting(namespace, "p")


def test_S38_without_any_known_size_a_percentage_is_refused_and_says_what_to_set(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(HAMI_CLASSES)
    start_webhook()
    said = namespace.kubectl.apply(pod("p", gpu(1, percent=50)), check=False)
    assert said.code == 1
    assert "50 % of a card needs the card's memory" in said.stderr
    assert "set cardMemoryMiB or write nvidia.com/gpumem" in said.stderr
    namespace.kubectl.apply(pod("whole", gpu(1)), pod("amount", gpu(1, mem=1000)))
