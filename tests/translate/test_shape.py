"""The shape of the converted pod: names, placement, marks, patch, re-applies and later rounds (S5, S60-S70)."""

import copy
import json
from typing import Any

import pytest

from app.translate import Facts, Policy, placement, recorded_templates, translate_update
from tests.translate.pods import (
    CORES,
    DEFAULTS,
    GPU,
    KNOWS_NOTHING,
    MEM,
    PCT,
    PRIO,
    admitted,
    asking,
    cluster,
    container,
    decide,
    pod,
    policy,
    warned,
    why,
)

ORIGINALS = "hami.io/dra-original-resources"
MIG = "nvidia.com/mig-1g.5gb"


def stored(manifest: dict[str, Any], policy: Policy = DEFAULTS, facts: Facts = KNOWS_NOTHING) -> dict[str, Any]:
    return admitted(manifest, decide(manifest, facts, policy))


def claims(converted: dict[str, Any]) -> dict[str, list[str]]:
    """Templates' slugs by container."""
    spec = converted["spec"]
    entries = {e["name"]: e.get("resourceClaimTemplateName", "") for e in spec.get("resourceClaims", [])}
    return {
        c["name"]: [entries[u["name"]].rpartition("-")[0] for u in c.get("resources", {}).get("claims", [])]
        for c in spec.get("initContainers", []) + spec["containers"]
    }


# --- S61-S64: templates, names, removal -----------------------------------------------------------------------------


def test_S61_each_container_has_its_own_claim_from_a_template() -> None:
    converted = stored(pod(container("a", {GPU: 1, MEM: 1}), container("b", {GPU: 1, MEM: 1})))
    entries = converted["spec"]["resourceClaims"]
    assert [e["name"] for e in entries] == ["a-gpu", "b-gpu"]
    assert {e["resourceClaimTemplateName"] for e in entries} == {decide(asking({GPU: 1, MEM: 1})).templates[0].name}
    assert not any("resourceClaimName" in e for e in entries)


@pytest.mark.parametrize(
    ("limits", "slug"),
    [
        ({GPU: 1, MEM: 8000}, "gpu-1x-8000mi-0c"),
        ({GPU: 2}, "gpu-2x-whole-100c"),
        ({GPU: 1, PCT: 50}, "gpu-1x-50pct-0c"),
        ({MIG: 1}, "mig-1x-1g-5gb"),
        ({"nvidia.com/mig-1g.24gb.me.all": 2}, "mig-2x-1g-24gb-me-all"),
    ],
)
def test_S62_the_name_of_a_template_says_what_it_asks(limits: dict[str, int], slug: str) -> None:
    decision = decide(asking(limits), policy=policy(cardMemoryMiB=[15360]))
    (template,) = decision.templates
    head, _, tail = template.name.rpartition("-")
    assert (head, len(tail)) == (slug, 10)
    assert str(next(iter(limits.values()))) in template.summary


