"""How each driver expresses an ask: sharing, sizes, versions, MIG, shares (S36-S46)."""

from typing import Any

import pytest

from app.drivers import builtin_profiles
from app.translate import Facts, Policy, PolicyError, TranslationSettings, facts_from_objects
from tests.translate.pods import (
    CORES,
    GPU,
    HAMI,
    MEM,
    NVIDIA,
    PCT,
    admitted,
    asking,
    capacity,
    cluster,
    container,
    decide,
    exactly,
    message,
    objects,
    only_request,
    pod,
    policy,
    warned,
    why,
)

ON_NVIDIA = policy(bindings={"nvidia": {"driver": NVIDIA}})
T4 = cluster("deviceclasses-hami", "hami-t4-node")
MIXED = cluster("deviceclasses-hami", "hami-t4-node", "hami-a100-node")
H100 = cluster("deviceclasses-nvidia", "nvidia-h100-node")
L40S = cluster("deviceclasses-nvidia", "nvidia-consumable-memory-node")
MIG_NODE = cluster("deviceclasses-nvidia", "nvidia-mig-node")


def devices(decision: Any) -> dict[str, Any]:
    result: dict[str, Any] = decision.templates[0].spec["devices"]
    return result


@pytest.mark.parametrize("version", [(1, 36), (1, 37), None])
def test_S37_two_cards_are_one_request_on_schedulers_from_1_36(version: Any) -> None:
    facts = Facts(server_version=version)
    assert devices(decide(asking({GPU: 2, MEM: 100}), facts)) == {
        "requests": [
            {
                "name": "gpu",
                "exactly": {
                    "deviceClassName": HAMI,
                    "allocationMode": "ExactCount",
                    "count": 2,
                    "capacity": {"requests": {"memory": "100Mi", "cores": "0"}},
                },
            }
        ]
    }


def test_S37_two_cards_are_two_distinct_requests_before_1_36() -> None:
    found = devices(decide(asking({GPU: 3, MEM: 100}), Facts(server_version=(1, 35))))
    assert [r["name"] for r in found["requests"]] == ["gpu-0", "gpu-1", "gpu-2"]
    assert {r["exactly"]["count"] for r in found["requests"]} == {1}
    assert found["constraints"] == [{"distinctAttribute": f"{HAMI}/uuid"}]


def test_S37_one_card_needs_no_constraint_on_any_version() -> None:
    assert "constraints" not in devices(decide(asking({GPU: 1, MEM: 100}), Facts(server_version=(1, 35))))


@pytest.mark.parametrize(("server", "scheduler", "requests"), [((1, 36), "1.35", 2), ((1, 35), "1.36", 1)])
def test_S37_during_an_upgrade_the_scheduler_version_is_a_setting(server: Any, scheduler: str, requests: int) -> None:
    decision = decide(asking({GPU: 2, MEM: 1}), Facts(server_version=server), policy(schedulerVersion=scheduler))
    assert len(devices(decision)["requests"]) == requests


def test_S37_drivers_that_do_not_share_use_a_count_on_every_version() -> None:
    found = devices(decide(asking({GPU: 4}), Facts(server_version=(1, 34)), ON_NVIDIA))
    assert [r["exactly"]["count"] for r in found["requests"]] == [4]
    assert "constraints" not in found


def test_S37_match_and_distinct_never_stand_in_one_constraint() -> None:
    """The API server applies only the first of two in one entry."""
    facts = facts_from_objects(objects("deviceclasses-nvidia", "nvidia-consumable-memory-node"), server_version=(1, 35))
    decision = decide(asking({GPU: 2, MEM: 100}, {"nvidia.com/numa-bind": "true"}), facts, ON_NVIDIA)
    assert devices(decision)["constraints"] == [
        {"distinctAttribute": "gpu.nvidia.com/uuid"},
        {"matchAttribute": "resource.kubernetes.io/numaNode"},
    ]


