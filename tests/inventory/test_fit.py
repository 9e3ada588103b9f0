"""Whether the claims of a pod fit together on one node now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.inventory import Fit, Inventory
from tests.inventory.claims import CLASS, allocated, amounts, claim, inventory, request
from tests.inventory.machines import HAMI, NVIDIA, device, node, partitionable, resource_slice, tainted

JSON = Any
OWN = f'device.attributes["{HAMI}"]'
UUID = f"{HAMI}/uuid"
MEMORY = {"default": "16Gi", "validRange": {"min": "1Mi", "max": "16Gi", "step": "1Mi"}}
CORES = {"value": "100", "requestPolicy": {"default": "100", "validRange": {"min": "0", "max": "100", "step": "1"}}}
MIG = f'device.attributes["{NVIDIA}"].?profile.orValue("") == "{{}}"'


def whole(place: str, number: int, **attributes: str) -> JSON:
    """Cards that are handed out whole."""
    devices = [device(f"card-{i}", {"uuid": f"GPU-{place}-{i}", **attributes}, "16Gi") for i in range(number)]
    return resource_slice(f"{place}-whole", HAMI, place, devices)


def shared(place: str, number: int) -> JSON:
    """Cards that are shared by memory and cores, as HAMi publishes them."""
    devices = [
        device(
            f"card-{i}",
            {"uuid": f"GPU-{place}-{i}"},
            "16Gi",
            capacity={"memory": {"value": "16Gi", "requestPolicy": MEMORY}, "cores": CORES},
            allowMultipleAllocations=True,
        )
        for i in range(number)
    ]
    return resource_slice(f"{place}-shared", HAMI, place, devices)


def fit(cluster: Inventory, *specs: JSON) -> Fit:
    """The answer for a pod with these claims."""
    found = cluster.fit(specs, [f"c{i}" for i in range(len(specs))])
    assert found is not None
    return found


def nodes(cluster: Inventory, *specs: JSON) -> Sequence[str]:
    """Where a pod with these claims fits."""
    return fit(cluster, *specs).node_names


def share(memory: str, cores: str = "0", **fields: JSON) -> JSON:
    """A request for a share of a card."""
    return request(capacity=amounts(memory=memory, cores=cores), **fields)


def test_free_cards_are_found_on_their_nodes() -> None:
    cluster = inventory(whole("a", 2), whole("b", 4))
    assert fit(cluster, claim(request(count=2))).report() == {
        "now": True,
        "nodes": 2,
        "nodeNames": ["a", "b"],
        "why": None,
    }
    assert nodes(cluster, claim(request(count=3))) == ("b",)


def test_a_card_that_a_claim_has_is_not_free() -> None:
    cluster = inventory(whole("a", 2), whole("b", 4), claims=[allocated((HAMI, "a", "card-0"), (HAMI, "b", "card-3"))])
    assert nodes(cluster, claim(request(count=2))) == ("b",)
    assert nodes(cluster, claim(request(count=3))) == ("b",)


def test_admin_access_takes_nothing_and_may_have_what_is_taken() -> None:
    everything = [(HAMI, "a", "card-0"), (HAMI, "a", "card-1")]
    assert nodes(inventory(whole("a", 2), claims=[allocated(*everything, admin=True)]), claim(request(count=2)))
    full = inventory(whole("a", 2), claims=[allocated(*everything)])
    assert nodes(full, claim(request(count=2, adminAccess=True))) == ("a",)
    assert not nodes(full, claim(request(count=3, adminAccess=True)))
    assert not nodes(full, claim(request()))


@pytest.mark.parametrize(
    ("taken", "asked", "fits"),
    [
        ({"memory": "8Gi", "cores": "50"}, share("8Gi", "50"), True),
        ({"memory": "8Gi", "cores": "50"}, share("8193Mi", "50"), False),
        ({"memory": "8Gi", "cores": "50"}, share("1Gi", "51"), False),
        ({"memory": "8Gi", "cores": "100"}, share("8Gi", "0"), True),
        ({"memory": "8Gi", "cores": "50"}, request(capacity=amounts(memory="1Gi")), False),
        ({"memory": "1Mi", "cores": "0"}, request(), False),
        ({"memory": "16Gi", "cores": "0"}, share("0", "0"), False),
    ],
)
def test_a_share_needs_what_is_left_of_every_capacity(taken: dict[str, str], asked: JSON, fits: bool) -> None:
    cluster = inventory(shared("a", 1), claims=[allocated((HAMI, "a", "card-0"), share=taken)])
    assert fit(cluster, claim(asked)).now is fits


def test_a_shareable_card_that_one_claim_has_whole_is_not_shared() -> None:
    cluster = inventory(shared("a", 1), claims=[allocated((HAMI, "a", "card-0"))])
    assert not nodes(cluster, claim(share("1Gi")))


def test_the_claims_of_a_pod_share_cards_and_add_up() -> None:
    cluster = inventory(shared("a", 1), shared("b", 2))
    assert nodes(cluster, claim(share("8Gi")), claim(share("8Gi"))) == ("a", "b")
    assert nodes(cluster, claim(share("9Gi")), claim(share("8Gi"))) == ("b",)
    assert nodes(cluster, claim(share("9Gi")), claim(share("9Gi")), claim(share("9Gi"))) == ()


def test_one_request_never_gets_a_card_twice_and_two_requests_may() -> None:
    cluster = inventory(shared("a", 1))
    assert not nodes(cluster, claim(share("1Gi", count=2)))
    assert nodes(cluster, claim(share("1Gi"), {**share("1Gi"), "name": "other"})) == ("a",)


def test_requests_of_a_claim_go_back_on_their_choice() -> None:
    cluster = inventory(whole("a", 2))
    spec = claim(request("any"), request("first", f'{OWN}.uuid == "GPU-a-0"'))
    assert nodes(cluster, spec) == ("a",)


def test_claims_of_a_pod_go_back_on_their_choice() -> None:
    cluster = inventory(whole("a", 2))
    assert nodes(cluster, claim(request("any")), claim(request("first", f'{OWN}.uuid == "GPU-a-0"'))) == ("a",)


def test_all_claims_must_fit_on_one_node() -> None:
    cluster = inventory(whole("a", 1), whole("b", 1))
    found = fit(cluster, claim(), claim())
    assert found.now is False
    assert found.why == "each request would fit alone, but not all together on one node"


@pytest.mark.parametrize(("count", "fits"), [(2, ("a", "b")), (3, ("b",)), (4, ())])
def test_a_matching_attribute_keeps_devices_together(count: int, fits: tuple[str, ...]) -> None:
    cluster = inventory(
        resource_slice(
            "a-slice", HAMI, "a", [device(f"c{i}", {"root": "east" if i < 2 else "west"}, "1Gi") for i in range(4)]
        ),
        resource_slice(
            "b-slice", HAMI, "b", [device(f"c{i}", {"root": "east" if i == 2 else "west"}, "1Gi") for i in range(4)]
        ),
    )
    assert nodes(cluster, claim(request(count=count), constraints=[{"matchAttribute": f"{HAMI}/root"}])) == fits


def test_attributes_of_different_types_never_match() -> None:
    devices = [device("c0", {"slot": "1"}, "1Gi"), device("c1", {"slot": 1}, "1Gi")]
    cluster = inventory(resource_slice("a-slice", HAMI, "a", devices))
    assert not nodes(cluster, claim(request(count=2), constraints=[{"matchAttribute": f"{HAMI}/slot"}]))
    assert nodes(cluster, claim(request(count=2), constraints=[{"distinctAttribute": f"{HAMI}/slot"}]))


def test_a_distinct_attribute_makes_shares_different_cards() -> None:
    several = [{**share("1Gi"), "name": f"gpu-{i}"} for i in range(3)]
    constraint = [{"distinctAttribute": UUID}]
    cluster = inventory(shared("a", 2), shared("b", 3))
    assert nodes(cluster, claim(*several)) == ("a", "b")
    assert nodes(cluster, claim(*several, constraints=constraint)) == ("b",)
    scoped = [{"distinctAttribute": UUID, "requests": ["gpu-0", "gpu-1"]}]
    assert nodes(cluster, claim(*several, constraints=scoped)) == ("a", "b")


def test_of_several_devices_of_one_request_a_distinct_attribute_remembers_the_last_as_the_scheduler_does() -> None:
    devices = [device(f"c{i}", {"numa": i % 2}, "1Gi") for i in range(3)]
    cluster = inventory(resource_slice("a-slice", HAMI, "a", devices))
    assert nodes(cluster, claim(request(count=3), constraints=[{"distinctAttribute": f"{HAMI}/numa"}])) == ("a",)


def test_a_card_that_a_later_constraint_refuses_makes_a_distinct_attribute_forget_as_in_the_scheduler() -> None:
    """``remove`` of distinctAttributeConstraint takes the value of the whole request away, and a card is kept."""
    cards = [{"numa": 0, "root": "east"}, {"numa": 1, "root": "west"}, {"numa": 0, "root": "east"}]
    devices = [device(f"c{i}", card, "1Gi") for i, card in enumerate(cards)]
    cluster = inventory(resource_slice("a-slice", HAMI, "a", devices))
    distinct, match = {"distinctAttribute": f"{HAMI}/numa"}, {"matchAttribute": f"{HAMI}/root"}
    assert nodes(cluster, claim(request(count=2), constraints=[distinct, match])) == ("a",)
    assert nodes(cluster, claim(request(count=2), constraints=[match, distinct])) == ()
    assert nodes(cluster, claim(request(count=2), constraints=[distinct])) == ("a",), "c0 and c1"


def test_a_card_without_room_is_passed_over_before_constraints_see_it() -> None:
    devices = [
        device(f"c{i}", {"numa": numa}, "16Gi", allowMultipleAllocations=True) for i, numa in enumerate((0, 1, 0))
    ]
    full = allocated((HAMI, "a", "c1"), share={"memory": "16Gi"})
    asked = claim(request(count=2, capacity=amounts(memory="1Gi")), constraints=[{"distinctAttribute": f"{HAMI}/numa"}])
    slices = resource_slice("a-slice", HAMI, "a", devices)
    assert nodes(inventory(slices), asked) == ("a",)
    assert nodes(inventory(slices, claims=[full]), asked) == ()


def test_a_card_of_all_that_finds_no_room_leaves_the_constraints_to_the_next_alternative() -> None:
    options = alternatives(share("1Gi", count=0), share("1Gi"))["devices"]["requests"]
    same = [{"matchAttribute": UUID, "requests": ["gpu"]}]
    spec = claim({**share("16Gi"), "name": "first"}, *options, constraints=same)
    assert nodes(inventory(shared("a", 2)), spec) == ("a",), "all: card-0 is full by then; one: card-1"
    assert nodes(inventory(shared("a", 1)), spec) == ()


def alternatives(*options: JSON) -> JSON:
    """A claim whose request has alternatives."""
    named = [{"name": f"o{i}", **option["exactly"]} for i, option in enumerate(options)]
    return {"devices": {"requests": [{"name": "gpu", "firstAvailable": named}]}}


def test_the_next_alternative_is_taken_where_the_first_does_not_fit() -> None:
    cluster = inventory(whole("a", 4), whole("b", 2), claims=[allocated((HAMI, "b", "card-0"))])
    assert nodes(cluster, alternatives(request(count=3), request(count=1))) == ("a", "b")
    assert nodes(cluster, alternatives(request(count=3), request(count=2))) == ("a",)


def test_all_devices_means_all_that_match_and_are_free() -> None:
    everything = claim(request(count=0))
    assert nodes(inventory(whole("a", 3), node("a"), node("b")), everything) == ("a",)
    assert not nodes(inventory(whole("a", 3), claims=[allocated((HAMI, "a", "card-1"))]), everything)
    exhausted = allocated((HAMI, "a", "card-1"), share={"memory": "16Gi", "cores": "0"})
    assert nodes(inventory(shared("a", 3), claims=[exhausted]), claim(share("1Gi", count=0))) == ("a",)
    assert not nodes(inventory(*tainted()), everything)


def test_all_devices_cannot_be_told_while_a_pool_is_in_flux() -> None:
    half = {**whole("a", 3)}
    half["spec"] = {**half["spec"], "pool": {"name": "other", "generation": 1, "resourceSliceCount": 2}}
    half["metadata"] = {"name": "half"}
    cluster = inventory(whole("a", 3), half)
    assert fit(cluster, claim(request(count=0))).why == (
        "request gpu asks for all devices, and pool other is unusable: 1 of 2 slices are there"
    )
    assert nodes(cluster, claim(request(count=3))) == ("a",)


def test_all_devices_that_break_a_constraint_end_the_search_as_in_the_scheduler() -> None:
    cluster = inventory(whole("a", 3))
    found = fit(cluster, claim(request(count=0), constraints=[{"matchAttribute": UUID}]))
    assert found.now is False
    assert found.why == "request gpu asks for all devices, and a constraint forbids device card-1"


@pytest.mark.parametrize(
    ("taken", "asked", "fits"),
    [
        ((), [("4g.40gb", 2)], True),
        ((), [("4g.40gb", 1), ("2g.20gb", 2)], True),
        ((), [("4g.40gb", 1), ("2g.20gb", 2), ("1g.10gb", 1)], False),
        ((), [("", 1)], True),
        ((), [("", 1), ("1g.10gb", 1)], False),
        (("eighth-0",), [("", 1)], False),
        (("whole",), [("1g.10gb", 1)], False),
        (("half-0", "quarter-0"), [("2g.20gb", 1)], True),
        (("half-0", "quarter-0"), [("4g.40gb", 1)], False),
    ],
)
def test_parts_of_a_card_take_its_counters(taken: Sequence[str], asked: list[tuple[str, int]], fits: bool) -> None:
    claims = [allocated((NVIDIA, "partitionable-node", name)) for name in taken]
    cluster = inventory(*partitionable(), claims=claims)
    requests = [request(f"r{i}", MIG.format(profile), count=count) for i, (profile, count) in enumerate(asked)]
    assert fit(cluster, claim(*requests)).now is fits


def test_the_second_share_of_a_part_takes_no_counters() -> None:
    counters = [{"name": "card", "counters": {"slices": {"value": "1"}}}]
    takes = [{"counterSet": "card", "counters": {"slices": {"value": "1"}}}]
    policy = {"requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi"}}, "value": "4Gi"}
    parts = [
        device(f"p{i}", {}, "4Gi", capacity={"memory": policy}, consumesCounters=takes, allowMultipleAllocations=True)
        for i in range(2)
    ]
    pool = {"resourceSliceCount": 2}
    slices = [
        resource_slice("counters", HAMI, "a", sharedCounters=counters, pool=pool),
        resource_slice("devices", HAMI, "a", parts, pool=pool),
    ]
    four, five = ([request(f"r{i}") for i in range(number)] for number in (4, 5))
    assert nodes(inventory(*slices), claim(*four)) == ("a",)
    assert not nodes(inventory(*slices), claim(*five))
    one = allocated((HAMI, "a", "p0"), share={"memory": "3Gi"})
    assert nodes(inventory(*slices, claims=[one]), claim(request())) == ("a",)
    assert not nodes(inventory(*slices, claims=[one]), claim(request("x"), request("y")))


@pytest.mark.parametrize(
    ("cluster", "specs", "why"),
    [
        ([whole("a", 2)], [claim(request(deviceClassName="nosuch"))], "request gpu: DeviceClass nosuch does not exist"),
        ([node("a")], [claim()], "request gpu finds no device of DeviceClass cards"),
        (
            [whole("a", 2)],
            [claim(request("gpu", "false"))],
            "request gpu finds no device of DeviceClass cards that satisfies its selectors",
        ),
        (
            [shared("a", 2)],
            [claim(share("20Gi", "30"))],
            "request gpu finds no device with memory 20480Mi, cores 30 among those that it selects",
        ),
        (
            [tainted()[1]],
            [claim(request("gpu", f"{OWN}.minor < 2"))],
            "request gpu finds only devices with taints that it does not tolerate",
        ),
        (
            [whole("a", 2)],
            [claim(constraints=[{"matchAttribute": f"{HAMI}/nosuch"}])],
            "request gpu finds no device with the attributes and counters that it needs",
        ),
        (
            [whole("a", 2), whole("b", 3)],
            [claim(request(count=4))],
            "request gpu needs 4 devices on one node; at most 3 match on one (b)",
        ),
        (
            [whole("a", 2), allocated((HAMI, "a", "card-0"))],
            [claim(request(count=2))],
            "request gpu needs 2 devices with room; 2 match on node a, 1 with room now",
        ),
        (
            [whole("a", 2)],
            [claim(), claim(request(count=2), constraints=[{"matchAttribute": UUID}])],
            f"claim c1, request gpu finds room on 2 devices, but none that agree with the constraint on {UUID}",
        ),
        (
            [whole("a", 2)],
            [alternatives(request(count=4), request(count=3))],
            "request gpu/o0 needs 4 devices on one node; at most 2 match on one (a); its other alternatives fail too",
        ),
        (
            [*partitionable(), allocated((NVIDIA, "partitionable-node", "half-0"))],
            [claim(request("gpu", MIG.format("")))],
            "request gpu finds 1 device, but what they share with others is taken",
        ),
        ([whole("a", 40)], [claim(request(count=33))], "33 devices are asked in one claim, which has at most 32"),
        (
            [whole("a", 1)],
            [claim(request("gpu", f'{OWN}.nosuch == "x"'))],
            'request gpu, selector #0 fails on device card-0 of a: Key not found in map : "nosuch"',
        ),
    ],
)
def test_what_is_lacking_is_said(cluster: Sequence[JSON], specs: Sequence[JSON], why: str) -> None:
    found = fit(inventory(*cluster), *specs)
    assert (found.now, found.nodes, found.why) == (False, 0, why)


def test_a_failing_selector_ends_it_only_where_the_search_comes_to_it() -> None:
    careless = claim(request("gpu", f'{OWN}.model == "fast"'))
    devices = [device("c0", {"model": "fast"}, "1Gi"), device("c1", {}, "1Gi")]
    cluster = inventory(resource_slice("a-slice", HAMI, "a", devices))
    assert nodes(cluster, careless) == ("a",)
    taken = allocated((HAMI, "a", "c0"))
    assert fit(inventory(resource_slice("a-slice", HAMI, "a", devices), claims=[taken]), careless).now is False
    busy = allocated((HAMI, "a", "c1"))
    both = claim(request("gpu", f'{OWN}.model == "fast"', count=2))
    assert fit(inventory(resource_slice("a-slice", HAMI, "a", devices), claims=[busy]), both).why is not None


def test_what_cannot_be_evaluated_here_is_not_known() -> None:
    found = fit(inventory(whole("a", 1)), claim(request("gpu", 'url("https://example.org").getHost() == "x"')))
    assert found.now is None
    assert found.why is not None
    assert found.why.startswith("request gpu, selector #0: cannot be evaluated here:")


def test_a_hopeless_demand_of_many_requests_is_seen_at_once() -> None:
    nine = [request(f"r{i}") for i in range(9)]
    assert fit(inventory(whole("a", 8)), claim(*nine)).now is False
    shares = [{**share("1Gi"), "name": f"r{i}"} for i in range(9)]
    assert fit(inventory(shared("a", 8)), claim(*shares, constraints=[{"distinctAttribute": UUID}])).now is False


def test_a_search_that_takes_too_long_is_given_up() -> None:
    """Sixteen cards with room for one share each, but for the last request's."""
    claims = [allocated((HAMI, "a", f"card-{i}"), share={"memory": "9Gi", "cores": "0"}) for i in range(12)]
    shares = [{**share("5Gi"), "name": f"r{i}"} for i in range(13)]
    found = fit(inventory(shared("a", 12), claims=claims), claim(*shares))
    assert found.now is None
    assert found.why == "too many combinations on node a, perhaps also for the scheduler and its 10 s"


def test_unknown_nodes_and_claims_are_not_made_up() -> None:
    assert fit(inventory()).why == "no node is known"
    device_class = {"kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": {}}
    assert Inventory.from_objects([device_class, whole("a", 1)]).fit([claim()]) is None
