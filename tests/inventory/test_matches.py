"""Which devices a request matches, whoever has them."""

from __future__ import annotations

import pytest

from app.inventory import Inventory, InventoryError
from tests.inventory.claims import CLASS, allocated, amounts, claim, inventory, request
from tests.inventory.machines import HAMI, device, node, partitionable, rack, resource_slice, tainted

OWN = f'device.attributes["{HAMI}"]'


def cards(place: str, number: int = 4, memory: str = "16Gi", **fields: object) -> dict[str, object]:
    """A slice of equal cards with different UUIDs."""
    devices = [
        device(f"card-{i}", {"uuid": f"GPU-{place}-{i}", "minor": i}, memory, allowMultipleAllocations=True)
        for i in range(number)
    ]
    return resource_slice(f"{place}-slice", HAMI, place, devices, **fields)


def test_devices_and_nodes_with_enough_of_them_are_counted() -> None:
    cluster = inventory(node("a"), node("b"), cards("a", 4), cards("b", 1))
    (match,) = cluster.matches(claim(request(count=2)))
    assert match.report() == {"request": "gpu", "nodes": 1, "devices": 5, "nodeNames": ["a"]}


def test_a_claim_elsewhere_changes_nothing() -> None:
    cluster = inventory(node("a"), cards("a", 1), claims=[allocated((HAMI, "a", "card-0"))])
    assert cluster.matches(claim())[0].devices == 1


def test_class_and_request_must_both_select_a_device() -> None:
    cluster = inventory(node("a"), cards("a", 4), expression=f"{OWN}.minor > 0")
    assert cluster.matches(claim(request("gpu", f"{OWN}.minor < 3", f"{OWN}.minor != 1")))[0].devices == 1


def test_each_alternative_has_its_own_answer() -> None:
    cluster = inventory(node("a"), node("b"), cards("a", 2, "16Gi"), cards("b", 2, "80Gi"))
    large = {"name": "large", "deviceClassName": CLASS, "capacity": amounts(memory="40Gi")}
    small = {"name": "small", "deviceClassName": CLASS, "count": 2}
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": [large, small]}]}}
    assert [(one.request, one.devices, one.nodes) for one in cluster.matches(spec)] == [
        ("gpu/large", 2, 1),
        ("gpu/small", 4, 2),
    ]


@pytest.mark.parametrize(("memory", "devices"), [("16Gi", 5), ("16385Mi", 1), ("80Gi", 1), ("81Gi", 0)])
def test_an_amount_above_the_card_does_not_match(memory: str, devices: int) -> None:
    cluster = inventory(node("a"), node("b"), cards("a", 4, "16Gi"), cards("b", 1, "80Gi"))
    assert cluster.matches(claim(request(capacity=amounts(memory=memory))))[0].devices == devices


@pytest.mark.parametrize(
    ("toleration", "devices"),
    [
        (None, {"card-2", "card-3"}),
        ({"operator": "Exists"}, {"card-0", "card-1", "card-2", "card-3"}),
        ({"operator": "Exists", "effect": "NoSchedule"}, {"card-0", "card-2", "card-3"}),
        ({"key": "example.org/broken", "value": "fan", "effect": "NoExecute"}, {"card-1", "card-2", "card-3"}),
        ({"key": "example.org/broken", "operator": "Equal", "value": "fan"}, {"card-0", "card-1", "card-2", "card-3"}),
        ({"key": "example.org/broken", "operator": "Equal", "value": "leak"}, {"card-2", "card-3"}),
        ({"key": "example.org/other", "operator": "Exists"}, {"card-2", "card-3"}),
    ],
)
def test_a_taint_keeps_requests_away_that_do_not_tolerate_it(
    toleration: dict[str, str] | None, devices: set[str]
) -> None:
    cluster = inventory(*tainted())
    fields = {} if toleration is None else {"tolerations": [toleration]}
    assert cluster.matches(claim(request(**fields)))[0].devices == len(devices)
    fit = cluster.fit([claim(request(count=len(devices), **fields))])
    assert fit is not None
    assert fit.now is True


