"""What holds for any pod, however odd (S64, S69)."""

import copy
import json
from dataclasses import replace
from typing import Any

import jsonpatch
from hypothesis import given, settings
from hypothesis import strategies as st

from app.translate import Facts, translate, translate_update
from app.translate.essence import essence
from app.translate.keys import classify
from app.translate.translate import _decide
from tests.translate.pods import DEFAULTS, cluster

LEGACY = [
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "nvidia.com/priority",
]
KEYS = st.sampled_from(
    [
        *LEGACY,
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1g.5gb.me",
        "nvidia.com/gpu.shared",
        "nvidia.com/gpus",
        "cpu",
        "amd.com/gpu",
    ]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
RECORDS = [
    '{"containers":{"a":{"nvidia.com/gpu":"1"}}}',
    '{"containers":{"a":{"nvidia.com/gpu":"abc"},"b":{},"e":{"cpu":"1"}}}',
    '{"containers":{"b":{"nvidia.com/gpumem":"8k"},"e":{"nvidia.com/priority":"-1"}},"addedByOthers":{"b":[1]}}',
]
VALUES = st.one_of(
    st.integers(min_value=0, max_value=3),
    st.sampled_from([30, 50, 100, 8000, "8k", "1", "0", "16Gi", "0.5", -1, "99999999999999999999999", None, "x"]),
)
RESOURCES = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def containers(draw: st.DrawFn) -> Any:
    if draw(st.integers(0, 30)) == 0:
        return draw(JUNK)
    one: dict[str, Any] = {"name": draw(st.sampled_from(["a", "b", "c", "d" * 63, ""])), "x-unknown": draw(JUNK)}
    limits = draw(RESOURCES)
    resources: dict[str, Any] = {"limits": limits, "x-unknown": draw(JUNK)}
    if draw(st.booleans()):
        resources["requests"] = dict(limits) if draw(st.booleans()) else draw(RESOURCES)
    if draw(st.booleans()):
        resources["claims"] = draw(st.sampled_from([None, [], [{"name": "own"}]]))
    one["resources"] = resources if draw(st.integers(0, 9)) else draw(JUNK)
    if draw(st.booleans()):
        one["env"] = draw(
            st.sampled_from([None, [], [{"name": "CUDA_TASK_PRIORITY", "value": "0"}], [{"name": "X"}], "x"])
        )
    if draw(st.integers(0, 5)) == 0:
        one["restartPolicy"] = "Always"
    if draw(st.integers(0, 9)) == 0:
        one["securityContext"] = draw(st.sampled_from([None, {"privileged": True}, "x"]))
    return one


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.permutations(["a", "b", "c", "e"]))
    apps = draw(st.lists(containers(), max_size=3))
    inits = draw(st.lists(containers(), max_size=2))
    if draw(st.booleans()):  # mostly well-formed: unique names
        for name, one in zip(names, [*apps, *inits], strict=False):
            if isinstance(one, dict):
                one["name"] = name
    spec: dict[str, Any] = {"containers": apps, "x-unknown": draw(JUNK)}
    if inits:
        spec["initContainers"] = inits
    spec |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "schedulerName": st.sampled_from(["hami-scheduler", "default-scheduler", "volcano", None, ""]),
                "nodeName": st.sampled_from(["n1", "", None]),
                "affinity": st.sampled_from([None, {}, {"nodeAffinity": None}, {"x": 1}]),
                "resourceClaims": st.sampled_from(
                    [None, [], [{"name": "own", "resourceClaimName": "x"}], [{"name": "a-gpu"}]]
                ),
                "nodeSelector": JUNK,
            },
        )
    )
    annotations = draw(
        st.none()
        | st.dictionaries(
            st.sampled_from(
                [
                    "nvidia.com/use-gpuuuid",
                    "nvidia.com/nouse-gputype",
                    "nvidia.com/vgpu-mode",
                    "hami.io/dra-original-resources",
                    "x",
                ]
            ),
            st.text(max_size=12) | st.sampled_from(["hami-core", "mig", "T4", ",", *RECORDS]),
            max_size=2,
        )
    )
    metadata = {"name": "p", "annotations": annotations, "labels": draw(st.sampled_from([None, {}, {"x": "y"}]))}
    return {"metadata": metadata, "spec": spec, "x-unknown": draw(JUNK)}


