"""What the inventory says of claims, compared with what the real scheduler does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import pytest

from app.inventory import Inventory
from app.inventory.matching import matching
from app.inventory.model import Device, DeviceKey
from app.inventory.requests import read_claim
from app.translate import facts_from_objects
from tests.cluster.questions import FAILED, SCHEDULED, UNSCHEDULABLE, Question, answers, discard, given
from tests.cluster.random_claims import RandomClaims
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import (
    A100_NODE,
    H100_NODE,
    HAMI_CLASSES,
    L40S_NODE,
    MIG_NODE,
    NVIDIA_CLASSES,
    T4_NODE,
    load,
    without_extended_resource,
)
from tests.cluster.testbed.namespace import Namespace
from tests.inventory.machines import partitionable, rack, tainted

JSON = Any
NewNamespace = Callable[..., Namespace]
CLAIMS, ROUND = 300, 50
SITUATIONS, FREED_AFTER = 50, 10


def _roomy(objects: Sequence[JSON]) -> Sequence[JSON]:
    """Nodes with room for any number of pods, since only devices are to matter here."""
    for obj in objects:
        if obj["kind"] == "Node":
            obj["status"]["allocatable"]["pods"] = "5000"
    return objects


FIXTURES = _roomy(load(A100_NODE, T4_NODE, H100_NODE, L40S_NODE, MIG_NODE))
CLASSES = without_extended_resource(load(HAMI_CLASSES, NVIDIA_CLASSES))
LOCAL = [*FIXTURES, *tainted(), *partitionable(), *CLASSES]
"""Every device is reached from one node."""
EVERYTHING = [*LOCAL, *rack("node.kubernetes.io/instance-type", "dgx-a100")]
NODES = [obj["metadata"]["name"] for obj in LOCAL if obj["kind"] == "Node"]
MACHINES = (EVERYTHING,)
FACTS = facts_from_objects(EVERYTHING, server_version=(1, 36))
ADMIN = {"resource.kubernetes.io/admin-access": "true"}


class Expectation(NamedTuple):
    """What the scheduler must say, and which devices it must give."""

    question: Question
    word: str
    devices: set[DeviceKey]


def on(node: str, objects: Sequence[JSON]) -> Inventory:
    """The inventory of a cluster that has this node only."""
    there = [obj for obj in objects if obj["kind"] != "Node" or obj["metadata"]["name"] == node]
    return Inventory.from_objects(there, known=["ResourceClaim"])


def options(spec: JSON) -> Iterator[JSON]:
    """The requests of a claim and the alternatives of requests."""
    for request in spec["devices"]["requests"]:
        yield from request.get("firstAvailable") or [request["exactly"]]


def asked(spec: JSON, option: JSON, count: int, *, uuid: str = "", admin: bool = False) -> JSON:
    """A claim with one request: an option of a claim with another count, and perhaps of one device.

    With admin access it takes nothing away from the others, so that all can be asked at once.
    """
    request = {key: value for key, value in option.items() if key != "name"} | {"count": count}
    if admin:
        request["adminAccess"] = True
    if uuid:
        own = "device.attributes[device.driver]"
        one = {"cel": {"expression": f'"uuid" in {own} && {own}.uuid == "{uuid}"'}}
        request["selectors"] = [*request.get("selectors", ()), one]
    constraints = spec["devices"].get("constraints")
    devices = {"requests": [{"name": "gpu", "exactly": request}]}
    return {"devices": {**devices, **({"constraints": constraints} if constraints else {})}}


def matched(inventory: Inventory, spec: JSON) -> tuple[list[Device], bool]:
    """The devices that the only request of a claim matches, and whether its selectors fail on some device."""
    claim = read_claim(spec)
    (request,) = claim.alternatives
    (pools,) = inventory._pools_on_nodes().values()
    found = list(matching(claim, request, pools, inventory._judge))
    devices = [one for one in found if isinstance(one, Device)]
    (match,) = inventory.matches(spec)
    assert (match.devices, match.error is not None) == (len(devices), len(devices) < len(found))
    return devices, len(devices) < len(found)


def expectations(spec: JSON, claim: int, inventories: Sequence[Inventory]) -> Iterator[Expectation]:
    """Of three options at most, on two nodes: exactly the matching devices, and not one more; on one without: none."""
    for index, option in enumerate(islice(options(spec), 3)):
        left = {"full": 2, "failing": 1, "empty": 1}
        for turn in range(len(NODES)):
            number = (claim + turn) % len(NODES)
            node, inventory = NODES[number], inventories[number]
            devices, fails = matched(inventory, asked(spec, option, 1))
            kind = "failing" if fails else "full" if devices else "empty"
            left[kind] -= 1
            if left[kind] < 0:
                continue
            word = f"p{claim}-{index}-{number}"
            more = Question(f"{word}-more", node, [asked(spec, option, len(devices) + 1)])
            yield Expectation(more, FAILED if fails else UNSCHEDULABLE, set())
            if kind != "full":
                continue
            if any(one.counters for one in devices):  # one takes what the others need
                for device in devices[::4]:
                    uuid = str(device.attributes[f"{device.driver}/uuid"].value)
                    alone = Question(f"{word}-{device.key[2]}", node, [asked(spec, option, 1, uuid=uuid, admin=True)])
                    yield Expectation(alone, SCHEDULED, {device.key})
            else:
                everything = Question(f"{word}-all", node, [asked(spec, option, len(devices), admin=True)])
                yield Expectation(everything, SCHEDULED, {device.key for device in devices})


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("machines")
def test_the_devices_that_a_claim_matches_are_those_that_the_scheduler_can_allocate(
    new_namespace: NewNamespace,
) -> None:
    """300 random claims; on each node the scheduler is asked for all devices that match, and for one more."""
    inventories = [on(node, EVERYTHING) for node in NODES]
    claims = RandomClaims(1, FACTS)
    rounds = [
        [one for number in range(ROUND) for one in expectations(claims.spec(), number, inventories)]
        for _ in range(CLAIMS // ROUND)
    ]
    namespaces = [new_namespace(ADMIN) for _ in rounds]
    for namespace, expected in zip(namespaces, rounds, strict=True):
        for one in expected:
            one.question.ask(namespace)
    wrong = []
    for namespace, expected in zip(namespaces, rounds, strict=True):
        said, devices = answers(namespace, [one.question for one in expected]), given(namespace)
        wrong += [
            (one, said[one.question.name], devices[f"{one.question.name}-0"])
            for one in expected
            if (said[one.question.name], devices[f"{one.question.name}-0"]) != (one.word, one.devices)
        ]
        discard(namespace)
    assert not wrong, f"{len(wrong)} of {sum(map(len, rounds))}:\n" + "\n".join(map(str, wrong))


@pytest.mark.timeout(300)
def test_a_pod_fits_now_exactly_where_the_scheduler_allocates_its_claims(
    use_machines: Callable[..., None], namespace: Namespace, api: Api, control_plane: ControlPlane
) -> None:
    """50 random pods, each on every node of a cluster that fills up with them; a part of it is freed now and then."""
    use_machines(LOCAL)
    claims, random = RandomClaims(2, FACTS), Random(2)  # noqa: S311 - the same pods every time
    newer = control_plane.minor >= (1, 37)
    wrong = []
    words: list[str] = []
    for number in range(SITUATIONS):
        if number % FREED_AFTER == FREED_AFTER - 1:
            free(namespace, random)
        objects = [*LOCAL, *api.list("ResourceClaim")]
        specs = [claims.several() for _ in range(random.choice((1, 1, 1, 2)))]
        if newer and asks_all(specs):
            continue
        fits = {node: on(node, objects).fit(specs) for node in NODES}
        questions = [Question(f"p{number}-{index}", node, specs) for index, node in enumerate(NODES)]
        for question in questions:
            question.ask(namespace)
        said = answers(namespace, questions)
        for question in questions:
            fit, word = fits[question.node], said[question.name]
            words.append(word)
            assert fit is not None
            if fit.now is not (word == SCHEDULED):
                wrong.append((question, fit, word))
        here = [question.node for question in questions if said[question.name] == SCHEDULED]
        whole = Inventory.from_objects(objects, known=["ResourceClaim"]).fit(specs)
        failed = FAILED in said.values()  # one node on which selectors fail ends it for a pod that may run anywhere
        assert whole is not None
        if (whole.now, list(whole.node_names)) != (bool(here) and not failed, [] if failed else here):
            wrong.append((questions[0], whole, str(said)))
    assert not wrong, f"{len(wrong)} of {SITUATIONS * len(NODES)}:\n" + "\n".join(map(str, wrong))
    assert min(words.count(word) for word in (SCHEDULED, UNSCHEDULABLE)) > SITUATIONS // 2


def asks_all(specs: Sequence[JSON]) -> bool:
    """A request for all devices: since 1.37 it counts shared ones without room, too (docs/preview.md)."""
    return any(
        one.get("exactly", {}).get("allocationMode") == "All"
        or any(sub.get("allocationMode") == "All" for sub in one.get("firstAvailable", ()))
        for spec in specs
        for one in spec["devices"]["requests"]
    )


def free(namespace: Namespace, random: Random) -> None:
    """Ends all pods that wait and half of those that run, with their claims."""
    pods = namespace.list("Pod")
    ended = {one["metadata"]["name"] for one in pods if not one["spec"].get("nodeName") or random.random() < 0.5}
    discard(namespace, ended)