def test_a_device_without_the_attribute_of_a_constraint_does_not_match() -> None:
    bare = resource_slice("bare-slice", HAMI, "b", [device("bare", {}, "16Gi")])
    cluster = inventory(node("a"), node("b"), cards("a", 2), bare)
    for kind in ("matchAttribute", "distinctAttribute"):
        assert cluster.matches(claim(constraints=[{kind: f"{HAMI}/uuid"}]))[0].devices == 2
        other = {kind: f"{HAMI}/uuid", "requests": ["else"]}
        assert cluster.matches(claim(request(), request("else"), constraints=[other]))[0].devices == 3


def test_parts_of_one_card_all_match() -> None:
    cluster = inventory(*partitionable())
    assert cluster.matches(claim(request("mig", 'device.attributes["gpu.nvidia.com"].type == "mig"')))[0].devices == 9


def test_devices_of_a_rack_are_counted_once_and_on_every_node_that_reaches_them() -> None:
    nodes = [node("a", zone="east"), node("b", zone="east"), node("c", zone="west")]
    (match,) = inventory(*nodes, *rack("zone", "east")).matches(claim(request(count=2)))
    assert (match.devices, match.nodes, match.node_names) == (2, 2, ("a", "b"))


@pytest.mark.parametrize(
    ("requirement", "nodes"),
    [
        ({"key": "zone", "operator": "In", "values": ["east", "north"]}, ("a",)),
        ({"key": "zone", "operator": "NotIn", "values": ["east"]}, ("b", "c")),
        ({"key": "zone", "operator": "Exists"}, ("a", "b")),
        ({"key": "zone", "operator": "DoesNotExist"}, ("c",)),
        ({"key": "cards", "operator": "Gt", "values": ["4"]}, ("b",)),
        ({"key": "cards", "operator": "Lt", "values": ["5"]}, ("a",)),
        ({"key": "zone", "operator": "Gt", "values": ["4"]}, ()),
        ({"key": "zone", "operator": "Like", "values": ["e*"]}, ()),
    ],
)
def test_a_node_selector_selects_nodes_by_their_labels(requirement: dict[str, object], nodes: tuple[str, ...]) -> None:
    there = [node("a", zone="east", cards="4"), node("b", zone="west", cards="8"), node("c")]
    selector = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    assert inventory(*there, cards("pool", nodeSelector=selector)).matches(claim())[0].node_names == nodes


def test_a_node_selector_selects_nodes_by_their_names() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}, {"matchExpressions": []}]}
    cluster = inventory(node("a"), node("b"), cards("pool", nodeSelector=selector))
    assert cluster.matches(claim())[0].node_names == ("b",)


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old = cards("a", 4, pool={"generation": 1})
    new = {**cards("a", 2, pool={"generation": 2}), "metadata": {"name": "newer"}}
    for order in ([old, new], [new, old]):
        assert inventory(node("a"), *order).matches(claim())[0].devices == 2


def test_a_pool_that_is_being_replaced_elsewhere_offers_nothing() -> None:
    old = cards("a", 4, pool={"generation": 1, "name": "both", "resourceSliceCount": 2})
    new = cards("b", 2, pool={"generation": 2, "name": "both"})
    (match,) = inventory(node("a"), node("b"), old, new).matches(claim())
    assert (match.devices, match.node_names) == (2, ("b",))


@pytest.mark.parametrize(
    "wrong",
    [
        [cards("a", 2, pool={"resourceSliceCount": 2})],
        [
            cards("a", 2, pool={"resourceSliceCount": 2}),
            {**cards("a", 2, pool={"resourceSliceCount": 2}), "metadata": {"name": "again"}},
        ],
        [part for part in partitionable() if part["metadata"]["name"] != "parts-counters"],
    ],
    ids=["incomplete", "names-twice", "counters-missing"],
)
def test_nothing_is_taken_from_a_pool_that_is_incomplete_or_invalid(wrong: list[dict[str, object]]) -> None:
    (match,) = inventory(node("a"), node("partitionable-node"), *wrong).matches(claim())
    assert (match.devices, match.nodes) == (0, 0)


def test_slices_of_nodes_that_do_not_exist_offer_nothing() -> None:
    assert inventory(node("a"), cards("a", 1), cards("gone", 8)).matches(claim())[0].devices == 1


def test_without_nodes_those_that_slices_name_are_all_there_are() -> None:
    (match,) = inventory(cards("a", 1), cards("b", 1)).matches(claim())
    assert (match.devices, match.node_names) == (2, ("a", "b"))