def sizes(decision: Any) -> list[str]:
    return [o["capacity"]["requests"]["memory"] for o in only_request(decision)["firstAvailable"]]


def test_S38_a_percentage_is_right_on_each_card_of_a_mixed_cluster() -> None:
    assert sizes(decide(asking({GPU: 1, PCT: 50}), MIXED)) == ["7680Mi", "40Gi".replace("40Gi", "40960Mi")]


def test_S38_each_alternative_selects_its_size() -> None:
    expressions = [
        o["selectors"][-1]["cel"]["expression"]
        for o in only_request(decide(asking({PCT: 50}), MIXED))["firstAvailable"]
    ]
    assert ['quantity("15360Mi")' in expressions[0], 'quantity("81920Mi")' in expressions[1]] == [True, True]


def test_S38_sizes_that_the_annotations_exclude_do_not_count() -> None:
    decision = decide(asking({GPU: 1, PCT: 50}, {"nvidia.com/use-gputype": "T4"}), MIXED)
    assert capacity(decision)["memory"] == "7680Mi"


def test_S38_sizes_from_slices_win_over_the_configuration() -> None:
    own = policy(cardMemoryMiB=[99999])
    assert capacity(decide(asking({PCT: 50}), T4, own))["memory"] == "7680Mi"
    assert capacity(decide(asking({PCT: 50}), policy=own))["memory"] == "49999Mi"


def test_S38_no_known_size_is_denied() -> None:
    decision = decide(asking({GPU: 1, PCT: 50}))
    assert (decision.outcome, why(decision)) == ("denied", {"card-size-unknown"})
    for word in ("50 %", "cardMemoryMiB", MEM):
        assert word in message(decision)


def test_S38_a_preview_may_assume_sizes_and_says_so() -> None:
    decision = decide(asking({GPU: 1, PCT: 50}), Facts(assumed_card_sizes_mib=(15360, 81559)))
    assert sizes(decision) == ["7680Mi", "40779Mi"]
    assert warned(decision) == {"assumed-card-sizes"}


def test_S38_the_eight_most_common_sizes_fit() -> None:
    own = policy(cardMemoryMiB=[1000 * n for n in range(1, 11)])
    decision = decide(asking({GPU: 1, PCT: 50}), policy=own)
    assert len(sizes(decision)) == 8
    assert warned(decision) == {"card-sizes-left-out"}


def test_S38_n_devices_follow_S37_in_every_alternative() -> None:
    new = only_request(decide(asking({GPU: 2, PCT: 50}), MIXED))
    assert [o["count"] for o in new["firstAvailable"]] == [2, 2]
    old = devices(decide(asking({GPU: 2, PCT: 50}), Facts(server_version=(1, 35)), policy(cardMemoryMiB=[1000, 2000])))
    assert [[o["count"] for o in r["firstAvailable"]] for r in old["requests"]] == [[1, 1], [1, 1]]
    assert old["constraints"] == [{"distinctAttribute": f"{HAMI}/uuid"}]


def test_S38_drivers_that_read_no_alternatives_are_denied_with_a_hint() -> None:
    own = {**builtin_profiles(), HAMI: builtin_profiles()[HAMI].model_copy(update={"prioritized_alternatives": False})}
    decision = decide(asking({GPU: 1, PCT: 50}), MIXED, Policy(TranslationSettings(), own))
    assert why(decision) == {"no-alternatives"}
    assert MEM in message(decision)


def test_S39_whole_cards_on_a_driver_that_does_not_share() -> None:
    decision = decide(asking({GPU: 2}), H100, ON_NVIDIA)
    assert exactly(decision) == {"deviceClassName": NVIDIA, "allocationMode": "ExactCount", "count": 2}
    assert decision.claims[0].exclusive
    assert warned(decision) == set()