def test_S62_same_content_same_name_and_other_content_another_name() -> None:
    names = [
        decide(asking({GPU: 1, MEM: m}, a)).templates[0].name
        for m, a in [(1, {}), (1, {}), (2, {}), (1, {"nvidia.com/use-gputype": "T4"})]
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3


def test_S62_names_fit_63_characters() -> None:
    limits = {f"nvidia.com/mig-{n}g.{n}0gb.me.all": 1 for n in range(1, 8)}
    assert len(decide(asking(limits)).templates[0].name) <= 63


def test_S62_a_taken_name_is_passed_over() -> None:
    manifest = asking({GPU: 1, MEM: 8000})
    first = decide(manifest).templates[0]
    second_decision = decide(manifest, avoid=frozenset({first.name}))
    second = second_decision.templates[0]
    third = decide(manifest, avoid=frozenset({first.name, second.name})).templates[0]
    assert len({first.name, second.name, third.name}) == 3
    assert first.spec == second.spec == third.spec
    assert admitted(manifest, second_decision)["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == second.name


def test_S62_a_template_of_the_webhook_is_marked_and_one_of_a_preview_is_not() -> None:
    template = decide(asking({GPU: 1, MEM: 8000})).templates[0]
    marked = template.body("team", marked=True)
    assert marked["metadata"]["labels"] == {"hami.io/dra-webhook-template": "true"}
    assert marked["metadata"]["annotations"] == {
        "hami.io/dra-webhook-asks": "1 card, 8000 MiB, 0 % cores (HAMi k8s-dra-driver)"
    }
    assert "labels" not in template.body()["metadata"]
    assert "namespace" not in template.body()["metadata"]


LONG = "c" * 63


@pytest.mark.parametrize("name", ["a", LONG, "c" * 59 + "-xyz"])
def test_S63_claim_names_are_labels_derived_from_the_container(name: str) -> None:
    (entry,) = stored(pod(container(name, {GPU: 1})))["spec"]["resourceClaims"]
    assert len(entry["name"]) <= 63
    assert entry["name"].startswith(name[:50])
    assert not entry["name"].endswith("--gpu")


def test_S63_claim_names_are_unique_also_against_the_users_own() -> None:
    own = [{"name": "main-gpu", "resourceClaimName": "mine"}]
    manifest = pod(
        container(LONG, {GPU: 1}), container(LONG[:-1] + "d", {GPU: 1}), container("main", {GPU: 1}), resourceClaims=own
    )
    names = [e["name"] for e in stored(manifest)["spec"]["resourceClaims"]]
    assert names[0] == "main-gpu"
    assert len(set(names)) == 4
    assert "main-gpu-2" in names


def test_S64_keys_disappear_from_limits_and_requests_and_nothing_else_changes() -> None:
    both = {"cpu": "1", GPU: "1", MEM: "8k"}
    manifest = pod(
        container(
            resources={"limits": dict(both), "requests": {**both, "memory": "1Gi"}, "x-unknown": {"a": None}}, env=[]
        ),
        volumes=[{"name": "v", "emptyDir": {}}],
        unknownField={"kept": [1, 2.50, None]},
    )
    converted = stored(manifest)
    assert converted["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1"},
        "requests": {"cpu": "1", "memory": "1Gi"},
        "x-unknown": {"a": None},
        "claims": [{"name": "main-gpu"}],
    }
    for key in ("volumes", "unknownField"):
        assert converted["spec"][key] == manifest["spec"][key]


def test_S64_empty_maps_disappear() -> None:
    manifest = pod(container(resources={"limits": {GPU: 1}, "requests": {GPU: 1}}))
    assert stored(manifest)["spec"]["containers"][0]["resources"] == {"claims": [{"name": "main-gpu"}]}


def test_S64_the_users_own_claims_stay_first() -> None:
    manifest = pod(
        container(resources={"claims": [{"name": "nic", "request": "port"}], "limits": {GPU: 1}}),
        resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "one-nic"}],
    )
    converted = stored(manifest)["spec"]
    assert converted["containers"][0]["resources"]["claims"] == [
        {"name": "nic", "request": "port"},
        {"name": "main-gpu"},
    ]
    assert [e["name"] for e in converted["resourceClaims"]] == ["nic", "main-gpu"]


@pytest.mark.parametrize("nothing", [None, []])
def test_S64_null_in_place_of_lists_and_maps_is_replaced(nothing: Any) -> None:
    manifest = pod(
        container(resources={"limits": {GPU: 1, PRIO: 1}, "claims": nothing}, env=nothing), resourceClaims=nothing
    )
    manifest["metadata"]["labels"] = manifest["metadata"]["annotations"] = None
    converted = stored(manifest)
    assert converted["spec"]["containers"][0]["resources"]["claims"] == [{"name": "main-gpu"}]
    assert converted["metadata"]["labels"] == {"hami.io/dra-webhook-converted": "true"}


def test_a_pod_without_metadata_gets_one() -> None:
    manifest = {"spec": {"containers": [container(limits={GPU: 1})]}}
    assert stored(manifest)["metadata"]["labels"] == {"hami.io/dra-webhook-converted": "true"}


# --- S65: init containers and sidecars ------------------------------------------------------------------------------


def placed(
    inits: list[dict[str, Any]], *apps: dict[str, Any], facts: Facts = KNOWS_NOTHING
) -> tuple[list[str | None], set[str]]:
    """For each init container's claim the container it borrows from, and the warnings."""
    decision = decide(pod(*apps, initContainers=inits), facts)
    return [c.shares_claim_of for c in decision.claims if c.role != "container"], warned(decision)


