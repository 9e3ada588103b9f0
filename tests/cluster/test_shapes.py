"""What each request becomes on cards that HAMi's driver shares, and who may join the card: S20 to S36."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.shapes import Shape, check_shape, gpu, left_waiting
from tests.cluster.since import EXTENDED_RESOURCE_CLAIMS, holds
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, cards, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod
from tests.cluster.testbed.webhook import Webhook

CARD = 15360
"""MiB of a T4."""
MACHINES = (with_cards(load(T4_NODE), 1), HAMI_CLASSES)
CROWD = (gpu(mem=1), gpu(mem=1, cores=1), gpu(1))
"""Nobody of these fits on a card whose memory is gone."""
REST = CARD - 8000
SHAPES = [
    Shape("S20", gpu(1), CARD, 100, refused=CROWD),
    Shape("S21", gpu(2), CARD, 100, cards=2, refused=CROWD),
    Shape("S22", gpu(1, mem=8000), 8000, 0, joins=gpu(1, mem=REST, cores=100), refused=(gpu(mem=REST + 1), gpu(1))),
    Shape("S23", gpu(2, mem=8000), 8000, 0, cards=2, joins=gpu(2, mem=REST, cores=100), refused=(gpu(mem=REST + 1),)),
    Shape("S24", gpu(1, percent=50), CARD // 2, 0, joins=gpu(1, percent=50), refused=(gpu(mem=CARD // 2 + 1), gpu(1))),
    Shape("S24", gpu(1, percent=33), 5068, 0, joins=gpu(mem=CARD - 5068), refused=(gpu(mem=CARD - 5067),)),
    Shape("S25", gpu(1, percent=100), CARD, 100, refused=CROWD),
    Shape("S26", gpu(1, percent=0), CARD, 0, refused=CROWD),
    Shape("S26", gpu(1, mem=0), CARD, 0, refused=CROWD),
    Shape("S27", gpu(1, cores=30), CARD, 30, refused=CROWD),
    Shape("S28", gpu(1, cores=0), CARD, 0, refused=CROWD),
    Shape("S29", gpu(1, mem=8000, cores=30), 8000, 30, joins=gpu(mem=REST, cores=70), refused=(gpu(mem=1, cores=71),)),
    Shape("S30", gpu(1, mem=8000, cores=100), 8000, 100, joins=gpu(mem=REST), refused=(gpu(mem=1, cores=1), gpu(1))),
    Shape("S31", gpu(1, mem=8000, percent=50), 8000, 0, joins=gpu(mem=REST, cores=100), refused=(gpu(mem=REST + 1),)),
    Shape("S32", gpu(1, mem=8000, percent=100), 8000, 100, joins=gpu(mem=REST), refused=(gpu(mem=1, cores=1),)),
    Shape("S33", gpu(mem=8000), 8000, 0, joins=gpu(mem=REST, cores=100), refused=(gpu(mem=REST + 1),)),
    Shape("S33", gpu(cores=30), CARD, 30, refused=CROWD),
    Shape("S33", gpu(percent=50), CARD // 2, 0, joins=gpu(percent=50), refused=(gpu(mem=CARD // 2 + 1),)),
    Shape("S14", gpu(1, mem=8000, cores=150), 8000, 100, joins=gpu(mem=REST), refused=(gpu(mem=1, cores=1),)),
]

pytestmark = pytest.mark.usefixtures("machines")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("webhook")
def test_a_request_takes_its_cards_and_leaves_the_rest(
    use_machines: Callable[..., None], namespace: Namespace, shape: Shape
) -> None:
    use_machines(with_cards(load(T4_NODE), shape.cards), HAMI_CLASSES)
    check_shape(namespace, shape)


def test_S30_all_cores_take_the_whole_card_where_the_site_wants_it(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    start_webhook({"exclusiveCores": "whole-card"})
    check_shape(namespace, Shape("S30", gpu(1, mem=8000, cores=100), CARD, 100, refused=CROWD))


def test_S33_the_default_count_is_a_setting(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(with_cards(load(T4_NODE), 2), HAMI_CLASSES)
    start_webhook({"defaultGPUNum": 2})
    check_shape(namespace, Shape("S33", gpu(mem=8000), 8000, 0, cards=2, refused=(gpu(1, mem=REST + 1),)))


def test_S33_without_a_default_count_the_keys_stay_and_the_pod_waits_for_them(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    start_webhook({"defaultGPUNum": 0})
    said = namespace.kubectl.apply(pod("p", gpu(mem=8000)))
    assert said.warnings == ["nvidia.com/gpumem without nvidia.com/gpu stays: defaultGPUNum is 0 (container main)"]
    left_waiting(namespace, "p", "Insufficient nvidia.com/gpumem")


@pytest.mark.usefixtures("webhook")
def test_S34_zero_cards_take_nothing_and_leave_the_card_free(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("none", gpu(0)), pod("odd", gpu(0, mem=100)))
    assert said.warnings == ["memory or cores are asked for zero cards (container main)"]
    for name in ("none", "odd"):
        assert namespace.allocation(name).devices == ()
        assert "limits" not in namespace.get("Pod", name)["spec"]["containers"][0]["resources"]
    assert namespace.list("ResourceClaim") == []
    namespace.kubectl.apply(pod("whole", gpu(1)))
    assert namespace.allocation("whole").only.cores == 100


@pytest.mark.usefixtures("webhook")
def test_S35_a_priority_becomes_a_variable_in_every_container_that_asks_one(namespace: Namespace) -> None:
    asking = [
        container(gpu(1, mem=1000, priority=1), "low", env=[{"name": "CUDA_TASK_PRIORITY", "value": "0"}]),
        container(gpu(priority=5), "strange"),
        container(name="none"),
    ]
    said = namespace.kubectl.apply(pod("p", containers=asking))
    assert any("priority" in warning and "0 or 1" in warning for warning in said.warnings), said.stderr
    low, strange, none = namespace.scheduled("p")["spec"]["containers"]
    assert [variable["value"] for variable in low["env"]] == ["0", "1"]  # the last one counts
    assert strange["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "5"}]
    assert "env" not in none
    assert namespace.allocation("p").only.memory_mib == 1000


@pytest.mark.usefixtures("webhook")
def test_S35_a_priority_alone_is_no_request_for_a_card(namespace: Namespace) -> None:
    said = namespace.kubectl.apply(pod("p", gpu(priority=1)))
    assert len(said.warnings) == 1
    left_waiting(namespace, "p", "Insufficient nvidia.com/priority")
    assert namespace.list("ResourceClaim") == []


@pytest.mark.usefixtures("webhook")
def test_S36_a_request_without_cores_is_stored_with_zero_cores(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", gpu(1, mem=1000)))
    namespace.scheduled("p")
    (template,) = namespace.list("ResourceClaimTemplate")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["capacity"]["requests"] == {"memory": "1000Mi", "cores": "0"}


def test_S12_factor_and_defaults_of_the_site_decide_what_is_taken(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    use_machines(with_cards(load(T4_NODE), 2), HAMI_CLASSES)
    start_webhook({"memoryFactor": 10, "defaultMemory": 1000, "defaultCores": 7})
    asked = {"factor": gpu(1, mem=200), "default": gpu(1, cores=0), "percent": gpu(1, percent=10), "count": gpu(1)}
    namespace.kubectl.apply(*(pod(name, limits) for name, limits in asked.items()))
    taken = {name: namespace.allocation(name, timeout=30).only for name in asked}
    assert {name: (one.memory_mib, one.cores) for name, one in taken.items()} == {
        "factor": (2000, 7),
        "default": (1000, 0),
        "percent": (CARD // 10, 7),  # the factor never touches it
        "count": (1000, 100),  # without a memory key the request still means all cores
    }


def test_S42_cores_that_the_slices_do_not_publish_are_not_asked(
    use_machines: Callable[..., None], start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    machine = with_cards(load(T4_NODE), 1)
    for card in cards(machine):
        del card["capacity"]["cores"]
    use_machines(machine, HAMI_CLASSES)
    start_webhook()
    shape = Shape("S42", gpu(1, mem=8000, cores=30), 8000, joins=gpu(mem=REST, cores=100), refused=(gpu(1),))
    check_shape(namespace, shape)


def test_S67_whole_cards_may_be_left_to_kubernetes(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    start_webhook({"wholeGpu": "native"})
    namespace.kubectl.apply(pod("whole", gpu(1)))
    given = namespace.allocation("whole")
    native = holds(control_plane, EXTENDED_RESOURCE_CLAIMS)
    assert (given.only.claim, given.only.memory_mib, given.only.cores) == ("" if native else "main-gpu", CARD, 100)
    limits = namespace.get("Pod", "whole")["spec"]["containers"][0]["resources"].get("limits")
    assert limits == ({"nvidia.com/gpu": "1"} if native else None)
    namespace.delete_pod("whole")
    namespace.kubectl.apply(pod("share", gpu(1, mem=1000)))
    assert namespace.allocation("share").only.claim == "main-gpu"
