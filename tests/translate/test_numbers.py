"""What one container's numbers become: the table S20-S35 and the rules for reading them (S6, S10-S15)."""

from typing import Any

import pytest

from tests.translate.pods import (
    CORES,
    GPU,
    HAMI,
    MEM,
    PCT,
    PRIO,
    admitted,
    asking,
    capacity,
    cluster,
    container,
    decide,
    exactly,
    message,
    only_request,
    pod,
    policy,
    warned,
    why,
)

WHOLE = None


@pytest.mark.parametrize(
    ("rule", "limits", "devices", "memory", "cores"),
    [
        ("S20", {GPU: 1}, 1, WHOLE, "100"),
        ("S21", {GPU: 2}, 2, WHOLE, "100"),
        ("S22", {GPU: 1, MEM: 8000}, 1, "8000Mi", "0"),
        ("S23", {GPU: 2, MEM: 8000}, 2, "8000Mi", "0"),
        ("S25", {GPU: 1, PCT: 100}, 1, WHOLE, "100"),
        ("S26", {GPU: 1, PCT: 0}, 1, WHOLE, "0"),
        ("S26", {GPU: 1, MEM: 0}, 1, WHOLE, "0"),
        ("S27", {GPU: 1, CORES: 30}, 1, WHOLE, "30"),
        ("S28", {GPU: 1, CORES: 0}, 1, WHOLE, "0"),
        ("S29", {GPU: 1, MEM: 8000, CORES: 30}, 1, "8000Mi", "30"),
        ("S30", {GPU: 1, MEM: 8000, CORES: 100}, 1, "8000Mi", "100"),
        ("S31", {GPU: 1, MEM: 8000, PCT: 50}, 1, "8000Mi", "0"),
        ("S32", {GPU: 1, MEM: 8000, PCT: 100}, 1, "8000Mi", "100"),
        ("S33", {MEM: 8000}, 1, "8000Mi", "0"),
        ("S33", {CORES: 30}, 1, WHOLE, "30"),
    ],
)
def test_S20_to_S33_a_row_of_the_table(
    rule: str, limits: dict[str, int], devices: int, memory: str | None, cores: str
) -> None:
    decision = decide(asking(limits))
    assert decision.outcome == "converted"
    assert exactly(decision)["count"] == devices
    assert exactly(decision)["deviceClassName"] == HAMI
    assert capacity(decision).get("memory") == memory
    assert capacity(decision)["cores"] == cores
    assert rule in decision.claims[0].rules


def test_S24_a_percentage_is_rounded_down_on_each_card_size() -> None:
    decision = decide(asking({GPU: 1, PCT: 50}), policy=policy(cardMemoryMiB=[81559, 23028]))
    options = only_request(decision)["firstAvailable"]
    assert [o["capacity"]["requests"] for o in options] == [
        {"memory": "11514Mi", "cores": "0"},
        {"memory": "40779Mi", "cores": "0"},
    ]


def test_S36_cores_are_written_even_when_zero() -> None:
    """The HAMi driver's default is 100, which would keep every neighbour away."""
    assert capacity(decide(asking({GPU: 1, MEM: 1})))["cores"] == "0"


@pytest.mark.parametrize(
    "limits", [{GPU: 1, MEM: 8000, CORES: 100}, {GPU: 1, MEM: 8000, PCT: 100}, {PCT: 50, CORES: 100}]
)
def test_S30_all_cores_of_a_share_are_not_exclusive_and_say_so(limits: dict[str, int]) -> None:
    decision = decide(asking(limits), policy=policy(cardMemoryMiB=[15360]))
    assert not decision.claims[0].exclusive
    assert "full-cores-shared" in warned(decision)


def test_S30_a_setting_takes_the_whole_card_for_all_cores() -> None:
    decision = decide(asking({GPU: 1, MEM: 8000, CORES: 100}), policy=policy(exclusiveCores="whole-card"))
    assert capacity(decision) == {"cores": "100"}
    assert decision.claims[0].exclusive
    assert warned(decision) == {"full-cores-whole-card"}


@pytest.mark.parametrize("percentage", [50, 100])
def test_S31_S32_both_memory_keys_give_a_warning(percentage: int) -> None:
    assert "memory-and-percentage" in warned(decide(asking({GPU: 1, MEM: 8000, PCT: percentage})))