def test_S65_an_init_container_borrows_an_equal_claim_without_a_word() -> None:
    assert placed([container("warm", {GPU: 1, MEM: 6000})], container("serve", {GPU: 1, MEM: 6000})) == (
        ["serve"],
        set(),
    )


def test_S65_a_smaller_init_container_gets_the_larger_limit_and_is_told() -> None:
    assert placed([container("warm", {GPU: 1, MEM: 100})], container("serve", {GPU: 1, MEM: 6000})) == (
        ["serve"],
        {"init-larger-limit"},
    )


def test_S65_the_smallest_claim_that_covers_is_borrowed() -> None:
    apps = [container("large", {GPU: 2, MEM: 9000}), container("fits", {MEM: 7000}), container("small", {MEM: 100})]
    assert placed([container("warm", {MEM: 6000})], *apps)[0] == ["fits"]


def test_S65_a_larger_init_container_has_its_own_claim_and_is_told() -> None:
    assert placed([container("convert", {MEM: 20000})], container("serve", {MEM: 10000})) == (
        [None],
        {"init-own-claim"},
    )


def test_S65_init_containers_borrow_from_each_other() -> None:
    inits = [container("small", {MEM: 1000}), container("large", {MEM: 20000}), container("same", {MEM: 20000})]
    assert placed(inits, container("app"))[0] == ["large", None, "large"]


def test_S65_a_sidecar_always_has_its_own_claim_and_lends_none() -> None:
    sidecar = container("cache", {MEM: 2000}, restartPolicy="Always")
    assert placed([sidecar, container("warm", {MEM: 2000})], container("serve", {MEM: 10000})) == (
        [None, "serve"],
        {"init-larger-limit"},
    )
    assert placed([sidecar, container("warm", {MEM: 2000})], container("serve"))[0] == [None, None]


@pytest.mark.parametrize(
    ("init", "app", "borrows"),
    [
        ({GPU: 2, MEM: 100}, {GPU: 1, MEM: 100}, False),
        ({MEM: 100, CORES: 50}, {MEM: 100, CORES: 30}, False),
        ({MEM: 100, CORES: 30}, {MEM: 100, CORES: 50}, True),
        ({PCT: 50}, {PCT: 50}, True),
        ({PCT: 50}, {PCT: 60}, False),
        ({PCT: 50}, {MEM: 40000}, False),
        ({MEM: 100}, {GPU: 1}, True),
        ({MEM: 20000}, {GPU: 1}, False),  # the whole card may be a T4 of 15360 MiB
        ({GPU: 1}, {MEM: 15360}, False),
        ({MIG: 1}, {MIG: 1}, True),
        ({MIG: 1}, {"nvidia.com/mig-2g.10gb": 1}, False),
        ({MIG: 1}, {GPU: 1}, False),
    ],
)
def test_S65_what_covers_what(init: dict[str, int], app: dict[str, int], borrows: bool) -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "hami-t4-node", "hami-a100-node")
    assert placed([container("init", init)], container("app", app), facts=facts)[0] == ["app" if borrows else None]


# --- S66: marks -----------------------------------------------------------------------------------------------------


def test_S66_label_originals_and_warnings_are_recorded() -> None:
    manifest = pod(
        container("a", {GPU: 1, MEM: 8000, CORES: 150, "cpu": 1}), initContainers=[container("i", {GPU: "1"})]
    )
    metadata = stored(manifest)["metadata"]
    assert metadata["labels"] == {"hami.io/dra-webhook-converted": "true"}
    assert json.loads(metadata["annotations"][ORIGINALS]) == {
        "containers": {"a": {GPU: "1", MEM: "8k", CORES: "150"}, "i": {GPU: "1"}}
    }
    assert metadata["annotations"]["hami.io/dra-warnings"] == "cores-above-100,full-cores-shared,init-own-claim"


def managed(*keys: str, group: str = "containers", name: str = "main") -> list[dict[str, Any]]:
    limits = {f"f:{key}": {} for key in keys}
    fields = {"f:spec": {f"f:{group}": {f'k:{{"name":"{name}"}}': {"f:resources": {"f:limits": limits}}}}}
    return [{"manager": "kubectl", "fieldsType": "FieldsV1", "fieldsV1": fields}]


