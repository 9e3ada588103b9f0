"""Every case of the corpus whose objects Kubernetes itself serves, on the real control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.cluster.corpus_machines import (
    CLASSES,
    hami_machine,
    machine_with_everything,
    mig_machine_with_one_card,
)
from tests.cluster.corpus_objects import Applied, apply_object, objects_of, pods_of, problems, taken_for_granted
from tests.cluster.shapes import left_waiting
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook
from tests.corpus.cases import Case, Entry, load

JSON = Any
MACHINES = (machine_with_everything(), *CLASSES)
CASES = [case for case in load() if not case.needs and objects_of(case)]
OWN_CLAIMS_ARE_MISSING = {"one-of-each", "both-in-one", "native-only"}
"""Pods that name claims which the case does not hold."""
A100_MIB = 81920


@pytest.fixture(scope="module", autouse=True)
def surroundings(api: Api) -> Iterator[None]:
    """What the manifests take for granted."""
    with taken_for_granted(api):
        yield


def entries_of(case: Case, applied: Applied) -> list[Entry]:
    return [entry for entry in case.entries if applied.is_of(entry)]


def never_fits(entry: Entry) -> bool:
    return any(fact.get("neverFits") for fact in entry.placement)


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_facts_of_a_case_hold_and_its_pods_get_on(
    start_webhook: Callable[..., Webhook], namespace: Namespace, case: Case
) -> None:
    if case.settings:
        start_webhook(case.settings)
    names = case.settings.get("resourceNames", {})
    everything = [apply_object(namespace, obj) for obj in objects_of(case)]
    found = []
    for applied in everything:
        entries = entries_of(case, applied)
        assert len(entries) == 1, f"{applied.name} has {len(entries)} entries"
        found += [f"{applied.name}: {problem}" for problem in problems(namespace, applied, entries[0], names)]
    assert found == []
    for applied in everything:
        (entry,) = entries_of(case, applied)
        if entry.outcome == "converted" and applied.name not in OWN_CLAIMS_ARE_MISSING:
            _gets_on(namespace, applied, entry)


def _gets_on(namespace: Namespace, applied: Applied, entry: Entry) -> None:
    for pod in pods_of(namespace, applied)[0]:
        name = pod["metadata"]["name"]
        if never_fits(entry):
            left_waiting(namespace, name)
            continue
        given = namespace.allocation(name, timeout=30)
        asked = {entry["name"] for entry in pod["spec"].get("resourceClaims", ())}
        assert {device.claim for device in given.devices} == asked


def facts_about(*keys: str) -> list[Any]:
    """Placement facts with one of these keys, as parameters: the case, the entry and the fact."""
    return [
        pytest.param(case, entry, fact, id=f"{case.id}-{entry.name}")
        for case in CASES
        for entry in case.entries
        for fact in entry.placement
        if not fact.keys().isdisjoint(keys)
    ]


def named(case: Case, names: Iterable[str]) -> list[JSON]:
    """Objects of the case by name. ``another like it`` is a copy of the first, and a ``replica`` no object."""
    objects = {obj["metadata"]["name"]: obj for obj in objects_of(case) if "name" in obj["metadata"]}
    chosen = [objects[name] for name in names if name in objects]
    if "another like it" in names:
        chosen.append({**chosen[0], "metadata": {**chosen[0]["metadata"], "name": "another"}})
    return chosen


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(("case", "entry", "fact"), facts_about("sameCard"))
def test_on_a_machine_with_one_card_those_get_on_together_that_may(
    use_machines: Callable[..., None], namespace: Namespace, case: Case, entry: Entry, fact: JSON
) -> None:
    mig = any("migAtLeastMiB" in claim for claim in entry.claims or ())
    use_machines(mig_machine_with_one_card() if mig else hami_machine(fact.get("cardMiB", A100_MIB)), *CLASSES)
    if fact["sameCard"] == "never":
        (obj,) = named(case, [entry.name])
        pods = [pod["metadata"]["name"] for pod in pods_of(namespace, apply_object(namespace, obj))[0]]
        assert len(pods) == len(fact["pods"])
        (waiting,) = wait_for(lambda: _but_one_scheduled(namespace, pods), "one pod to get on", timeout=30)
        left_waiting(namespace, waiting)
        return
    together = set()
    for obj in named(case, [entry.name, *fact.get("pods", ())]):
        given = namespace.allocation(apply_object(namespace, obj).name, timeout=30)
        assert len(given.devices) == sum(claim.get("devices", 1) for claim in entry.claims or ())
        together |= set(given.cards)
    assert len(together) == (2 if mig else 1), "two slices of one card are two devices"


def _but_one_scheduled(namespace: Namespace, pods: list[str]) -> list[str] | None:
    """The pods without a node, once one has a node."""
    waiting = [name for name in pods if not namespace.get("Pod", name)["spec"].get("nodeName")]
    return waiting if len(waiting) < len(pods) else None


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(("case", "entry", "fact"), facts_about("needsCards"))
def test_a_pod_that_needs_several_cards_waits_for_the_last_of_them(
    use_machines: Callable[..., None], namespace: Namespace, case: Case, entry: Entry, fact: JSON
) -> None:
    few, enough = ([A100_MIB] * count for count in (fact["needsCards"] - 1, fact["needsCards"]))
    use_machines(hami_machine(*few), *CLASSES)
    (obj,) = named(case, [entry.name])
    ((pod,), _) = pods_of(namespace, apply_object(namespace, obj))
    assert pod["metadata"]["name"] == fact["pod"]
    left_waiting(namespace, fact["pod"])
    use_machines(hami_machine(*enough), *CLASSES)
    assert len(set(namespace.allocation(fact["pod"], timeout=30).cards)) == fact["needsCards"]


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(("case", "entry", "fact"), facts_about("onNode"))
def test_a_pod_that_names_a_node_gets_its_card_there(
    use_machines: Callable[..., None], namespace: Namespace, case: Case, entry: Entry, fact: JSON
) -> None:
    use_machines(hami_machine(A100_MIB, node="a-node"), hami_machine(A100_MIB, node=fact["onNode"]), *CLASSES)
    (obj,) = named(case, [entry.name])
    ((pod,), _) = pods_of(namespace, apply_object(namespace, obj))
    assert namespace.allocation(pod["metadata"]["name"], timeout=30).node == fact["onNode"]
    namespace.api.patch("Deployment", entry.name, {"spec": {"replicas": 2}}, namespace.name)
    wait_for(lambda: len(namespace.pods()) == 2, "the second replica", timeout=30, describe=namespace.describe)
    (other,) = {one["metadata"]["name"] for one in namespace.pods()} - {pod["metadata"]["name"]}
    left_waiting(namespace, other)