FACTS = st.sampled_from(
    [
        Facts(),
        cluster("deviceclasses-hami", "deviceclasses-nvidia", "hami-t4-node", "hami-a100-node", "nvidia-mig-node"),
    ]
)


def without(value: Any, names: set[str]) -> Any:
    """The value without these members, so that the rest can be compared."""
    if isinstance(value, dict):
        return {k: without(v, names) for k, v in value.items() if k not in names}
    return [without(v, names) for v in value] if isinstance(value, list) else value


TOUCHED = {
    "limits",
    "requests",
    "claims",
    "resourceClaims",
    "labels",
    "annotations",
    "env",
    "schedulerName",
    "nodeName",
    "affinity",
}


@settings(max_examples=300, deadline=None)
@given(pods(), FACTS)
def test_S69_the_patch_applies_changes_only_what_it_should_and_is_idempotent(pod: dict[str, Any], facts: Facts) -> None:
    before = json.dumps(pod)
    decision = translate(pod, facts, DEFAULTS)
    assert json.dumps(pod) == before
    assert decision == translate(copy.deepcopy(pod), facts, DEFAULTS)
    assert decision.reasons
    if not decision.patch:
        return
    result = jsonpatch.apply_patch(pod, list(decision.patch))
    # A container that only asked for zero cards may lose its empty resources; nothing else unknown may go.
    expected, got = without(pod, TOUCHED | {"resources"}), without(result, TOUCHED | {"resources"})
    assert got == expected
    assert translate(result, facts, DEFAULTS).patch == ()
    if decision.outcome == "converted":
        for one in result["spec"].get("initContainers", []) + result["spec"]["containers"]:
            resources = one.get("resources") if isinstance(one, dict) else None
            for part in ("limits", "requests"):
                values = resources.get(part) if isinstance(resources, dict) else None
                left = [k for k in values or {} if (match := classify(DEFAULTS, k)) is not None and not match.shared]
                assert left == [], "a key that the rules convert is left"
    assert all(op["op"] in ("add", "remove", "replace") for op in decision.patch)


@settings(max_examples=150, deadline=None)
@given(pods(), FACTS)
def test_the_essence_of_a_pod_is_all_that_a_decision_reads(pod: dict[str, Any], facts: Facts) -> None:
    assert _decide(essence(pod, DEFAULTS), facts, DEFAULTS, frozenset()) == _decide(pod, facts, DEFAULTS, frozenset())


@settings(max_examples=100, deadline=None)
@given(st.lists(pods(), min_size=2, max_size=4), FACTS)
def test_a_remembered_decision_is_the_one_that_would_be_made(drawn: list[dict[str, Any]], facts: Facts) -> None:
    """As the API server sends them: text values, and the same containers in pods that differ elsewhere."""
    for pod in drawn:
        pod["spec"]["containers"] = drawn[0]["spec"]["containers"]
        pod["spec"].pop("initContainers", None)
    for pod in json.loads(json.dumps(drawn), parse_int=str, parse_float=str):
        translate(pod, facts, DEFAULTS)
        fresh = translate(copy.deepcopy(pod), replace(facts), DEFAULTS)
        assert translate(pod, facts, DEFAULTS) == fresh


@settings(max_examples=100, deadline=None)
@given(pods(), pods())
def test_S60_an_update_decision_applies_whatever_is_sent(new: dict[str, Any], old: dict[str, Any]) -> None:
    decision = translate_update(new, old, DEFAULTS)
    jsonpatch.apply_patch(new, list(decision.patch))
    assert decision.templates == ()


@settings(max_examples=200, deadline=None)
@given(JUNK)
def test_any_json_object_gets_a_decision(junk: Any) -> None:
    for pod in (
        {"spec": junk},
        {"metadata": junk, "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}},
    ):
        translate(pod, Facts(), DEFAULTS)
    translate({"spec": {"containers": [{"name": "a", "resources": junk}], "initContainers": junk}}, Facts(), DEFAULTS)