def test_S66_keys_that_nobody_owns_are_recorded_as_added_by_others() -> None:
    manifest = asking({GPU: 1, MEM: 8000})
    manifest["metadata"]["managedFields"] = managed(MEM)
    assert json.loads(stored(manifest)["metadata"]["annotations"][ORIGINALS])["addedByOthers"] == {"main": [GPU]}


def test_S66_existing_labels_and_annotations_stay() -> None:
    metadata = stored(asking({GPU: 1}, {"a": "b"}, labels={"c": "d"}))["metadata"]
    assert metadata["labels"]["c"] == "d"
    assert metadata["annotations"]["a"] == "b"


# --- S5: later rounds of the same admission -------------------------------------------------------------------------


def with_limits(converted: dict[str, Any], limits: dict[str, Any], index: int = 0) -> dict[str, Any]:
    again = copy.deepcopy(converted)
    resources = again["spec"]["containers"][index].setdefault("resources", {})
    resources.setdefault("limits", {}).update(limits)
    resources.setdefault("requests", {}).update(limits)
    return again


def test_S5_a_key_that_comes_back_is_stripped_and_nothing_more_is_claimed() -> None:
    first = stored(asking({GPU: 1, MEM: 8000}))
    again = with_limits(first, {GPU: "1"})
    decision = decide(again)
    assert (decision.outcome, decision.templates, warned(decision)) == ("converted", (), set())
    assert admitted(again, decision) == first


def test_S5_a_converted_pod_without_keys_is_left_alone() -> None:
    assert why(decide(stored(asking({GPU: 1})))) == {"already-converted"}


def test_S5_another_value_is_stripped_with_a_warning_that_names_both() -> None:
    first = stored(asking({GPU: 3}))
    decision = decide(with_limits(first, {GPU: "2"}))
    assert warned(decision) == {"value-differs"}
    assert "2" in decision.warnings[0].message
    assert "3" in decision.warnings[0].message


def test_S5_a_default_request_that_comes_back_without_its_limit_is_stripped_too() -> None:
    """LimitRanger puts ``defaultRequest`` back alone; the limit that would make it valid was converted."""
    first = stored(asking({GPU: 1}))
    again = copy.deepcopy(first)
    again["spec"]["containers"][0]["resources"]["requests"] = {GPU: "1"}
    assert admitted(again, decide(again)) == first


def test_S5_zero_cards_stay_zero_when_a_default_comes_back() -> None:
    first = stored(asking({GPU: 0, "cpu": 1}))
    again = with_limits(first, {GPU: "1"})
    decision = decide(again)
    assert decision.templates == ()
    assert GPU not in admitted(again, decision)["spec"]["containers"][0]["resources"].get("limits", {})


def test_S5_an_init_container_that_borrowed_is_recognised() -> None:
    first = stored(pod(container("app", {MEM: 6000}), initContainers=[container("init", {MEM: 100})]))
    again = copy.deepcopy(first)
    again["spec"]["initContainers"][0]["resources"]["limits"] = {MEM: "100"}
    assert decide(again).templates == ()


def test_S5_a_container_that_another_webhook_added_is_converted() -> None:
    first = stored(asking({GPU: 1, MEM: 8000}))
    again = copy.deepcopy(first)
    again["spec"]["containers"].append(container("late", {MEM: 500}))
    decision = decide(again)
    assert [claim.container for claim in decision.claims] == ["late"]
    final = admitted(again, decision)
    assert claims(final) == {"main": ["gpu-1x-8000mi-0c"], "late": ["gpu-1x-500mi-0c"]}
    assert set(json.loads(final["metadata"]["annotations"][ORIGINALS])["containers"]) == {"main", "late"}


