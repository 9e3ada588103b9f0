"""Annotations that choose cards by UUID and by type: S50 and S51, and what hostile text in them does."""

from __future__ import annotations

import pytest

from tests.cluster.shapes import gpu, left_waiting
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, T4_NODE, cards, load, with_cards
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod

MACHINES = (with_cards(load(T4_NODE), 3), with_cards(load(A100_NODE), 3), HAMI_CLASSES)
UUIDS = {
    f"{node}/{card['name']}": card["attributes"]["uuid"]["string"]
    for node in (T4_NODE, A100_NODE)
    for card in cards(with_cards(load(node), 3))
}
"""By machine and device."""
CARDS = set(UUIDS)
T4, A100 = ({card for card in CARDS if card.startswith(node)} for node in (T4_NODE, A100_NODE))
FIRST, LAST = f"{T4_NODE}/hami-gpu-0", f"{A100_NODE}/hami-gpu-2"
USE, NOT = "nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"
USE_TYPE, NOT_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
STRANGERS = [f"GPU-{number:08x}-0000-4000-8000-000000000000" for number in range(600)]
INJECTIONS = {
    "double-quote": '" || true || "',
    "closed-list": 'x"] || true || "" in ["',
    "single-quote": "' || true || '",
    "backslash": '\\" || true || \\"',
    "trailing-backslash": "x\\",
    "newline": 'x"\n|| true ||\n"',
    "comment": 'x" || true //',
    "unicode": 'Ü"\N{LEFT DOUBLE QUOTATION MARK}\N{VIDEO GAME}\N{LINE SEPARATOR}',
    "format": "{}%s${device}",
}

pytestmark = pytest.mark.usefixtures("webhook")


def chosen_exactly(namespace: Namespace, annotations: dict[str, str], expected: set[str]) -> None:
    """Tenants with these annotations fill exactly the expected cards, one each, and the next one waits."""
    tenants = [pod(f"p-{number}", gpu(1), annotations=annotations) for number in range(len(expected))]
    if tenants:
        namespace.kubectl.apply(*tenants)
    given = [namespace.allocation(tenant["metadata"]["name"], timeout=30).cards[0] for tenant in tenants]
    assert {"/".join(card) for card in given} == expected
    namespace.kubectl.apply(pod("next", gpu(1), annotations=annotations))
    left_waiting(namespace, "next")


@pytest.mark.parametrize("card", sorted(CARDS))
def test_S50_an_allowed_uuid_is_the_only_card(namespace: Namespace, card: str) -> None:
    chosen_exactly(namespace, {USE: f" {UUIDS[card]} ,"}, {card})


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({USE: f"{UUIDS[FIRST]},{UUIDS[LAST]}"}, {FIRST, LAST}),
        ({NOT: ",".join(UUIDS[card] for card in CARDS - {LAST})}, {LAST}),
        ({USE: f"{UUIDS[FIRST]},{UUIDS[LAST]}", NOT: UUIDS[FIRST]}, {LAST}),
        ({USE: UUIDS[FIRST], NOT: UUIDS[FIRST]}, set()),
        ({USE: UUIDS[FIRST].upper()}, set()),
        ({USE: STRANGERS[0]}, set()),
        ({USE: UUIDS[FIRST], USE_TYPE: "A100"}, set()),
        ({NOT: UUIDS[LAST], USE_TYPE: "A100"}, A100 - {LAST}),
    ],
    ids=["two", "all-but-one", "deny-wins", "all-denied", "other-case", "stranger", "wrong-type", "type-and-deny"],
)
def test_S50_uuid_lists_choose_and_exclude_exactly_their_cards(
    namespace: Namespace, annotations: dict[str, str], expected: set[str]
) -> None:
    chosen_exactly(namespace, annotations, expected)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({USE_TYPE: "a100"}, A100),
        ({USE_TYPE: "Tesla T4"}, T4),
        ({USE_TYPE: "NVIDIA-Tesla"}, T4),
        ({USE_TYPE: "H100, t4,"}, T4),
        ({NOT_TYPE: "tesla,PCIE"}, A100),
        ({USE_TYPE: "T4,A100", NOT_TYPE: "sxm4"}, T4),
        ({USE_TYPE: "A10"}, A100),
        ({USE_TYPE: "NVIDIA-NVIDIA A100"}, set()),
        ({USE_TYPE: "H100"}, set()),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_S51_types_choose_and_exclude_exactly_their_cards(
    namespace: Namespace, annotations: dict[str, str], expected: set[str]
) -> None:
    chosen_exactly(namespace, annotations, expected)


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ({USE_TYPE: "A10"}, 'use-gputype "A10" also matches "NVIDIA A100-SXM4-80GB"'),
        ({USE_TYPE: "H100"}, 'use-gputype "H100" matches no card of this cluster'),
        ({USE: STRANGERS[0]}, "this cluster has no such card"),
        ({USE: UUIDS[FIRST].upper()}, "no such card, UUIDs read GPU-… in lower case"),
    ],
)
def test_S51_what_the_cards_of_the_cluster_make_of_a_list_is_told(
    namespace: Namespace, annotations: dict[str, str], word: str
) -> None:
    said = namespace.kubectl.apply(pod("p", gpu(1), annotations=annotations))
    assert any(word.lower() in warning.lower() for warning in said.warnings), said.stderr