def test_S31_a_percentage_of_zero_is_not_given() -> None:
    assert warned(decide(asking({GPU: 1, MEM: 8000, PCT: 0}))) == set()


@pytest.mark.parametrize("key", [MEM, PCT, CORES])
def test_S33_without_a_default_count_the_key_stays_with_a_warning(key: str) -> None:
    manifest = asking({key: 30}, schedulerName="default-scheduler")
    decision = decide(manifest, policy=policy(defaultGPUNum=0))
    assert (decision.outcome, decision.patch, why(decision)) == ("untouched", (), {"keys-stay"})
    assert warned(decision) == {"no-default-count"}


def test_S33_the_default_count_is_a_setting() -> None:
    assert exactly(decide(asking({MEM: 8000}), policy=policy(defaultGPUNum=3)))["count"] == 3


@pytest.mark.parametrize("more", [{}, {MEM: 100}, {CORES: 10}, {PCT: 50}])
def test_S34_zero_cards_lose_their_keys_and_get_no_claim(more: dict[str, int]) -> None:
    manifest = pod(
        container(limits={"cpu": "1", GPU: 0, **more}, securityContext={"privileged": True}),
        nodeName="n1",
        schedulerName="hami-scheduler",
    )
    decision = decide(manifest)
    assert (decision.outcome, decision.claims, decision.templates) == ("converted", (), ())
    stored = admitted(manifest, decision)
    assert stored["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert stored["spec"]["nodeName"] == "n1"
    assert stored["spec"]["schedulerName"] == "default-scheduler"
    assert warned(decision) == ({"memory-for-zero-cards"} if more else set())


def test_S34_empty_resources_disappear() -> None:
    manifest = asking({GPU: 0})
    assert "resources" not in admitted(manifest, decide(manifest))["spec"]["containers"][0]


def test_S35_priority_becomes_a_variable_of_its_container_only() -> None:
    manifest = pod(container("a", {GPU: 1, MEM: 1000, PRIO: "0"}), container("b"), container("c", {PRIO: 1}))
    decision = decide(manifest)
    a, b, c = admitted(manifest, decision)["spec"]["containers"]
    assert a["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "0"}]
    assert "env" not in b
    assert c["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "1"}]
    assert "resources" not in c


def test_S35_priority_is_appended_last() -> None:
    env = [{"name": "CUDA_TASK_PRIORITY", "value": "0"}, {"name": "MODE", "value": "batch"}]
    manifest = pod(container(limits={GPU: 1, PRIO: 1}, env=env))
    assert admitted(manifest, decide(manifest))["spec"]["containers"][0]["env"] == [
        *env,
        {"name": "CUDA_TASK_PRIORITY", "value": "1"},
    ]


def test_S35_an_odd_priority_passes_with_a_warning() -> None:
    manifest = asking({GPU: 1, PRIO: 5})
    decision = decide(manifest)
    assert warned(decision) == {"priority-range"}
    assert admitted(manifest, decision)["spec"]["containers"][0]["env"] == [
        {"name": "CUDA_TASK_PRIORITY", "value": "5"}
    ]


def test_S35_a_priority_alone_asks_nothing() -> None:
    decision = decide(asking({PRIO: 0}))
    assert (decision.outcome, decision.patch, why(decision)) == ("untouched", (), {"keys-stay"})
    assert warned(decision) == {"priority-without-card"}


@pytest.mark.parametrize("value", [8000, "8000", "8k", " 8000 ", "8e3", "8000.0", 8000.0])
def test_S10_every_spelling_of_a_number_gives_the_same_template(value: object) -> None:
    by_hand = decide(asking({GPU: "1", MEM: value}))
    by_server = decide(pod(container(resources={"limits": {GPU: "1", MEM: "8k"}, "requests": {GPU: "1", MEM: "8k"}})))
    assert by_hand.templates == by_server.templates


def test_S10_a_binary_suffix_is_only_a_number() -> None:
    assert capacity(decide(asking({GPU: 1, MEM: "8Ki"})))["memory"] == "8192Mi"


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("16Gi", "write 16384"),
        ("3000Mi", "write 3000"),
        ("1Gi", "write 1024"),
        (9_000_000_000_000, "write at most 4194304"),
    ],
)
def test_S11_memory_written_in_bytes_is_denied_with_the_right_number(value: object, advice: str) -> None:
    decision = decide(asking({GPU: 1, MEM: value}))
    assert (decision.outcome, why(decision), decision.templates) == ("denied", {"memory-too-large"}, ())
    for word in (MEM, "MiB", "container main", advice):
        assert word in message(decision)
    assert decision.reasons[0].path == f'spec.containers[0].resources.limits["{MEM}"]'


def test_S11_the_limit_is_a_setting_and_counts_after_the_factor() -> None:
    assert decide(asking({MEM: 500}), policy=policy(maxMemoryMiB=1000, memoryFactor=2)).outcome == "converted"
    assert decide(asking({MEM: 501}), policy=policy(maxMemoryMiB=1000, memoryFactor=2)).outcome == "denied"


@pytest.mark.parametrize("key", [GPU, MEM, PCT, CORES, PRIO])
def test_S11_numbers_beyond_64_bits_are_denied(key: str) -> None:
    decision = decide(asking({GPU: 1, key: "99999999999999999999999"}))
    assert (decision.outcome, why(decision)) == ("denied", {"number-too-large"})


def test_S12_the_factor_multiplies_memory_and_never_the_percentage() -> None:
    doubled = policy(memoryFactor=2, cardMemoryMiB=[10000])
    assert capacity(decide(asking({GPU: 1, MEM: 1024}), policy=doubled))["memory"] == "2048Mi"
    assert capacity(decide(asking({GPU: 1, PCT: 10}), policy=doubled))["memory"] == "1000Mi"


@pytest.mark.parametrize(
    ("limits", "memory", "cores"), [({GPU: 1}, "5000Mi", "100"), ({GPU: 1, CORES: 0}, "5000Mi", "0")]
)
def test_S12_default_memory_replaces_the_whole_card(limits: dict[str, int], memory: str, cores: str) -> None:
    assert capacity(decide(asking(limits), policy=policy(defaultMemory=5000))) == {"memory": memory, "cores": cores}


def test_S12_default_cores_replace_zero_only() -> None:
    ten = policy(defaultCores=10)
    assert capacity(decide(asking({GPU: 1, MEM: 8000}), policy=ten))["cores"] == "10"
    assert capacity(decide(asking({GPU: 1}), policy=ten))["cores"] == "100"
    assert capacity(decide(asking({GPU: 1, CORES: 0}), policy=ten))["cores"] == "0"


def test_S13_a_percentage_above_100_is_denied_although_another_container_is_fine() -> None:
    decision = decide(pod(container("fine", {GPU: 1, MEM: 1}), container("too-much", {GPU: 1, PCT: 101})))
    assert (decision.outcome, why(decision)) == ("denied", {"percentage-out-of-range"})
    for word in (PCT, "101", "too-much", "100"):
        assert word in message(decision)


def test_S14_cores_above_100_count_as_100() -> None:
    decision = decide(asking({GPU: 1, MEM: 4000, CORES: 150}))
    assert capacity(decision) == {"memory": "4000Mi", "cores": "100"}
    assert "cores-above-100" in warned(decision)


@pytest.mark.parametrize(
    "limits", [{GPU: 33}, {"nvidia.com/mig-1g.5gb": 33}, {"nvidia.com/mig-1g.5gb": 20, "nvidia.com/mig-2g.10gb": 13}]
)
def test_S15_more_than_32_devices_in_a_claim_are_denied(limits: dict[str, int]) -> None:
    decision = decide(asking(limits))
    assert (decision.outcome, why(decision)) == ("denied", {"too-many-devices"})
    assert "32" in message(decision)


def test_S15_32_devices_are_fine() -> None:
    assert exactly(decide(asking({GPU: 32})))["count"] == 32


def resources(limits: Any = None, requests: Any = None) -> dict[str, Any]:
    return pod(container(resources={k: v for k, v in (("limits", limits), ("requests", requests)) if v is not None}))


@pytest.mark.parametrize(
    ("manifest", "word"),
    [
        (resources(requests={GPU: 1}), "not in limits"),
        (resources(limits={GPU: 2}, requests={GPU: 1}), "differs"),
        (resources(limits={GPU: 1}, requests={GPU: 1, MEM: 3000}), "not in limits"),
        (resources(limits={GPU: "1500m"}), "whole cards only"),
        (resources(limits={GPU: 1}, requests={GPU: 0.5}), "whole cards only"),
        (resources(limits={GPU: -1}), "negative"),
        (resources(limits={GPU: "abc"}), "not a number"),
        (resources(limits={GPU: True}), "not a number"),
        (resources(limits={GPU: [1]}), "not a number"),
        (pod(container(limits={GPU: 1}, env="x")), 'spec.containers[0].env is "x": must be a list'),
        (asking({GPU: 1}, resourceClaims={"a": 1}), "spec.resourceClaims"),
        (resources(limits={GPU: 1}, requests=[]), "spec.containers[0].resources.requests is []: must be a map"),
        (pod(container("a", {GPU: 1}), container("b", resources=[])), "spec.containers[1].resources is []"),
        (pod(container("a", {GPU: 1}), "b"), 'spec.containers[1] is "b": must be a map'),
        (asking({GPU: 1}, initContainers={"a": 1}), "spec.initContainers"),
        (asking({GPU: 1}, {"nvidia.com/numa-bind": True}), 'annotations["nvidia.com/numa-bind"] is true: must be text'),
        (asking({GPU: 1}, {"example.org/any": 3}), "must be text, in quotes"),
        (asking({GPU: 1}, labels={"app": False}), 'metadata.labels["app"] is false'),
        (asking({GPU: 1}, resources={"limits": {GPU: 1}}), "no resource of a pod"),
        (pod(container(), resources={"requests": {MEM: 1}}), "nvidia.com/gpumem is no resource of a pod"),
        (asking({GPU: 1}, labels=["x"]), "metadata.labels"),
        (pod(container("", {GPU: 1})), "no name"),
        (pod(container("a", {GPU: 1}), container("a", {GPU: 1})), "used twice"),
    ],
)
def test_S6_what_the_api_server_refuses_is_left_for_its_own_message(manifest: dict[str, Any], word: str) -> None:
    decision = decide(manifest)
    assert (decision.outcome, decision.patch, why(decision)) == ("untouched", (), {"invalid-request"})
    assert word in message(decision)


def test_S6_null_and_other_resources_of_the_pod_are_fine() -> None:
    manifest = asking({GPU: 1}, {"example.org/any": None}, resources={"limits": {"cpu": 1, "amd.com/gpu": 1}})
    assert decide(manifest).outcome == "converted"
    assert why(decide(pod(container(), resources={"limits": {"cpu": 1}}))) == {"no-legacy-keys"}


def test_S6_a_fraction_is_explained() -> None:
    assert warned(decide(resources(limits={GPU: "0.5"}))) == {"whole-cards-only"}


def test_S6_one_bad_value_leaves_the_whole_pod_alone() -> None:
    assert decide(pod(container("good", {GPU: 1}), container("bad", {GPU: "0.5"}))).outcome == "untouched"


@pytest.mark.parametrize("limits", [None, [], "x", 7, {}])
@pytest.mark.parametrize("where", ["limits", "requests"])
def test_S6_maps_of_the_wrong_type_are_passed_over(limits: Any, where: str) -> None:
    assert decide(pod(container(resources={where: limits}))).outcome == "untouched"


def test_a_value_that_equals_after_reading_is_no_difference() -> None:
    assert decide(resources(limits={MEM: "8000"}, requests={MEM: "8k"})).outcome == "converted"


def test_facts_do_not_change_plain_numbers() -> None:
    facts = cluster("deviceclasses-hami", "hami-t4-node")
    assert decide(asking({GPU: 1, MEM: 8000}), facts).templates == decide(asking({GPU: 1, MEM: 8000})).templates


def test_S11_the_number_to_write_counts_the_factor() -> None:
    decision = decide(asking({GPU: 1, MEM: "16Gi"}), policy=policy(memoryFactor=2))
    assert "write 8192" in message(decision)