@pytest.mark.parametrize(
    "recorded",
    [
        *("", "no json", "[]", "{}", '{"containers":1}', "[" * 100_000),
        '{"containers":{"main":{"nvidia.com/gpu":"5"}}}',
        '{"containers":{"main":{}}}',
        '{"containers":{"main":{"cpu":"1"}}}',
        '{"containers":{"main":{"nvidia.com/gpu":"abc"}}}',
    ],
)
def test_S5_a_forged_record_does_not_pass_for_our_claim(recorded: str) -> None:
    decision = decide(asking({GPU: 1, MEM: 8000}, {ORIGINALS: recorded}))
    assert [claim.container for claim in decision.claims] == ["main"]


def test_S5_a_key_that_stayed_in_the_first_round_stays() -> None:
    manifest = asking({GPU: 1, "nvidia.com/gpu.shared": 1})
    first = stored(manifest)
    assert decide(first).patch == ()
    assert first["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu.shared": 1}


# --- S60: re-apply --------------------------------------------------------------------------------------------------


def served(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod as the API server defaults it: requests filled from limits, ``resources`` always there."""
    defaulted = copy.deepcopy(manifest)
    for one in defaulted["spec"].get("initContainers", []) + defaulted["spec"]["containers"]:
        resources = one.setdefault("resources", {})
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    return defaulted


def reapplied(manifest: dict[str, Any], **live: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the API server sends when a file is applied again: the stored pod with the file's fields put back."""
    old = served(stored(served(manifest)))
    old["spec"].update(live)
    new = copy.deepcopy(old)
    for group in ("initContainers", "containers"):
        for mine, theirs in zip(new["spec"].get(group, []), manifest["spec"].get(group, []), strict=True):
            for part in ("limits", "requests"):
                values = (theirs.get("resources") or {}).get("limits", {})
                if values:
                    mine.setdefault("resources", {}).setdefault(part, {}).update(values)
    if "schedulerName" in manifest["spec"]:
        new["spec"]["schedulerName"] = manifest["spec"]["schedulerName"]
    return new, old


@pytest.mark.parametrize(
    "manifest",
    [
        asking({GPU: 1}),
        asking({"cpu": 1, GPU: 1, MEM: "8k"}),
        asking({GPU: 0}),
        asking({GPU: 0, "cpu": 1}),
        asking({GPU: 1, PRIO: 1}),
        pod(container("a", {GPU: 1}), container("b"), initContainers=[container("i", {MEM: 5})]),
        asking({GPU: 1}, schedulerName="hami-scheduler"),
        asking({"nvidia.com/gpu.shared": 1}, schedulerName="hami-scheduler"),
    ],
)
def test_S60_the_same_file_again_ends_as_stored(manifest: dict[str, Any]) -> None:
    new, old = reapplied(manifest)
    decision = translate_update(new, old, DEFAULTS)
    assert why(decision) == {"reapplied"}
    assert decision.templates == ()
    assert admitted(new, decision) == old


def test_S60_a_pinned_pod_finds_back_to_its_affinity() -> None:
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = [{"matchExpressions": [expression]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    manifest = asking({GPU: 1}, nodeName="n1", affinity=affinity)
    for live in ({}, {"nodeName": "n1"}):
        new, old = reapplied(manifest, **live)
        new["spec"]["nodeName"] = "n1"
        new["spec"]["affinity"] = copy.deepcopy(affinity)
        assert admitted(new, translate_update(new, old, DEFAULTS)) == old


def test_S60_added_tolerations_are_added_again() -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    own = policy(options={"tolerations": [toleration]})
    manifest = asking({GPU: 1}, tolerations=[{"key": "x"}])
    old = stored(manifest, own)
    new = with_limits(old, {GPU: 1})
    new["spec"]["tolerations"] = [{"key": "x"}]
    assert old["spec"]["tolerations"] == [{"key": "x"}, toleration]
    assert admitted(new, translate_update(new, old, own)) == old


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({GPU: 2, MEM: 8000}, "was 1 and is 2"),
        ({GPU: 1}, "is gone"),
        ({GPU: 1, MEM: 8000, CORES: 5}, "is new"),
        ({GPU: "0.5", MEM: 8000}, "whole cards only"),
    ],
)
def test_S60_any_difference_is_left_to_the_api_server(change: dict[str, Any], word: str) -> None:
    old = stored(asking({GPU: 1, MEM: 8000}))
    decision = translate_update(with_limits(old, change), old, DEFAULTS)
    assert (decision.outcome, decision.patch, why(decision)) == ("untouched", (), {"update-untouched"})
    assert word in decision.reasons[0].message


def test_S60_keys_that_others_added_may_be_missing() -> None:
    manifest = asking({GPU: 1, MEM: 8000})
    manifest["metadata"]["managedFields"] = managed(MEM)
    old = stored(manifest)
    new = with_limits(old, {MEM: "8k"})
    assert admitted(new, translate_update(new, old, DEFAULTS)) == old


def test_S60_one_container_less_is_a_difference() -> None:
    old = stored(pod(container("a", {GPU: 1}), container("b", {GPU: 1})))
    assert translate_update(with_limits(old, {GPU: "1"}), old, DEFAULTS).patch == ()


def test_S60_field_managers_are_restored_when_nothing_else_is_left_of_the_update() -> None:
    """Otherwise the renewed time stamp of the applier alone would give the pod a new resourceVersion."""
    new, old = reapplied(asking({GPU: 1}))
    old["metadata"]["managedFields"] = [{"manager": "kubectl", "time": "1"}, {"manager": "scheduler", "time": "2"}]
    new["metadata"]["managedFields"] = [{"manager": "scheduler", "time": "2"}, {"manager": "kubectl", "time": "3"}]
    assert admitted(new, translate_update(new, old, DEFAULTS)) == old
    new["metadata"]["labels"]["changed"] = "yes"
    kept = admitted(new, translate_update(new, old, DEFAULTS))
    assert kept["metadata"]["managedFields"] == new["metadata"]["managedFields"]


def test_S60_a_new_owner_of_the_keys_stays_the_owner() -> None:
    """``--force-conflicts`` by another manager must stick, or the next plain apply conflicts again."""
    new, old = reapplied(asking({GPU: 1}))
    old["metadata"]["managedFields"] = [{"manager": "kubectl", "time": "1", "fieldsV1": {"f:spec": {}}}]
    new["metadata"]["managedFields"] = [{"manager": "argocd", "time": "2", "fieldsV1": {"f:spec": {}}}]
    kept = admitted(new, translate_update(new, old, DEFAULTS))
    assert kept["metadata"]["managedFields"] == new["metadata"]["managedFields"]


@pytest.mark.parametrize("beside", [True, False])
def test_S60_the_priority_finds_back_to_its_place_beside_the_users_own(*, beside: bool) -> None:
    """Kubectl moves the second entry of a name beside the first, server-side apply drops it."""
    own = [{"name": "CUDA_TASK_PRIORITY", "value": "1"}, {"name": "MODE", "value": "x"}]
    new, old = reapplied(pod(container(limits={GPU: 1, PRIO: 0}, env=own)))
    ours = {"name": "CUDA_TASK_PRIORITY", "value": "0"}
    assert old["spec"]["containers"][0]["env"] == [*own, ours]
    new["spec"]["containers"][0]["env"] = [own[0], ours, own[1]] if beside else own
    assert admitted(new, translate_update(new, old, DEFAULTS)) == old


def test_S60_a_toleration_that_is_added_to_the_file_goes_through() -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    own = policy(options={"tolerations": [toleration]})
    old = stored(asking({GPU: 1}, tolerations=[{"key": "x"}]), own)
    new = with_limits(old, {GPU: 1})
    new["spec"]["tolerations"] = [{"key": "x"}, {"key": "y"}]
    result = admitted(new, translate_update(new, old, own))
    assert result["spec"]["tolerations"] == [{"key": "x"}, {"key": "y"}, toleration]


def test_S60_a_forged_record_of_a_new_container_is_a_difference_not_a_crash() -> None:
    new, old = reapplied(asking({GPU: 1}))
    record = {"containers": {"main": {GPU: "1"}, "more": {GPU: "1"}}}
    old["metadata"]["annotations"][ORIGINALS] = json.dumps(record)
    new["spec"]["containers"].append(container("more", {GPU: 1}))
    assert why(translate_update(new, old, DEFAULTS)) == {"update-untouched"}


def test_S60_nothing_else_is_touched() -> None:
    new, old = reapplied(asking({GPU: 1}))
    new["metadata"]["labels"]["changed"] = "yes"
    new["spec"]["containers"][0]["image"] = "example.org/app:2"
    result = admitted(new, translate_update(new, old, DEFAULTS))
    assert result["metadata"]["labels"]["changed"] == "yes"
    assert result["spec"]["containers"][0]["image"] == "example.org/app:2"


def test_S60_pods_that_are_being_deleted_or_were_never_converted_are_left_alone() -> None:
    new, old = reapplied(asking({GPU: 1}))
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert translate_update(new, old, DEFAULTS).patch == ()
    plain = asking({GPU: 1})
    assert translate_update(plain, plain, DEFAULTS).patch == ()


def test_S60_a_new_container_is_a_difference_not_a_crash() -> None:
    new, old = reapplied(asking({GPU: 1}))
    new["spec"]["containers"].append(container("more", {GPU: 1}))
    assert translate_update(new, old, DEFAULTS).patch == ()


# --- back to the templates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "manifest",
    [
        asking({GPU: 1, MEM: 8000}),
        asking({GPU: 1, PCT: 50, PRIO: 1}, {"nvidia.com/use-gputype": "T4"}),
        asking({GPU: 1, MIG: 2}, schedulerName="hami-scheduler", nodeName="n1"),
        pod(
            container("a", {MEM: 6000}),
            container("b"),
            initContainers=[container("i", {MEM: 100}), container("j", {MEM: 7000})],
        ),
        asking({GPU: 0}),
    ],
)
def test_S66_a_stored_pod_leads_back_to_its_templates(manifest: dict[str, Any]) -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "hami-t4-node", "hami-a100-node")
    decision = decide(manifest, facts)
    assert recorded_templates(admitted(manifest, decision), facts, DEFAULTS) == decision.templates


