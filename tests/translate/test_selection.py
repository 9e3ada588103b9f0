"""Annotations choose cards, and their text can do nothing else (S50-S55)."""

from typing import Any

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_strings
from hypothesis import given
from hypothesis import strategies as st

from app.drivers import builtin_profiles
from app.translate import Decision, Device, Policy, TranslationSettings
from app.translate.selection import accepts, read_selection
from tests.translate.pods import (
    GPU,
    HAMI,
    MEM,
    NVIDIA,
    asking,
    cluster,
    decide,
    exactly,
    message,
    only_request,
    policy,
    warned,
    why,
)

A, B, C = (f"GPU-00000000-0000-4000-8000-00000000000{x}" for x in "abc")
USE, NOT, TYPE, NOT_TYPE = (
    "nvidia.com/use-gpuuuid",
    "nvidia.com/nouse-gpuuuid",
    "nvidia.com/use-gputype",
    "nvidia.com/nouse-gputype",
)
MODE = "nvidia.com/vgpu-mode"
NUMA = "nvidia.com/numa-bind"

ENVIRONMENT = cel.NewEnv(
    variables={"device": cel.Type.DYN},
    extensions=[ext_strings.ExtStrings()],
    functions=[
        cel.FunctionDecl(
            "quantity", [cel.Overload("q", cel.Type.INT, [cel.Type.STRING], False, lambda s: int(s[:-2]))]
        ),
        cel.FunctionDecl(
            "compareTo",
            [cel.Overload("c", cel.Type.INT, [cel.Type.INT, cel.Type.INT], True, lambda a, b: (a > b) - (a < b))],
        ),
    ],
)


def selected(option: dict[str, Any], driver: str = HAMI, **attributes: str) -> bool:
    """Whether Google's CEL runtime accepts a card with these attributes; a card without them must not be an error."""
    device = {"driver": driver, "attributes": {driver: attributes}, "capacity": {driver: {"memory": 15360}}}
    return all(
        ENVIRONMENT.compile(s["cel"]["expression"]).eval(data={"device": device}).value() is True
        for s in option.get("selectors", [])
    )


def choosing(annotations: dict[str, Any], facts: Any = None, **settings: Any) -> Decision:
    manifest = asking({GPU: 1, MEM: 4000}, annotations)
    return decide(manifest, facts, policy(**settings)) if facts else decide(manifest, policy=policy(**settings))


@pytest.mark.parametrize(
    ("annotations", "accepted"),
    [
        ({USE: A}, {A}),
        ({USE: f" {A} , {B}"}, {A, B}),
        ({NOT: B}, {A, C}),
        ({USE: f"{A},{B}", NOT: B}, {A}),
        ({USE: f"{A},{A}"}, {A}),
        ({USE: ""}, {A, B, C}),
        ({USE: "   ", NOT: ""}, {A, B, C}),
        ({NOT: ", ,"}, {A, B, C}),
        ({USE: ","}, set()),
        ({USE: A, NOT: A}, set()),
        ({USE: A.lower()}, set()),
        ({USE: A[:-1]}, set()),
        ({USE: f"{A}\N{FULLWIDTH COMMA}{B}"}, set()),
    ],
)
def test_S50_uuid_lists_pick_exactly_these_cards(annotations: dict[str, str], accepted: set[str]) -> None:
    option = exactly(choosing(annotations))
    assert {u for u in (A, B, C) if selected(option, uuid=u)} == accepted


def test_S50_a_card_without_a_uuid_is_no_error() -> None:
    assert not selected(exactly(choosing({USE: A})))
    assert selected(exactly(choosing({NOT: A})))


@pytest.mark.parametrize(
    ("annotations", "warning"),
    [
        ({USE: ","}, "allows-nothing"),
        ({USE: A, NOT: A}, "allows-nothing"),
        ({USE: "MIG-00000000-0000-5000-8000-00000000000a"}, "uuid-form"),
        ({USE: A.lower()}, "uuid-form"),
        ({NOT: "0"}, "uuid-form"),
        ({USE: f"{A}\N{FULLWIDTH COMMA}{B}"}, "wide-comma"),
        ({TYPE: " , "}, "allows-nothing"),
        ({TYPE: "NVIDIA-NVIDIA L4"}, "type-double-prefix"),
        ({MODE: ""}, "vgpu-mode-blank"),
    ],
)
def test_S50_S51_S52_odd_lists_are_warned_about(annotations: dict[str, str], warning: str) -> None:
    assert warning in warned(choosing(annotations))


