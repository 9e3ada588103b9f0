"""Who shares a card with whom: pods, containers of one pod, init containers and sidecars."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.shapes import gpu, left_waiting
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, load, with_cards, with_memory
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod

MACHINES = (with_cards(load(T4_NODE), 1), HAMI_CLASSES)
CARD = 15360
"""MiB of a T4."""

pytestmark = pytest.mark.usefixtures("webhook")


def test_two_pods_of_4000_mib_share_one_card(use_machines: Callable[..., None], namespace: Namespace) -> None:
    use_machines(T4_NODE, HAMI_CLASSES)  # four cards, so nothing forces them together
    namespace.kubectl.apply(pod("a", gpu(1, mem=4000)), pod("b", gpu(1, mem=4000)))
    a, b = namespace.allocation("a"), namespace.allocation("b")
    assert a.cards == b.cards
    assert (a.only.memory_mib, b.only.memory_mib) == (4000, 4000)
    assert a.only.share != b.only.share


def test_a_card_holds_as_many_shares_as_its_memory_allows(namespace: Namespace) -> None:
    namespace.fill(*(pod(f"p-{number}", gpu(1, mem=4000)) for number in range(3)))
    namespace.kubectl.apply(pod("fourth", gpu(1, mem=4000)))
    left_waiting(namespace, "fourth")
    namespace.finish("p-1")
    assert namespace.allocation("fourth").only.memory_mib == 4000


def test_memory_only_does_not_block_cores(namespace: Namespace) -> None:
    namespace.fill(pod("memory", gpu(1, mem=4000)), pod("cores", gpu(1, mem=4000, cores=100)))
    assert namespace.allocation("memory").only.cores == 0
    assert namespace.allocation("cores").only.cores == 100


def test_cores_of_one_card_add_up_to_100_and_no_further(namespace: Namespace) -> None:
    namespace.fill(pod("sixty", gpu(1, mem=1000, cores=60)), pod("forty", gpu(1, mem=1000, cores=40)))
    namespace.kubectl.apply(pod("one", gpu(1, mem=1000, cores=1)))
    left_waiting(namespace, "one")


def test_two_cards_are_two_different_cards(use_machines: Callable[..., None], namespace: Namespace) -> None:
    use_machines(with_cards(load(T4_NODE), 2), HAMI_CLASSES)
    namespace.kubectl.apply(pod("shares", gpu(2, mem=1000)), pod("again", gpu(2, mem=1000)))
    for name in ("shares", "again"):
        assert {one.device for one in namespace.allocation(name).devices} == {"hami-gpu-0", "hami-gpu-1"}
        namespace.delete_pod(name)
    namespace.kubectl.apply(pod("whole", gpu(2)))
    assert {one.device for one in namespace.allocation("whole").devices} == {"hami-gpu-0", "hami-gpu-1"}


@pytest.mark.parametrize("limits", [gpu(2), gpu(2, mem=1), gpu(2, percent=1)], ids=["whole", "amount", "percentage"])
def test_two_cards_on_a_machine_with_one_card_stay_pending(namespace: Namespace, limits: dict[str, int]) -> None:
    namespace.kubectl.apply(pod("p", limits))
    left_waiting(namespace, "p")


def test_a_whole_card_refuses_every_neighbour(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("owner", gpu(1)))
    namespace.scheduled("owner")
    namespace.kubectl.apply(pod("whole", gpu(1)), pod("crumb", gpu(1, mem=1)))
    left_waiting(namespace, "whole")
    left_waiting(namespace, "crumb")


def test_a_share_refuses_a_whole_card(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("crumb", gpu(1, mem=1)))
    namespace.scheduled("crumb")
    namespace.kubectl.apply(pod("whole", gpu(1)))
    left_waiting(namespace, "whole")


def test_three_containers_share_one_card_of_46068_mib(use_machines: Callable[..., None], namespace: Namespace) -> None:
    use_machines(with_memory(with_cards(load(T4_NODE), 1), 46068), HAMI_CLASSES)
    amounts = (30000, 10000, 6000)

    def of(last: int) -> list[object]:
        return [container(gpu(1, mem=mib), f"c-{mib}") for mib in (*amounts[:2], last)]

    namespace.kubectl.apply(pod("too-much", containers=of(6069)))
    left_waiting(namespace, "too-much")
    namespace.kubectl.apply(pod("fits", containers=of(6000)))
    given = namespace.allocation("fits")
    assert len(set(given.cards)) == 1
    assert tuple(given.of(f"c-{mib}-gpu")[0].memory_mib for mib in amounts) == amounts
    uses = [one["resources"]["claims"] for one in namespace.get("Pod", "fits")["spec"]["containers"]]
    assert uses == [[{"name": f"c-{mib}-gpu"}] for mib in amounts]


def test_two_containers_with_a_whole_card_each_need_two_cards(
    use_machines: Callable[..., None], namespace: Namespace
) -> None:
    both = [container(gpu(1), "first"), container(gpu(1), "second")]
    namespace.kubectl.apply(pod("early", containers=both))
    left_waiting(namespace, "early")
    namespace.delete_pod("early")
    use_machines(with_cards(load(T4_NODE), 2), HAMI_CLASSES)
    namespace.kubectl.apply(pod("p", containers=both))
    assert len(set(namespace.allocation("p").cards)) == 2


@pytest.mark.parametrize("warm", [6000, 2000])
def test_an_init_container_borrows_the_memory_of_its_app(namespace: Namespace, warm: int) -> None:
    init = container(gpu(1, mem=warm), "warm")
    said = namespace.kubectl.apply(pod("p", gpu(1, mem=6000), initContainers=[init]))
    shares = "init container warm shares the claim of main and gets its larger limit"
    assert said.warnings == ([shares] if warm < 6000 else [])
    assert namespace.allocation("p").only.memory_mib == 6000
    spec = namespace.get("Pod", "p")["spec"]
    assert spec["initContainers"][0]["resources"]["claims"] == spec["containers"][0]["resources"]["claims"]
    namespace.kubectl.apply(pod("rest", gpu(1, mem=CARD - 6000)))
    assert namespace.allocation("rest").only.memory_mib == CARD - 6000


def test_a_larger_init_container_has_its_own_memory_which_adds_up(namespace: Namespace) -> None:
    init = container(gpu(1, mem=8000), "convert")
    said = namespace.kubectl.apply(pod("p", gpu(1, mem=6000), initContainers=[init]))
    assert said.warnings == ["the card of init container convert stays reserved until the pod ends and adds up"]
    assert sorted(one.memory_mib or 0 for one in namespace.allocation("p").devices) == [6000, 8000]
    namespace.kubectl.apply(pod("rest", gpu(1, mem=CARD - 14000 + 1)))
    left_waiting(namespace, "rest")


def test_a_sidecar_has_its_own_memory_beside_the_app(namespace: Namespace) -> None:
    sidecar = container(gpu(1, mem=2000), "cache", restartPolicy="Always")
    namespace.kubectl.apply(pod("p", gpu(1, mem=6000), initContainers=[sidecar]))
    given = namespace.allocation("p")
    assert [given.of(claim)[0].memory_mib for claim in ("cache-gpu", "main-gpu")] == [2000, 6000]
    assert len(set(given.cards)) == 1