def test_S66_a_pod_without_a_record_leads_to_no_template() -> None:
    assert recorded_templates(asking({GPU: 1}), KNOWS_NOTHING, DEFAULTS) == ()


# --- S68-S70: options, patch, advice --------------------------------------------------------------------------------


def test_S68_nothing_is_added_by_default() -> None:
    manifest = pod(container("gpu", {GPU: 1}), container("plain"))
    spec = stored(manifest)["spec"]
    assert set(spec) == {"containers", "resourceClaims"}
    assert all("env" not in c for c in spec["containers"])


EVERYTHING = policy(
    options={
        "runtimeClassName": "nvidia",
        "gpuCorePolicy": "force",
        "hideFromOthers": True,
        "visibleDevices": "void",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
)


def test_S68_options_add_what_they_say() -> None:
    spec = stored(pod(container("gpu", {GPU: 1}), container("plain"), initContainers=[container("i")]), EVERYTHING)[
        "spec"
    ]
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["containers"][0]["env"] == [
        {"name": "GPU_CORE_UTILIZATION_POLICY", "value": "force"},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
    ]
    hidden = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]
    assert [spec["containers"][1]["env"], spec["initContainers"][0]["env"]] == [hidden, hidden]


def test_S68_user_values_win() -> None:
    env = [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "GPU_CORE_UTILIZATION_POLICY", "value": "disable"},
    ]
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    manifest = pod(container(limits={GPU: 1}, env=env), runtimeClassName="own", tolerations=tolerations)
    spec = stored(manifest, EVERYTHING)["spec"]
    assert (spec["containers"][0]["env"], spec["runtimeClassName"], spec["tolerations"]) == (env, "own", tolerations)