@pytest.mark.parametrize("limits", [{GPU: 1, MEM: 8000}, {GPU: 1, PCT: 50}, {GPU: 1, CORES: 30}])
def test_S39_shares_become_whole_cards_with_a_warning_or_are_denied(limits: dict[str, int]) -> None:
    decision = decide(asking(limits), H100, ON_NVIDIA)
    assert "capacity" not in exactly(decision)
    assert warned(decision) == {"whole-card-instead"}
    strict = decide(asking(limits), H100, policy(bindings={"nvidia": {"driver": NVIDIA}}, noSharing="deny"))
    assert why(strict) == {"no-sharing"}


def test_S39_all_cores_of_a_whole_card_are_not_called_shared() -> None:
    assert warned(decide(asking({GPU: 1, MEM: 8000, CORES: 100}), H100, ON_NVIDIA)) == {"whole-card-instead"}


def test_S39_an_amount_of_memory_becomes_a_lower_bound() -> None:
    (selector,) = exactly(decide(asking({GPU: 1, MEM: 8000}), H100, ON_NVIDIA))["selectors"]
    assert selector["cel"]["expression"] == (
        '"memory" in device.capacity["gpu.nvidia.com"] && '
        'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("8000Mi")) >= 0'
    )


def test_S40_consumable_memory_is_shared_and_cores_are_never_asked() -> None:
    decision = decide(asking({GPU: 1, MEM: 8000, CORES: 30}), L40S, ON_NVIDIA)
    assert capacity(decision) == {"memory": "8000Mi"}
    assert warned(decision) == {"cores-unsupported"}
    assert not decision.claims[0].exclusive


def test_S40_leaving_memory_out_takes_the_whole_card_in_memory_mode() -> None:
    decision = decide(asking({GPU: 1}), L40S, ON_NVIDIA)
    assert capacity(decision) == {}
    assert decision.claims[0].exclusive


def shares_facts(shares: int | None) -> Facts:
    """The consumable-memory node in the driver's modes ``unlimited`` (None) and N."""
    found = objects("deviceclasses-nvidia", "nvidia-consumable-memory-node")
    for item in found:
        for device in item.get("spec", {}).get("devices", []) if item["kind"] == "ResourceSlice" else []:
            device["capacity"]["memory"]["requestPolicy"]["default"] = "0"
            if shares:
                device["capacity"]["shares"] = {"value": str(shares), "requestPolicy": {"default": "1"}}
    return facts_from_objects(found, server_version=(1, 36))


def test_S40_where_leaving_memory_out_is_free_a_whole_card_asks_all_of_it() -> None:
    assert capacity(decide(asking({GPU: 1}), shares_facts(None), ON_NVIDIA)) == {"memory": "46068Mi"}
    decision = decide(asking({GPU: 1}), shares_facts(4), ON_NVIDIA)
    assert capacity(decision) == {"memory": "46068Mi", "shares": "4"}
    assert decision.claims[0].exclusive


@pytest.mark.parametrize("profile", ["gpu.nvidia.com-unlimited", "gpu.nvidia.com-shares"])
def test_S40_a_whole_card_of_unknown_size_is_denied(profile: str) -> None:
    own = policy(bindings={"nvidia": {"driver": profile}})
    assert why(decide(asking({GPU: 1}), policy=own)) == {"card-size-unknown"}
    assert decide(asking({MEM: 100}), policy=own).outcome == "converted"


@pytest.mark.parametrize("key", ["nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb.shared"])
def test_S41_shared_names_stay_where_no_shares_are_bound(key: str) -> None:
    manifest = asking({key: 1})
    decision = decide(manifest)
    assert (decision.outcome, decision.patch, warned(decision)) == ("untouched", (), {"shared-unbound"})
    both = asking({key: 1, "nvidia.com/mig-1g.5gb": 1})
    assert admitted(both, decide(both))["spec"]["containers"][0]["resources"]["limits"] == {key: 1}