def test_ten_nodes_are_named_and_all_are_counted() -> None:
    (match,) = inventory(*(cards(f"n{i:02}", 1) for i in range(25))).matches(claim())
    assert match.nodes == 25
    assert match.node_names == tuple(f"n{i:02}" for i in range(10))


def test_a_failing_selector_is_named_and_no_match() -> None:
    bare = resource_slice("bare-slice", HAMI, "b", [device("bare", {}, "16Gi")])
    (match,) = inventory(node("a"), node("b"), cards("a", 2), bare).matches(claim(request("gpu", f"{OWN}.minor < 1")))
    assert match.devices == 1
    assert match.error == 'request gpu, selector #0 fails on device bare of b: Key not found in map : "minor"'


def test_a_class_that_does_not_exist_is_named() -> None:
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "nosuch"}}]}}
    (match,) = inventory(node("a"), cards("a")).matches(spec)
    assert match.report() == {
        "request": "gpu", "nodes": 0, "devices": 0, "nodeNames": [], "error": "DeviceClass nosuch does not exist",
    }  # fmt: skip


def test_without_any_class_nothing_can_be_said() -> None:
    cluster = Inventory.from_objects([cards("a")], known=["ResourceClaim"])
    assert cluster.matches(claim()) == ()
    assert cluster.fit([claim()]) is None


NO_STEP = {"value": "1", "requestPolicy": {"validRange": {"step": "0"}}}


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("ResourceSlice", {"metadata": {"name": "s"}, "spec": {}}, "ResourceSlice s .*: pool is missing"),
        ("ResourceSlice", {}, "ResourceSlice without a name .*: spec is missing"),
        ("ResourceSlice", resource_slice("s", HAMI, "a", [device("d", {}, "much")]), '"much" is not a number'),
        (
            "ResourceSlice",
            resource_slice("s", HAMI, "a", [device("d", {}, "1", capacity={"c": NO_STEP})]),
            "step is not above 0",
        ),
        (
            "ResourceSlice",
            resource_slice("s", HAMI, "a", [{"name": "d", "attributes": {"type": {"string": ["x"]}}}]),
            r"\['x'\] is no string",
        ),
        ("DeviceClass", {"metadata": {"name": "c"}, "spec": {"selectors": [{}]}}, "c .*: cel is missing"),
        ("Node", {"metadata": []}, "Node without a name"),
        ("ResourceClaim", {"metadata": {"name": "c"}, "status": {"allocation": 1}}, "ResourceClaim c "),
    ],
)
def test_an_object_that_no_api_server_publishes_is_named(kind: str, fields: dict[str, object], text: str) -> None:
    with pytest.raises(InventoryError, match=text):
        Inventory.from_objects([{**fields, "kind": kind}])


@pytest.mark.parametrize("spec", [{"devices": {"requests": [{}]}}, {"devices": 1}, {"devices": {"constraints": [{}]}}])
def test_a_spec_that_no_api_server_accepts_is_refused(spec: dict[str, object]) -> None:
    with pytest.raises(InventoryError, match="not the spec of a ResourceClaim"):
        inventory().matches(spec)


def test_lists_count_by_their_items_and_an_empty_one_makes_its_kind_known() -> None:
    items = [cards("a", 3), {"kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": {}}]
    cluster = Inventory.from_objects([{"kind": "List", "items": items}])
    assert cluster.matches(claim())[0].devices == 3
    assert not cluster.knows_claims
    assert Inventory.from_objects([{"kind": "List", "items": items}, {"kind": "ResourceClaimList"}]).knows_claims


def test_what_a_request_cannot_tell_apart_is_judged_once() -> None:
    cluster = inventory(*(cards(f"n{i}", 8) for i in range(40)), expression=f"{OWN}.minor >= 0")
    for number in range(1, 11):
        (match,) = cluster.matches(claim(request("gpu", f"{OWN}.minor < {number}")))
        assert match.devices == 40 * min(number, 8)
    judged = [len(sight.results) for sight in cluster._judge._sights.values()]
    assert judged == [8] * 10


def test_a_long_life_forgets_old_asks_and_stays_right() -> None:
    cluster = inventory(cards("a", 2))
    for number in range(1500):
        assert cluster.matches(claim(request(f"r{number}")))[0].devices == 2
    assert len(cluster._specs) == len(cluster._matches) == len(cluster._judge._sights) == 1500 - 1024