def test_S68_options_do_not_apply_without_devices() -> None:
    spec = stored(asking({GPU: 0}), EVERYTHING)["spec"]
    assert "runtimeClassName" not in spec
    assert "tolerations" not in spec


def test_S69_the_patch_is_plain_rfc_6902_with_escaped_slashes() -> None:
    patch = decide(asking({GPU: 1, "cpu": 1}, labels={"x": "y"})).patch
    assert {op["op"] for op in patch} <= {"add", "remove", "replace"}
    assert patch[0] == {"op": "remove", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"}
    assert {"op": "add", "path": "/metadata/labels/hami.io~1dra-webhook-converted", "value": "true"} in patch


def test_S69_the_patch_names_nothing_but_what_changes() -> None:
    paths = {op["path"] for op in decide(pod(container("a"), container("b", {GPU: 1}), nodeSelector={"a": "b"})).patch}
    assert paths == {
        "/spec/containers/1/resources/limits",
        "/spec/containers/1/resources/claims",
        "/spec/resourceClaims",
        "/metadata/labels",
        "/metadata/annotations",
    }


@pytest.mark.parametrize(
    ("more", "warning"),
    [
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}, "visible-devices"),
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}]}, "visible-devices"),
        ({"env": [{"name": "CUDA_DISABLE_CONTROL", "value": "true"}]}, "disable-control"),
    ],
)
def test_S70_variables_that_defeat_isolation_are_kept_with_a_warning(more: dict[str, Any], warning: str) -> None:
    manifest = pod(container(limits={GPU: 1}, **more))
    decision = decide(manifest)
    assert warned(decision) == {warning}
    assert admitted(manifest, decision)["spec"]["containers"][0]["env"] == more["env"]