def test_S41_shared_names_are_shares_where_the_binding_says_so() -> None:
    own = policy(bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})
    decision = decide(asking({"nvidia.com/gpu.shared": 2}), shares_facts(4), own)
    assert exactly(decision)["count"] == 2
    assert capacity(decision) == {"shares": "1"}
    mig = exactly(decide(asking({"nvidia.com/mig-1g.10gb.shared": 1}), policy=own))
    assert mig["deviceClassName"] == "mig.nvidia.com"
    assert 'profile == "1g.10gb"' in mig["selectors"][0]["cel"]["expression"]


def without_capacity(name: str) -> Facts:
    found = objects("deviceclasses-hami", "hami-t4-node")
    for item in found:
        for device in item.get("spec", {}).get("devices", []) if item["kind"] == "ResourceSlice" else []:
            del device["capacity"][name]
    return facts_from_objects(found, server_version=(1, 36))


def test_S42_a_capacity_that_the_slices_do_not_publish_is_never_asked() -> None:
    assert capacity(decide(asking({GPU: 1, MEM: 100}), without_capacity("cores"))) == {"memory": "100Mi"}
    assert why(decide(asking({GPU: 1, MEM: 100}), without_capacity("memory"))) == {"no-sharing"}


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("1g.5gb", "1g.5gb"),
        ("1g.5gb.me", "1g.5gb+me"),
        ("1g.24gb.me.all", "1g.24gb+me.all"),
        ("2g.48gb.gfx", "2g.48gb+gfx"),
        ("1g.24gb-me", "1g.24gb-me"),
    ],
)
def test_S43_the_profile_is_spelled_as_the_slices_spell_it(name: str, profile: str) -> None:
    decision = decide(asking({f"nvidia.com/mig-{name}": 3}))
    option = exactly(decision)
    assert (option["deviceClassName"], option["count"]) == ("mig.nvidia.com", 3)
    (selector,) = option["selectors"]
    attributes = 'device.attributes["gpu.nvidia.com"]'
    assert selector["cel"]["expression"] == f'"profile" in {attributes} && {attributes}.profile == "{profile}"'
    assert decision.claims[0].mig_profile == profile


@pytest.mark.parametrize("name", ["1c.3g.20gb", "small", "1g.5gb.ME", "3g", "1g.5gb.me.", "g.5gb", "1g.5gb-"])
def test_S43_other_names_stay_with_a_warning(name: str) -> None:
    decision = decide(asking({f"nvidia.com/mig-{name}": 1}))
    assert (decision.outcome, warned(decision)) == ("untouched", {"mig-name"})


def test_S43_renamed_profiles_have_aliases() -> None:
    decision = decide(asking({"nvidia.com/mig-1g.23gb": 1}), policy=policy(migAliases={"1g.23gb": "1g.24gb"}))
    assert decision.claims[0].mig_profile == "1g.24gb"


def test_S43_mig_is_never_sent_to_the_hami_driver() -> None:
    with pytest.raises(PolicyError, match=r"bindings\.nvidia\.mig: .* has no MIG devices"):
        policy(bindings={"nvidia": {"mig": HAMI}})


@pytest.mark.parametrize("limits", [{"1g.5gb": 2}, {"1g.5gb": 1, "2g.10gb": 1}])
def test_S43_several_slices_of_one_container_are_warned_about(limits: dict[str, int]) -> None:
    decision = decide(asking({f"nvidia.com/mig-{k}": v for k, v in limits.items()}))
    assert warned(decision) == {"several-slices"}
    assert len(decision.templates) == 1


def test_S43_two_names_for_one_profile_are_two_requests() -> None:
    decision = decide(
        asking({"nvidia.com/mig-1g.23gb": 1, "nvidia.com/mig-1g.24gb": 1}),
        policy=policy(migAliases={"1g.23gb": "1g.24gb"}),
    )
    assert [r["name"] for r in devices(decision)["requests"]] == ["mig-1g-24gb", "mig-1g-24gb-2"]


def test_S44_a_count_can_mean_any_mig_device() -> None:
    decision = decide(asking({GPU: 2}), MIG_NODE, policy(nvidia={"count": "mig"}))
    assert exactly(decision) == {"deviceClassName": "mig.nvidia.com", "allocationMode": "ExactCount", "count": 2}


