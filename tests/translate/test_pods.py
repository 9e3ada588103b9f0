"""Which pods are converted: candidates, opt-outs, schedulers, node names, privileged containers (S1-S9)."""

from typing import Any

import pytest

from app.translate import Facts, facts_from_objects
from tests.translate.pods import (
    GPU,
    MEM,
    PCT,
    PRIO,
    admitted,
    asking,
    cluster,
    container,
    decide,
    message,
    pod,
    policy,
    warned,
    why,
)

MIG = "nvidia.com/mig-1g.5gb"
NATIVE_CLASS = {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}


@pytest.mark.parametrize("key", [GPU, MEM, "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", MIG])
@pytest.mark.parametrize("where", ["containers", "initContainers", "sidecar"])
def test_S1_a_key_in_any_container_makes_a_candidate(key: str, where: str) -> None:
    asks = container("asks", {key: 1})
    if where == "containers":
        manifest = pod(container("plain"), asks)
    elif where == "initContainers":
        manifest = pod(container("plain"), initContainers=[container("first"), asks])
    else:
        manifest = pod(container("plain"), initContainers=[asks | {"restartPolicy": "Always"}])
    decision = decide(manifest, policy=policy(cardMemoryMiB=[15360]))
    assert decision.outcome == "converted"
    assert [claim.container for claim in decision.claims] == ["asks"]


@pytest.mark.parametrize(
    "manifest",
    [
        pod(container()),
        pod(container(limits={"cpu": 1})),
        pod(container(limits={"amd.com/gpu": 1})),
        pod(container(limits={"nvidia.com/rdma": 1})),
        pod(container(limits={"nvidia.computer/gpu": 1})),
        pod(container(), ephemeralContainers=[container("debug", {GPU: 1})]),
        {},
        {"spec": None},
        {"spec": {"containers": None, "initContainers": None}},
        {"spec": {"containers": [None, 1, "x", {"resources": {"limits": None}}]}},
        {"spec": []},
    ],
)
def test_S1_everything_else_is_untouched(manifest: dict[str, Any]) -> None:
    decision = decide(manifest)
    assert (decision.outcome, why(decision), decision.patch, decision.warnings) == (
        "untouched",
        {"no-legacy-keys"},
        (),
        (),
    )


@pytest.mark.parametrize(("label", "value"), [("hami.io/webhook", "ignore"), ("hami.io/dra-webhook", "disabled")])
def test_S2_an_opt_out_label_keeps_us_away(label: str, value: str) -> None:
    decision = decide(asking({GPU: 1}, labels={label: value}))
    assert (decision.outcome, why(decision), decision.patch) == ("untouched", {"opted-out"}, ())
    assert label in message(decision)


def test_S2_the_opt_in_label_and_its_values_are_settings() -> None:
    own = policy(optIn={"label": "example.org/dra", "value": "on", "optOutValue": "off"})
    assert decide(asking({GPU: 1}, labels={"example.org/dra": "off"}), policy=own).outcome == "untouched"
    assert decide(asking({GPU: 1}, labels={"hami.io/dra-webhook": "disabled"}), policy=own).outcome == "converted"


def test_S3_mirror_pods_are_untouched() -> None:
    decision = decide(asking({GPU: 1}, {"kubernetes.io/config.mirror": "abc"}))
    assert (decision.outcome, why(decision)) == ("untouched", {"mirror-pod"})


@pytest.mark.parametrize(
    ("scheduler", "becomes"),
    [("hami-scheduler", "default-scheduler"), ("default-scheduler", "default-scheduler"), (None, None), ("", "")],
)
def test_S4_the_old_scheduler_is_rewritten(scheduler: str | None, becomes: str | None) -> None:
    manifest = asking({GPU: 1}) if scheduler is None else asking({GPU: 1}, schedulerName=scheduler)
    stored = admitted(manifest, decide(manifest))
    assert stored["spec"].get("schedulerName") == becomes
    assert "resourceClaims" in stored["spec"]


def test_S4_foreign_schedulers_are_untouched_and_never_denied() -> None:
    decision = decide(asking({GPU: 99, MEM: "16Gi"}, schedulerName="volcano"))
    assert (decision.outcome, why(decision), decision.patch) == ("untouched", {"foreign-scheduler"}, ())
    assert warned(decision) == {"foreign-scheduler"}
    assert "volcano" in message(decision)