@pytest.mark.parametrize("annotation", [USE, USE_TYPE])
@pytest.mark.parametrize("text", INJECTIONS.values(), ids=INJECTIONS)
def test_injected_text_in_an_allow_list_allows_no_card(namespace: Namespace, annotation: str, text: str) -> None:
    namespace.kubectl.apply(pod("p", gpu(1, mem=1000), annotations={annotation: text}))
    left_waiting(namespace, "p")


@pytest.mark.parametrize("annotation", [NOT, NOT_TYPE])
@pytest.mark.parametrize("text", INJECTIONS.values(), ids=INJECTIONS)
def test_injected_text_in_a_deny_list_changes_nothing(namespace: Namespace, annotation: str, text: str) -> None:
    everything_else = ",".join(UUIDS[card] for card in CARDS - {LAST})
    annotations = {NOT: everything_else} | {annotation: text if annotation != NOT else f"{text},{everything_else}"}
    namespace.kubectl.apply(pod("p", gpu(1, mem=1000), annotations=annotations))
    assert "/".join(namespace.allocation("p", timeout=30).cards[0]) == LAST


@pytest.mark.parametrize("annotation", [USE, USE_TYPE])
def test_an_allow_list_of_only_commas_waits_and_is_told(namespace: Namespace, annotation: str) -> None:
    said = namespace.kubectl.apply(pod("p", gpu(1, mem=1000), annotations={annotation: " , ,"}))
    assert any("the pod waits for ever" in warning for warning in said.warnings), said.stderr
    left_waiting(namespace, "p")


def test_blank_lists_and_deny_lists_of_only_commas_constrain_nothing(namespace: Namespace) -> None:
    blank = {USE: "", NOT: ", ,", USE_TYPE: "  ", NOT_TYPE: ","}
    namespace.kubectl.apply(pod("p", gpu(1, mem=1000), annotations=blank))
    namespace.scheduled("p")
    (template,) = namespace.list("ResourceClaimTemplate")
    assert "selectors" not in template["spec"]["spec"]["devices"]["requests"][0]["exactly"]


def test_a_deny_list_of_600_uuids_excludes_each_of_them(namespace: Namespace) -> None:
    spread = [*STRANGERS[:300], UUIDS[FIRST], *STRANGERS[300:]]
    denied = [*(UUIDS[card] for card in CARDS - {FIRST, LAST}), *spread]
    namespace.kubectl.apply(pod("p", gpu(1), annotations={NOT: ",".join(denied)}))
    assert "/".join(namespace.allocation("p", timeout=30).cards[0]) == LAST
    namespace.kubectl.apply(pod("next", gpu(1, mem=1000), annotations={NOT: ",".join(denied)}))
    left_waiting(namespace, "next")


def test_an_allow_list_of_600_uuids_is_refused_with_how_many_fit(namespace: Namespace) -> None:
    asking = pod("p", gpu(1), annotations={USE: ",".join(STRANGERS)})
    said = namespace.kubectl.create(asking, check=False)
    assert said.code == 1
    assert "235 of them fit in 10240 bytes" in said.stderr