def test_S44_a_count_can_mean_a_share() -> None:
    own = policy(nvidia={"count": "share"}, bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})
    assert capacity(decide(asking({GPU: 1}), shares_facts(4), own)) == {"shares": "1"}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"nvidia": {"count": "share"}}, "nvidia.count: share needs bindings.nvidia.shared"),
        ({"nvidia": {"count": "mig"}, "bindings": {"nvidia": {"mig": None}}}, "nvidia.count: mig needs"),
        ({"bindings": {"nvidia": {"driver": "gpu.nvidia.con"}}}, "bindings.nvidia.driver: no driver profile is named"),
        ({"bindings": {"nvidia": {"shared": HAMI}}}, "bindings.nvidia.shared: .* has no capacity shares"),
    ],
)
def test_S44_S46_bindings_that_cannot_work_are_refused_at_start(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem):
        policy(**settings)


def test_S45_a_card_and_a_slice_are_one_claim_per_driver() -> None:
    manifest = asking({GPU: 1, "nvidia.com/mig-1g.5gb": 1})
    decision = decide(manifest)
    assert [t.spec["devices"]["requests"][0]["exactly"]["deviceClassName"] for t in decision.templates] == [
        HAMI,
        "mig.nvidia.com",
    ]
    assert admitted(manifest, decision)["spec"]["containers"][0]["resources"]["claims"] == [
        {"name": "main-gpu"},
        {"name": "main-mig"},
    ]
    assert decision.claims[0].exclusive  # a plain count beside a slice is still a whole card


def test_S45_one_driver_for_both_is_one_claim() -> None:
    decision = decide(asking({GPU: 1, "nvidia.com/mig-1g.5gb": 1}), policy=ON_NVIDIA)
    assert [r["name"] for r in devices(decision)["requests"]] == ["gpu", "mig-1g-5gb"]


def test_S46_without_the_class_the_count_is_denied_and_mig_keys_stay() -> None:
    nothing = facts_from_objects([], server_version=(1, 36))
    denied = decide(asking({GPU: 1}), nothing)
    assert (denied.outcome, why(denied)) == ("denied", {"device-class-missing"})
    assert HAMI in message(denied)
    stays = decide(asking({"nvidia.com/mig-1g.5gb": 1}), nothing)
    assert (stays.outcome, warned(stays)) == ("untouched", {"mig-unbound"})


def test_S46_unknown_facts_convert() -> None:
    assert decide(asking({GPU: 1, "nvidia.com/mig-1g.5gb": 1})).outcome == "converted"


def test_S46_mig_keys_stay_when_nothing_is_bound() -> None:
    decision = decide(asking({"nvidia.com/mig-1g.5gb": 1}), policy=policy(bindings={"nvidia": {"mig": None}}))
    assert (decision.outcome, warned(decision)) == ("untouched", {"mig-unbound"})


@pytest.mark.parametrize("limits", [{GPU: 1, MEM: 100}, {GPU: 1}, {GPU: 2}])
def test_a_server_that_drops_capacity_is_refused_with_the_gate(limits: dict[str, int]) -> None:
    """Without its capacity a claim for 1 MiB is a claim for a whole card (observed on 1.35)."""
    facts = cluster("deviceclasses-hami", "hami-t4-node", version=(1, 35), dropped=("capacity", "distinctAttribute"))
    decision = decide(asking(limits), facts)
    assert (decision.outcome, why(decision)) == ("denied", {"feature-gate-off"})
    assert "DRAConsumableCapacity" in message(decision)


def test_a_server_that_drops_capacity_still_serves_whole_cards_and_slices() -> None:
    facts = cluster(
        "deviceclasses-nvidia", "nvidia-h100-node", version=(1, 35), dropped=("capacity", "distinctAttribute")
    )
    assert decide(asking({GPU: 2}), facts, ON_NVIDIA).outcome == "converted"
    assert decide(asking({"nvidia.com/mig-1g.5gb": 1}), facts).outcome == "converted"