@pytest.mark.parametrize("value", [{"value": "none"}, {"value": "void"}, {"value": ""}, {}])
def test_S70_harmless_values_are_not_warned_about(value: dict[str, str]) -> None:
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", **value}]
    assert warned(decide(pod(container(limits={GPU: 1}, env=env)))) == set()


@pytest.mark.parametrize(
    "selector",
    [
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"},
        {"nvidia.com/gpu.product": "Tesla-T4-SHARED"},
        {"nvidia.com/gpu.sharing-strategy": "time-slicing"},
    ],
)
def test_S70_selectors_of_sliced_products_are_warned_about(selector: dict[str, str]) -> None:
    assert warned(decide(asking({GPU: 1}, nodeSelector=selector))) == {"product-selector"}
    ((key, value),) = selector.items()
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["x", value]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    assert warned(decide(asking({GPU: 1}, affinity=affinity))) == {"product-selector"}


def test_S70_a_plain_product_is_not_warned_about() -> None:
    assert warned(decide(asking({GPU: 1}, nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"}))) == set()


def test_S70_kueue_labels_are_warned_about() -> None:
    assert warned(decide(asking({GPU: 1}, labels={"kueue.x-k8s.io/queue-name": "q"}))) == {"kueue"}


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({"hami.io/webhook": "Ignore"}, {}),
        ({"hami.io/webhook": "true"}, {}),
        ({"hami.io/dra-webhook": "disable"}, {}),
        ({}, {"hami.io/webhook": "ignore"}),
        ({}, {"hami.io/dra-webhook": "disabled"}),
    ],
)
def test_S70_misspelt_opt_outs_convert_with_a_warning(labels: dict[str, str], annotations: dict[str, str]) -> None:
    decision = decide(asking({GPU: 1}, annotations, labels=labels))
    assert (decision.outcome, warned(decision)) == ("converted", {"misspelt-opt-out"})


def test_S65_many_init_containers_look_at_the_cards_of_the_cluster_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def counted(*args: Any) -> int:
        asked.append(args)
        return 81920

    monkeypatch.setattr(placement, "smallest_card_mib", counted)
    inits = [container(f"i{n}", {GPU: 1, MEM: 7000 + n}) for n in range(30)]
    apps = [container(f"c{n}", {GPU: 1}) for n in range(30)]
    converted = stored(pod(*apps, initContainers=inits))
    assert len(asked) == 1
    assert set(map(tuple, list(claims(converted).values())[:30])) == {("gpu-1x-whole-100c",)}


def test_S65_an_init_container_without_a_core_limit_is_told_that_it_gets_one() -> None:
    decision = decide(pod(container("serve", {MEM: 8000, CORES: 30}), initContainers=[container("warm", {MEM: 8000})]))
    (note,) = decision.warnings
    shares = "init container warm shares the claim of serve and gets its"
    assert note.message == f"{shares} limit of 30 % cores, where it asks for none"
    on_nvidia = policy(bindings={"nvidia": {"driver": "gpu.nvidia.com-memory"}})
    manifest = pod(container("serve", {MEM: 9000, CORES: 30}), initContainers=[container("warm", {MEM: 8000})])
    assert f"{shares} larger limit" in {note.message for note in decide(manifest, policy=on_nvidia).warnings}