def test_S4_schedulers_that_allocate_claims_convert_and_keep_their_name() -> None:
    manifest = asking({GPU: 1}, schedulerName="kai-scheduler")
    decision = decide(manifest, policy=policy(schedulers={"convert": ["kai-scheduler"]}))
    assert decision.outcome == "converted"
    assert admitted(manifest, decision)["spec"]["schedulerName"] == "kai-scheduler"


def test_S4_the_default_scheduler_can_be_left_out() -> None:
    only_old = policy(schedulers={"convertDefault": False})
    assert why(decide(asking({GPU: 1}), policy=only_old)) == {"foreign-scheduler"}
    assert decide(asking({GPU: 1}, schedulerName="hami-scheduler"), policy=only_old).outcome == "converted"


def test_S4_the_scheduler_is_rewritten_also_when_all_keys_stay() -> None:
    manifest = asking({"nvidia.com/gpu.shared": 1}, schedulerName="hami-scheduler")
    decision = decide(manifest)
    stored = admitted(manifest, decision)
    assert (decision.outcome, why(decision)) == ("untouched", {"keys-stay"})
    assert stored["spec"]["schedulerName"] == "default-scheduler"
    assert stored["spec"]["containers"] == manifest["spec"]["containers"]
    # A re-apply must find its way back (S60), so the pod is recorded; it is no converted pod, so it has no label.
    assert "hami.io/dra-original-resources" in stored["metadata"]["annotations"]
    assert "labels" not in stored["metadata"]


def test_S4_the_old_scheduler_without_keys_is_warned_about() -> None:
    assert warned(decide(pod(container(), schedulerName="hami-scheduler"))) == {"scheduler-without-keys"}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


PIN = {"key": "metadata.name", "operator": "In", "values": ["gpu-node-1"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, affinity({"matchFields": [PIN]})),
        ({}, affinity({"matchFields": [PIN]})),
        ({"podAffinity": {}}, {"podAffinity": {}, **affinity({"matchFields": [PIN]})}),
        (
            affinity({"matchExpressions": [ZONE]}, {"matchFields": [ZONE]}),
            affinity({"matchExpressions": [ZONE], "matchFields": [PIN]}, {"matchFields": [ZONE, PIN]}),
        ),
        (affinity({}, {"matchExpressions": [ZONE]}), affinity({}, {"matchExpressions": [ZONE], "matchFields": [PIN]})),
    ],
)
def test_S7_the_node_name_becomes_a_required_affinity_of_every_term(before: Any, after: Any) -> None:
    manifest = asking({GPU: 1}, nodeName="gpu-node-1")
    if before is not None:
        manifest["spec"]["affinity"] = before
    decision = decide(manifest)
    stored = admitted(manifest, decision)
    assert "nodeName" not in stored["spec"]
    assert stored["spec"]["affinity"] == after
    assert "node-name-pinned" in warned(decision)


def test_S7_a_setting_refuses_node_names() -> None:
    decision = decide(asking({GPU: 1}, nodeName="gpu-node-1"), policy=policy(nodeName="deny"))
    assert (decision.outcome, why(decision)) == ("denied", {"node-name"})
    assert "gpu-node-1" in message(decision)


PRIVILEGED = {"securityContext": {"privileged": True}}


def test_S8_a_privileged_container_beside_a_shared_card_is_denied_by_name() -> None:
    manifest = pod(
        container("worker", {GPU: 1}, **PRIVILEGED),
        container("agent", **PRIVILEGED),
        initContainers=[container("sysctl", **PRIVILEGED)],
    )
    decision = decide(manifest)
    assert (decision.outcome, why(decision)) == ("denied", {"privileged"})
    assert "sysctl" in message(decision)
    assert "agent" not in message(decision)


def test_S8_drivers_that_enforce_nothing_allow_privileged_containers() -> None:
    manifest = pod(container("agent", **PRIVILEGED), container("worker", {MIG: 1}))
    assert decide(manifest).outcome == "converted"
    whole = pod(container("worker", {GPU: 1}, **PRIVILEGED))
    assert decide(whole, policy=policy(bindings={"nvidia": {"driver": "gpu.nvidia.com"}})).outcome == "converted"