def test_the_example_driver_is_bound_like_any_other() -> None:
    own = policy(bindings={"nvidia": {"driver": "gpu.example.com"}})
    assert exactly(decide(asking({GPU: 1}), policy=own))["deviceClassName"] == "gpu.example.com"


def test_containers_share_a_template_when_they_ask_the_same() -> None:
    decision = decide(pod(container("a", {GPU: 1, MEM: 1}), container("b", {GPU: 1, MEM: 1})))
    assert len(decision.templates) == 1
    assert {c.claim for c in decision.claims} == {"a-gpu", "b-gpu"}


SHARES = policy(bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})


@pytest.mark.parametrize("facts", [H100, L40S, shares_facts(None)], ids=["exclusive", "by memory", "unlimited"])
@pytest.mark.parametrize("profile", ["gpu.nvidia.com-shares", "gpu.nvidia.com"])
@pytest.mark.parametrize("count", ["card", "share"])
def test_S41_a_share_is_never_a_whole_device(facts: Facts, profile: str, count: str) -> None:
    """Slices without counted shares: the keys stay, also those of a count that means a share (S44)."""
    own = policy(nvidia={"count": count}, bindings={"nvidia": {"shared": profile}})
    limits = {GPU: 1, MEM: 1000} if count == "share" else {"nvidia.com/gpu.shared": 1}
    decision = decide(asking(limits), facts, own)
    assert (decision.outcome, decision.patch, warned(decision)) == ("untouched", (), {"shared-unbound"})
    assert "publishes no shares here" in decision.warnings[0].message


@pytest.mark.parametrize("key", ["nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb.shared"])
def test_S41_unknown_slices_have_shares_where_the_profile_says_so(key: str) -> None:
    assert capacity(decide(asking({key: 1}), policy=SHARES)) == {"shares": "1"}
    exclusive = policy(bindings={"nvidia": {"shared": "gpu.nvidia.com"}})
    assert warned(decide(asking({key: 1}), policy=exclusive)) == {"shared-unbound"}


def test_S41_shares_of_mig_devices_need_mig_devices_with_shares() -> None:
    limits = {"nvidia.com/mig-1g.10gb.shared": 1}
    assert warned(decide(asking(limits), MIG_NODE, SHARES)) == {"shared-unbound"}
    no_class = facts_from_objects([], server_version=(1, 36))
    assert warned(decide(asking(limits), no_class, SHARES)) == {"shared-unbound"}
    profiles = builtin_profiles()
    no_mig = profiles["gpu.nvidia.com-shares"].model_copy(update={"mig": None})
    own = Policy(SHARES.settings, {**profiles, no_mig.name: no_mig})
    assert warned(decide(asking(limits), policy=own)) == {"shared-unbound"}


def test_S41_several_shares_of_mig_devices_are_different_ones_on_old_schedulers() -> None:
    old = Facts(server_version=(1, 35))
    found = devices(decide(asking({"nvidia.com/mig-1g.10gb.shared": 2}), old, SHARES))
    assert [request["exactly"]["count"] for request in found["requests"]] == [1, 1]
    assert found["constraints"] == [{"distinctAttribute": "gpu.nvidia.com/uuid"}]


def test_S34_no_share_is_asked_where_there_is_none() -> None:
    own = policy(nvidia={"count": "share"}, bindings={"nvidia": {"shared": "gpu.nvidia.com"}})
    assert decide(asking({GPU: 0}), H100, own).outcome == "converted"


def test_S30_all_cores_of_a_share_take_no_card() -> None:
    own = policy(
        nvidia={"count": "share"}, bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}}, exclusiveCores="whole-card"
    )
    decision = decide(asking({GPU: 1, MEM: 1000, CORES: 100}), shares_facts(4), own)
    assert capacity(decision) == {"memory": "1000Mi", "shares": "1"}
    assert warned(decision) == {"cores-unsupported"}