def test_S50_a_uuid_that_no_card_of_the_cluster_has_is_warned_about() -> None:
    facts = cluster("deviceclasses-hami", "hami-t4-node")
    known = "GPU-5875561f-3af7-0ad5-2432-b1bfb0dffe8c"
    assert warned(choosing({USE: known}, facts)) == set()
    assert warned(choosing({USE: f"{known},{A}"}, facts)) == {"uuid-unknown"}


def test_S50_for_mig_devices_the_card_is_the_parent() -> None:
    manifest = asking({GPU: 1}, {USE: A})
    decision = decide(manifest, policy=policy(nvidia={"count": "mig"}))
    option = exactly(decision)
    assert option["deviceClassName"] == "mig.nvidia.com"
    assert selected(option, NVIDIA, parentUUID=A, uuid="MIG-1")
    assert not selected(option, NVIDIA, parentUUID=B, uuid=A)


def uuids(number: int) -> str:
    return ",".join(f"GPU-{i:08x}-0000-4000-8000-000000000000" for i in range(number))


def test_S50_an_allow_list_fills_one_expression_to_the_last_byte_and_not_more() -> None:
    decision = choosing({USE: uuids(235)})
    assert decision.outcome == "converted"
    (selector,) = exactly(decision)["selectors"]
    assert len(selector["cel"]["expression"].encode()) <= 10_240
    refused = choosing({USE: uuids(300)})
    assert (refused.outcome, why(refused)) == ("denied", {"list-too-long"})
    assert "235 of them fit" in message(refused)


def test_S50_a_deny_list_is_split() -> None:
    option = exactly(choosing({NOT: uuids(1000)}))
    assert len(option["selectors"]) == 5
    assert all(len(s["cel"]["expression"].encode()) <= 10_240 for s in option["selectors"])
    assert not selected(option, uuid="GPU-000003e7-0000-4000-8000-000000000000")
    assert selected(option, uuid=A)


def test_S50_an_endless_deny_list_is_denied() -> None:
    assert why(choosing({NOT: uuids(5000)})) == {"list-too-long"}


@pytest.mark.parametrize(
    ("annotations", "accepts", "refuses"),
    [
        ({TYPE: "a100, V100,"}, ["NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB"], ["Tesla T4"]),
        ({TYPE: "a100", NOT_TYPE: "PCIE"}, ["NVIDIA A100-SXM4-80GB"], ["NVIDIA A100 80GB PCIe"]),
        ({TYPE: "A10"}, ["NVIDIA A10", "NVIDIA A100-SXM4-40GB"], ["NVIDIA A30"]),
        ({TYPE: "NVIDIA-Tesla P4"}, ["Tesla P4"], ["Tesla T4"]),
        ({TYPE: "NVIDIA-NVIDIA L4"}, [], ["NVIDIA L4"]),
        ({TYPE: "nvidia-"}, ["Tesla T4"], ["NVIDIA L4"]),
        ({NOT_TYPE: "1080,2080"}, ["NVIDIA L40S"], ["NVIDIA GeForce GTX 1080 Ti"]),
        ({NOT_TYPE: ","}, ["Tesla T4"], []),
        ({TYPE: ""}, ["Tesla T4"], []),
        ({TYPE: " , "}, [], ["Tesla T4"]),
        ({TYPE: "KELVIN \N{KELVIN SIGN}"}, [], ["kelvin k"]),
    ],
)
def test_S51_types_are_parts_of_the_prefixed_product_name(
    annotations: dict[str, str], accepts: list[str], refuses: list[str]
) -> None:
    option = exactly(choosing(annotations))
    assert [p for p in accepts + refuses if selected(option, productName=p)] == accepts


def test_S51_a_type_that_matches_more_than_its_word_is_warned_about() -> None:
    facts = cluster("deviceclasses-hami", "hami-a100-node")
    assert warned(choosing({TYPE: "A10"}, facts)) == {"type-matches-more"}
    assert warned(choosing({TYPE: "A100"}, facts)) == set()
    assert warned(choosing({TYPE: "H100"}, facts)) == {"type-unknown"}


@pytest.mark.parametrize("mode", ["hami-core", "mig,hami-core", " hami-core "])
def test_S52_hami_core_is_served_by_the_hami_driver(mode: str) -> None:
    assert exactly(choosing({MODE: mode}))["deviceClassName"] == HAMI


@pytest.mark.parametrize("mode", ["MIG", "mps", "HAMI-CORE", "none"])
def test_S52_a_mode_that_nothing_serves_is_denied_with_the_right_spelling(mode: str) -> None:
    decision = choosing({MODE: mode})
    assert (decision.outcome, why(decision)) == ("denied", {"vgpu-mode-unserved"})
    assert mode in message(decision)
    assert "hami-core or mig" in message(decision)