def test_S8_a_privileged_pod_without_a_card_is_none_of_our_business() -> None:
    assert decide(pod(container("agent", {"cpu": 1}, **PRIVILEGED))).outcome == "untouched"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/GPU", "nvidia.com/gpu"),
        ("nvidia.com/gpumemory", "nvidia.com/gpumem"),
        ("nvidia.com/gpu-memory", "nvidia.com/gpumem"),
        ("nvidia.com/gpu-10gb", "nvidia.com/gpu"),
        ("nvidia.com/gpucore", "nvidia.com/gpucores"),
        ("nvidia.com/gpumem-percent", "nvidia.com/gpumem-percentage"),
        ("nvidia.com/mig-small", "nvidia.com/mig-<slices>g.<memory>gb"),
    ],
)
def test_S9_look_alikes_stay_and_are_named(key: str, meant: str) -> None:
    manifest = asking({key: 1, GPU: 1})
    decision = decide(manifest)
    assert admitted(manifest, decision)["spec"]["containers"][0]["resources"]["limits"] == {key: 1}
    assert any(key in n.message and n.message.endswith(f"did you mean {meant}?") for n in decision.warnings)
    alone = decide(asking({key: 1}))
    assert (alone.outcome, alone.patch) == ("untouched", ())
    assert warned(alone) == {"mig-name" if "mig" in key else "near-miss"}


def test_S9_look_alikes_are_named_in_pods_that_stay_or_are_refused() -> None:
    native = facts_from_objects([NATIVE_CLASS], server_version=(1, 36))
    stays = decide(pod(container(limits={GPU: 1, "nvidia.com/gpumemory": 1})), native, policy(wholeGpu="native"))
    assert (why(stays), warned(stays)) == ({"native"}, {"near-miss"})
    for limits, reason in (({GPU: "0.5"}, "invalid-request"), ({MEM: 1 << 70}, "number-too-large")):
        decision = decide(asking({**limits, "nvidia.com/gpus": 1}))
        assert (why(decision), "near-miss" in warned(decision)) == ({reason}, True)


@pytest.mark.parametrize(
    "key", ["nvidia.com/pgpu", "nvidia.com/hostdev", "amd.com/gpu", "deviceclass.resource.kubernetes.io/gpu.nvidia.com"]
)
def test_S9_other_keys_stay_without_a_word(key: str) -> None:
    manifest = asking({key: 1, GPU: 1})
    decision = decide(manifest)
    assert admitted(manifest, decision)["spec"]["containers"][0]["resources"]["limits"] == {key: 1}
    assert decision.warnings == ()


def test_renamed_resources_convert_and_the_published_names_do_not() -> None:
    renamed = policy(resourceNames={"count": "nvidia.com/vgpu", "memory": "example.com/vcuda-memory"})
    assert decide(asking({"nvidia.com/vgpu": 2, "example.com/vcuda-memory": 1}), policy=renamed).outcome == "converted"
    assert decide(asking({GPU: 1}), policy=renamed).outcome == "untouched"


def test_S67_whole_cards_can_be_left_to_kubernetes() -> None:
    facts = cluster("deviceclasses-hami", "hami-t4-node")
    native = policy(wholeGpu="native")
    manifest = asking({GPU: 2}, schedulerName="hami-scheduler")
    decision = decide(manifest, facts, native)
    stored = admitted(manifest, decision)
    assert (decision.outcome, why(decision)) == ("untouched", {"native"})
    assert stored["spec"]["containers"] == manifest["spec"]["containers"]
    assert stored["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(
    ("manifest", "facts"),
    [
        (asking({GPU: 1, MEM: 1}), cluster("deviceclasses-hami")),
        (asking({GPU: 1, PRIO: 1}), cluster("deviceclasses-hami")),
        (asking({GPU: 1}, {"nvidia.com/use-gputype": "T4"}), cluster("deviceclasses-hami")),
        (asking({GPU: 1}), cluster("deviceclasses-hami", version=(1, 35))),
    ],
)
def test_S67_anything_more_than_whole_cards_is_converted(manifest: dict[str, Any], facts: Any) -> None:
    assert decide(manifest, facts, policy(wholeGpu="native")).outcome == "converted"