def test_S44_a_percentage_of_a_share_is_asked() -> None:
    own = policy(nvidia={"count": "share"}, bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})
    decision = decide(asking({GPU: 1, PCT: 50, CORES: 20}), shares_facts(4), own)
    assert capacity(decision) == {"memory": "23034Mi", "shares": "1"}
    assert warned(decision) == {"cores-unsupported"}


def test_S43_an_alias_is_written_as_manifests_spell_it() -> None:
    decision = decide(asking({"nvidia.com/mig-1g.5gb.me": 1}), policy=policy(migAliases={"1g.5gb.me": "1g.6gb+me"}))
    assert decision.claims[0].mig_profile == "1g.6gb+me"


def _turned(value: Any) -> Any:
    """The same JSON with the members of all maps in the other order."""
    if isinstance(value, dict):
        return {key: _turned(one) for key, one in reversed(value.items())}
    return [_turned(one) for one in value] if isinstance(value, list) else value


def test_S62_the_order_of_keys_in_a_file_changes_nothing() -> None:
    limits = {"nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-2g.20gb": 1, GPU: 1, MEM: 8000, CORES: 10}
    annotations = {"nvidia.com/use-gputype": "A100,H100", "nvidia.com/nouse-gpuuuid": "GPU-1,GPU-2"}
    first = container("warm", {"nvidia.com/mig-2g.20gb": 2, "nvidia.com/mig-1g.10gb": 1, MEM: 9000})
    manifest = asking(limits, annotations, initContainers=[first])
    one, other = decide(manifest), decide(_turned(manifest))
    assert (one.templates, one.patch) == (other.templates, other.patch)


@pytest.mark.parametrize("limits", [{GPU: 1, MEM: 8000}, {GPU: 1, PCT: 50}, {GPU: 1, CORES: 30}])
def test_S39_a_claim_grants_what_its_request_limits(limits: dict[str, int]) -> None:
    """A whole card is granted whole, whatever part of it was asked."""
    (claim,) = decide(asking(limits), H100, ON_NVIDIA).claims
    assert (claim.memory_mib, claim.memory_percentage, claim.cores, claim.exclusive) == (None, None, None, True)


def test_S39_a_count_that_means_a_mig_device_takes_a_whole_one() -> None:
    decision = decide(asking({GPU: 1, MEM: 8000}), policy=policy(nvidia={"count": "mig"}))
    assert decision.claims[0].memory_mib is None
    assert "does not share MIG devices: whole MIG devices are taken" in decision.warnings[0].message


def test_S52_a_mig_device_chosen_by_memory_is_granted_whole() -> None:
    manifest = asking({GPU: 1, MEM: 8000}, {"nvidia.com/vgpu-mode": "mig"})
    assert decide(manifest, MIG_NODE).claims[0].memory_mib is None


def test_S41_a_share_grants_no_memory_and_is_not_for_itself() -> None:
    decision = decide(asking({"nvidia.com/gpu.shared": 1}), shares_facts(4), SHARES)
    (claim,) = decision.claims
    assert (claim.share, claim.memory_mib, claim.exclusive) == (True, None, False)
    assert decision.templates[0].summary.startswith("1 share (")
    mig = decide(asking({"nvidia.com/mig-1g.10gb.shared": 1}), policy=SHARES)
    assert mig.templates[0].summary.startswith("1 share, 1g.10gb (")


def test_S52_a_count_that_means_a_share_takes_a_mig_device_where_its_mode_asks_one() -> None:
    own = policy(nvidia={"count": "share"}, bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})
    decision = decide(asking({GPU: 1, MEM: 4000}, {"nvidia.com/vgpu-mode": "mig"}), policy=own)
    (claim,) = decision.claims
    assert (claim.request, claim.share, claim.device_class) == ("mig", False, "mig.nvidia.com")