def test_S52_mig_takes_the_smallest_profile_that_is_large_enough_first() -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "nvidia-mig-node")
    decision = decide(asking({GPU: 1, MEM: 8000}, {MODE: "mig"}), facts)
    options = only_request(decision)["firstAvailable"]
    assert [o["name"] for o in options] == ["mig-1g-10gb", "mig-2g-10gb", "mig-3g-20gb", "mig-7g-40gb"]
    assert selected(options[0], NVIDIA, type="mig", profile="1g.10gb")
    assert not selected(options[0], NVIDIA, type="mig", profile="1g.5gb")
    assert not selected(options[0], NVIDIA, type="gpu")


@pytest.mark.parametrize(("number", "counts"), [(2, [1, 1]), (4, [1, 1, 1, 1]), (5, [5])])
def test_S52_a_few_mig_devices_may_be_of_different_profiles(number: int, counts: list[int]) -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "nvidia-mig-node")
    decision = decide(asking({GPU: number, MEM: 8000}, {MODE: "mig"}), facts)
    devices = decision.templates[0].spec["devices"]
    assert [r["firstAvailable"][0]["count"] for r in devices["requests"]] == counts
    assert "constraints" not in devices


def test_S52_memory_equal_to_a_profile_fits() -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "nvidia-mig-node")
    decision = decide(asking({GPU: 1, MEM: 4864}, {MODE: "mig"}), facts)
    assert only_request(decision)["firstAvailable"][0]["name"].startswith("mig-1g-5gb")


def test_S52_without_facts_the_first_that_fits_is_taken_and_said() -> None:
    decision = choosing({MODE: "mig"})
    assert exactly(decision)["deviceClassName"] == "mig.nvidia.com"
    assert warned(decision) == {"mig-first-fit"}


@pytest.mark.parametrize("limits", [{GPU: 1}, {GPU: 1, "nvidia.com/gpumem-percentage": 50}])
def test_S52_mig_without_an_amount_is_denied(limits: dict[str, int]) -> None:
    assert why(decide(asking(limits, {MODE: "mig"}))) == {"mig-mode-without-memory"}


def test_S52_mig_without_a_bound_driver_is_denied() -> None:
    assert why(choosing({MODE: "mig"}, bindings={"nvidia": {"mig": None}})) == {"vgpu-mode-unserved"}


def test_S52_a_blank_mode_is_no_constraint() -> None:
    decision = choosing({MODE: "  "})
    assert decision.outcome == "converted"
    assert warned(decision) == {"vgpu-mode-blank"}


@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
def test_S53_numa_bind_is_a_constraint_where_the_slices_show_it(value: str) -> None:
    facts = cluster("deviceclasses-nvidia", "nvidia-h100-node")
    own = policy(bindings={"nvidia": {"driver": NVIDIA}})
    decision = decide(asking({GPU: 4}, {NUMA: value}), facts, own)
    constraints = decision.templates[0].spec["devices"]["constraints"]
    assert constraints == [{"matchAttribute": "resource.kubernetes.io/numaNode"}]
    assert warned(decision) == set()


@pytest.mark.parametrize(("value", "number"), [("yes", 2), ("false", 2), ("", 2), ("true", 1)])
def test_S53_other_spellings_and_single_cards_are_no_constraint(value: str, number: int) -> None:
    decision = decide(asking({GPU: number}, {NUMA: value}))
    assert "constraints" not in decision.templates[0].spec["devices"]
    assert warned(decision) == set()


def test_S53_without_a_numa_attribute_there_is_a_warning_or_in_strict_mode_a_denial() -> None:
    manifest = asking({GPU: 2}, {NUMA: "true"})
    facts = cluster("deviceclasses-hami", "hami-t4-node")
    assert warned(decide(manifest, facts)) == {"numa-ignored"}
    assert why(decide(manifest, facts, policy(numaBind="deny"))) == {"numa-unpublished"}


@pytest.mark.parametrize(
    "name", ["hami.io/gpu-scheduler-policy", "hami.io/node-scheduler-policy", "hami.io/device-scoring-weights"]
)
def test_S54_scheduling_policies_stay_with_a_warning_that_names_them(name: str) -> None:
    decision = choosing({name: "binpack"})
    assert warned(decision) == {"without-effect"}
    assert name in decision.warnings[0].message
    assert "binpack" in decision.warnings[0].message