def test_S67_without_a_class_that_claims_the_name_whole_cards_are_converted() -> None:
    own = policy(wholeGpu="native", resourceNames={"count": "example.com/gpu"})
    assert decide(asking({"example.com/gpu": 1}), cluster("deviceclasses-hami"), own).outcome == "converted"


def limit_range(kind: str, **bounds: Any) -> dict[str, Any]:
    return {"kind": "LimitRange", "metadata": {"name": "caps"}, "spec": {"limits": [{"type": kind, **bounds}]}}


@pytest.mark.parametrize("bound", ["max", "min"])
@pytest.mark.parametrize("kind", ["Container", "Pod"])
def test_S72_a_limit_range_on_a_removed_key_denies(kind: str, bound: str) -> None:
    decision = decide(asking({GPU: 1}), Facts(limit_ranges=(limit_range(kind, **{bound: {GPU: "2"}}),)))
    assert (decision.outcome, why(decision)) == ("denied", {"limit-range"})
    for word in ("caps", bound, GPU):
        assert word in message(decision)


def test_S72_a_limit_range_default_or_on_other_keys_denies_nothing() -> None:
    harmless = (limit_range("Container", default={GPU: "1"}), limit_range("Container", max={"cpu": "2"}))
    assert decide(asking({GPU: 1}), Facts(limit_ranges=harmless)).outcome == "converted"


def test_all_denials_are_reported_at_once() -> None:
    manifest = pod(
        container("a", {GPU: 99}, **PRIVILEGED), container("b", {MEM: "16Gi"}), container("c", {GPU: 1}), nodeName="n"
    )
    decision = decide(manifest, policy=policy(nodeName="deny"))
    assert why(decision) == {"too-many-devices", "memory-too-large", "privileged", "node-name"}


def test_S72_a_bound_on_a_key_that_the_pod_does_not_ask_denies_too() -> None:
    """LimitRanger makes ``max`` a default of every container, and misses it after the conversion (c4)."""
    for key in (MEM, PRIO):
        decision = decide(asking({GPU: 1}), Facts(limit_ranges=(limit_range("Container", max={key: "9"}),)))
        assert why(decision) == {"limit-range"}
    own = Facts(limit_ranges=(limit_range("Container", max={MEM: "9"}),))
    assert why(decide(asking({GPU: 1, MEM: 5}), own, policy(defaultGPUNum=0))) == {"limit-range"}


@pytest.mark.parametrize("key", ["cpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/gpus"])
def test_S72_a_bound_on_a_key_that_stays_denies_nothing(key: str) -> None:
    facts = Facts(limit_ranges=(limit_range("Container", max={key: "9"}),))
    assert decide(asking({GPU: 1}), facts, policy(bindings={"nvidia": {"mig": None}})).outcome == "converted"


def test_S72_zero_cards_are_a_key_that_goes_and_ephemeral_containers_hold_none() -> None:
    facts = Facts(limit_ranges=(limit_range("Container", max={GPU: "2"}),))
    assert why(decide(asking({GPU: 0}), facts)) == {"limit-range"}
    debugged = pod(container(limits={"cpu": 1}), ephemeralContainers=[container("debug", {GPU: 1})])
    assert why(decide(debugged, facts)) == {"no-legacy-keys"}
    assert why(decide(asking({"nvidia.com/gpu.shared": 1}), facts)) == {"keys-stay"}


def test_S5_recorded_originals_that_are_refused_now_are_no_conversion() -> None:
    """Such an annotation came with a copied manifest; without a claim the pod would run without its card."""
    keys = f'{{"{GPU}":"1","{PCT}":"50"}}'
    record = {"hami.io/dra-original-resources": f'{{"containers":{{"main":{keys}}}}}'}
    assert why(decide(asking({GPU: 1, PCT: 50}, record))) == {"card-size-unknown"}


@pytest.mark.parametrize("odd", [["x"], [{"name": ["x"]}], [None]])
def test_S5_claims_with_odd_names_are_nobodys(odd: list[Any]) -> None:
    record = {"hami.io/dra-original-resources": f'{{"containers":{{"main":{{"{GPU}":"1"}}}}}}'}
    manifest = asking({GPU: 1}, record, resourceClaims=odd)
    manifest["spec"]["containers"][0]["resources"]["claims"] = odd
    assert len(decide(manifest).claims) == 1
