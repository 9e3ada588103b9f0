"""Pods at the edges: wrong numbers, privileged containers, pinned nodes, long names, claims of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.cluster.shapes import gpu, left_waiting
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, T4_NODE, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import claim_template, container, pod
from tests.cluster.testbed.webhook import Webhook

MACHINES = (with_cards(load(T4_NODE), 1), with_cards(load(A100_NODE), 1), HAMI_CLASSES)
WEBHOOK = 'admission webhook "convert.dra-webhook.hami.io" denied the request: '
MEMORY = 'spec.containers[0].resources.limits["nvidia.com/gpumem"]: nvidia.com/gpumem is '

pytestmark = pytest.mark.usefixtures("webhook")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (gpu(1, mem="16Gi"), MEMORY + '"16Gi" in container main: the unit is MiB, write 16384'),
        (gpu(1, mem="3000Mi"), MEMORY + '"3000Mi" in container main: the unit is MiB, write 3000'),
        (gpu(1, mem=9_000_000_000_000), MEMORY + '"9T" in container main: the unit is MiB, write'),
        (gpu(1, mem="9" * 23), "nvidia.com/gpumem is"),
        (gpu(1, percent=101), "nvidia.com/gpumem-percentage is 101 in container main: write an integer from 0 to 100"),
        (gpu(33), "nvidia.com/gpu is 33 in container main: a claim allocates at most 32 devices"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, Mapping) else "",
)
def test_a_number_that_cannot_be_is_refused_with_what_was_read_and_what_to_write(
    namespace: Namespace, limits: Mapping[str, int | str], words: str
) -> None:
    said = namespace.kubectl.apply(pod("p", limits), check=False)
    assert said.code == 1
    assert WEBHOOK in said.stderr
    assert words in said.stderr
    assert namespace.list("ResourceClaimTemplate") == []


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"limits": gpu(1, mem="1500m")}, "must be an integer"),
        ({"limits": gpu(-1)}, "must be greater than or equal to 0"),
        ({"requests": gpu(1)}, "Limit must be set for non overcommitable resources"),
        ({"limits": gpu(2), "requests": gpu(1)}, "must be equal to nvidia.com/gpu limit of 2"),
    ],
    ids=["fraction", "negative", "requests-only", "different"],
)
def test_S6_what_the_api_server_refuses_is_refused_in_its_own_words(
    namespace: Namespace, resources: Mapping[str, object], words: str
) -> None:
    said = namespace.kubectl.apply(pod("p", containers=[container(resources=resources)]), check=False)
    assert said.code == 1
    assert words in said.stderr
    assert "denied the request" not in said.stderr


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_S8_a_privileged_container_beside_a_share_is_refused_by_name(namespace: Namespace, where: str) -> None:
    asking = pod("p", gpu(1, mem=1000))
    asking["spec"].setdefault(where, []).append(container(name="agent", securityContext={"privileged": True}))
    said = namespace.kubectl.apply(asking, check=False)
    assert said.code == 1
    assert WEBHOOK in said.stderr
    assert "container agent is privileged, which escapes the limits that HAMi k8s-dra-driver sets" in said.stderr
    assert "run it in a pod of its own" in said.stderr
    namespace.kubectl.apply(pod("alone", containers=[container(securityContext={"privileged": True})]))


@pytest.mark.parametrize("node", [T4_NODE, A100_NODE])
def test_S7_a_pod_that_names_its_node_gets_a_card_there_and_nowhere_else(namespace: Namespace, node: str) -> None:
    said = namespace.kubectl.apply(pod("p", gpu(1), nodeName=node))
    assert said.warnings == [f"nodeName {node} became a required node affinity; the node's taints now apply"]
    given = namespace.allocation("p")
    assert (given.node, given.only.pool) == (node, node)
    namespace.kubectl.apply(pod("next", gpu(1), nodeName=node))
    left_waiting(namespace, "next")


def test_S7_taints_of_the_named_node_apply(namespace: Namespace, api: Api) -> None:
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    api.patch("Node", A100_NODE, {"spec": {"taints": [taint]}})
    try:
        namespace.kubectl.apply(pod("p", gpu(1), nodeName=A100_NODE))
        left_waiting(namespace, "p", "untolerated taint")
        namespace.kubectl.apply(pod("q", gpu(1), nodeName=A100_NODE, tolerations=[taint]))
        assert namespace.allocation("q").node == A100_NODE
    finally:
        api.patch("Node", A100_NODE, {"spec": {"taints": None}})


def test_S7_a_node_that_does_not_exist_is_waited_for(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", gpu(1), nodeName="nowhere"))
    left_waiting(namespace, "p", "[NodeAffinity]")


def test_S7_a_site_may_refuse_named_nodes(start_webhook: Callable[..., Webhook], namespace: Namespace) -> None:
    start_webhook({"nodeName": "deny"})
    said = namespace.kubectl.apply(pod("p", gpu(1), nodeName=T4_NODE), check=False)
    assert f"nodeName {T4_NODE}: nobody allocates a claim for a pod that skips the scheduler" in said.stderr
    namespace.kubectl.apply(pod("none", gpu(0), nodeName=T4_NODE))
    assert namespace.get("Pod", "none")["spec"]["nodeName"] == T4_NODE


def test_names_as_long_as_they_may_be_get_their_cards_and_claims(new_namespace: Callable[..., Namespace]) -> None:
    namespace = new_namespace()
    assert len(namespace.name) == 63
    longest, other = "c" * 63, "c" * 62 + "d"
    asking = [container(gpu(1, mem=1000), longest), container(gpu(1, mem=2000), other)]
    for name in ("p" * 63, "q" * 253):
        namespace.kubectl.apply(pod(name, containers=asking))
        given = namespace.allocation(name)
        assert sorted(one.memory_mib or 0 for one in given.devices) == [1000, 2000]
        claims = [entry["name"] for entry in namespace.get("Pod", name)["spec"]["resourceClaims"]]
        assert len(set(claims)) == 2
        assert all(len(claim) <= 63 for claim in claims)


def test_a_pod_name_with_dots_gets_its_card(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("model.v1.2-beta.3", gpu(1, mem=1000)))
    assert namespace.allocation("model.v1.2-beta.3").only.memory_mib == 1000


def test_claims_of_the_users_own_stay_in_front_in_the_same_container(namespace: Namespace) -> None:
    namespace.create(claim_template("own", "hami-core-gpu.project-hami.io", {"memory": "3000Mi", "cores": "0"}))
    own = {"name": "main-gpu", "request": "gpu"}  # the name that ours would have had
    both = container(resources={"claims": [own], "limits": gpu(1, mem=1000)})
    entry = {"name": "main-gpu", "resourceClaimTemplateName": "own"}
    namespace.kubectl.apply(pod("p", containers=[both], resourceClaims=[entry]))
    given = namespace.allocation("p")
    spec = namespace.get("Pod", "p")["spec"]
    assert spec["resourceClaims"][0] == entry
    first, second = spec["containers"][0]["resources"]["claims"]
    assert first == own
    assert [given.of(name)[0].memory_mib for name in (first["name"], second["name"])] == [3000, 1000]


def test_S4_pods_of_the_old_scheduler_are_scheduled_by_the_new_one(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", gpu(1, mem=1000), schedulerName="hami-scheduler"))
    assert namespace.allocation("p").only.memory_mib == 1000
    assert namespace.get("Pod", "p")["spec"]["schedulerName"] == "default-scheduler"


def test_the_template_tells_a_human_what_it_asks(namespace: Namespace) -> None:
    asks = {
        "gpu-1x-whole-100c": (gpu(1), "1 card, all memory, 100 % cores (HAMi k8s-dra-driver)"),
        "gpu-2x-8000mi-0c": (gpu(2, mem=8000), "2 cards, 8000 MiB, 0 % cores each (HAMi k8s-dra-driver)"),
        "gpu-1x-50pct-30c": (gpu(percent=50, cores=30), "1 card, 50 % memory, 30 % cores (HAMi k8s-dra-driver)"),
    }
    for number, (limits, _) in enumerate(asks.values()):
        namespace.kubectl.apply(pod(f"p-{number}", limits))
    listed = namespace.kubectl("get", "resourceclaimtemplates", check=True).stdout.splitlines()[1:]
    assert sorted(line.split()[0].rpartition("-")[0] for line in listed) == sorted(asks)
    described = namespace.kubectl("describe", "resourceclaimtemplates", check=True).stdout
    for _, words in asks.values():
        assert words in described