@pytest.mark.parametrize("name", ["hami.io/vgpu-node", "hami.io/vgpu-devices-allocated", "hami.io/bind-phase"])
def test_S55_annotations_of_the_old_scheduler_are_ignored_with_a_warning(name: str) -> None:
    decision = choosing({name: "GPU-1,NVIDIA,1000,10:;"})
    assert warned(decision) == {"scheduler-owned"}
    assert decision.templates == choosing({}).templates


def test_annotations_have_no_effect_on_mig_keys_and_say_so() -> None:
    plain = decide(asking({"nvidia.com/mig-1g.5gb": 1}))
    chosen = decide(asking({"nvidia.com/mig-1g.5gb": 1}, {USE: A}))
    assert chosen.templates == plain.templates
    assert warned(chosen) == {"annotation-on-mig"}
    (note,) = chosen.warnings
    assert note.message == f"{USE} has no effect on devices asked as nvidia.com/mig-1g.5gb"


def test_each_annotation_without_effect_is_named_with_the_keys_it_does_not_act_on() -> None:
    own = policy(bindings={"nvidia": {"shared": "gpu.nvidia.com-shares"}})
    limits = {"nvidia.com/gpu.shared": 1, "nvidia.com/mig-1g.5gb": 1}
    annotations = {USE: A, "nvidia.com/numa-bind": "true", "nvidia.com/vgpu-mode": "mig", NOT: " "}
    decision = decide(asking(limits, annotations), policy=own)
    assert [note.message for note in decision.warnings] == [
        f"{name} has no effect on devices asked as nvidia.com/gpu.shared, nvidia.com/mig-1g.5gb"
        for name in (USE, "nvidia.com/vgpu-mode", "nvidia.com/numa-bind")
    ]


def test_S50_an_annotation_that_a_driver_has_no_attribute_for_is_named() -> None:
    profiles = dict(builtin_profiles())
    attributes = profiles[HAMI].attributes.model_copy(update={"product": None})
    profiles[HAMI] = profiles[HAMI].model_copy(update={"attributes": attributes})
    decision = decide(asking({GPU: 1}, {USE: A, TYPE: "A100"}), policy=Policy(TranslationSettings(), profiles))
    assert warned(decision) == {"annotation-unserved"}
    assert decision.warnings[0].message.startswith(f"{TYPE} has no effect: HAMi k8s-dra-driver publishes nothing")
    assert decision.claims[0].rules == ("S20", "S50", "S36")


def test_S52_cores_of_a_mig_device_have_no_effect_and_say_so() -> None:
    decision = decide(
        asking({GPU: 1, "nvidia.com/gpumem": 4000, "nvidia.com/gpucores": 30}, {"nvidia.com/vgpu-mode": "mig"})
    )
    assert decision.outcome == "converted"
    assert warned(decision) == {"mig-first-fit", "cores-unsupported"}


ANY_TEXT = st.text(st.one_of(st.sampled_from('GPU-aT4 ,"\\\n'), st.characters(exclude_categories=["Cs"])), max_size=60)


# This runtime's Python binding cuts data at NUL; no card is named like that.
@given(ANY_TEXT, st.sampled_from([USE, NOT, TYPE, NOT_TYPE]), ANY_TEXT.filter(lambda t: "\x00" not in t))
def test_S50_S51_any_text_is_only_text(text: str, annotation: str, card: str) -> None:
    """Whatever is written, the selector compiles and says what the plain rule says about the card."""
    option = exactly(choosing({annotation: text}))
    selection, _ = read_selection({annotation: text})
    device = Device(HAMI, "n", "n", "d", {"uuid": card, "productName": card}, {}, {}, shareable=True)
    expected = accepts(selection, builtin_profiles()[HAMI], device, mig=False)
    assert selected(option, uuid=card, productName=card) == expected


@pytest.mark.parametrize("text", ['"] || true || "" in ["', "x\\", "x\ny", "\x00", "\N{GRINNING FACE}", "')||('1'=='1"])
def test_S50_injected_quotes_do_nothing(text: str) -> None:
    assert not selected(exactly(choosing({USE: text})), uuid=A)
    assert selected(exactly(choosing({NOT: text})), uuid=A)


@pytest.mark.parametrize("value", [None, 7, True, ["x"], {"a": 1}])
def test_annotations_of_a_wrong_type_break_nothing(value: Any) -> None:
    assert choosing({USE: value}).outcome in ("converted", "untouched")


def test_S46_facts_of_another_driver_do_not_matter() -> None:
    facts = cluster("deviceclasses-hami", "deviceclasses-nvidia", "nvidia-h100-node")
    assert warned(choosing({TYPE: "T4"}, facts)) == set()
