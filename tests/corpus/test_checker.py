"""The checker of the corpus sees what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from app.preview import preview, read
from app.translate import Facts, Policy
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.corpus.cases import Entry, load
from tests.corpus.facts import Observed, entry_problems

Templates = list[Any]


def observed(case_id: str, title: str) -> tuple[Entry, Observed]:
    case = next(case for case in load() if case.id == case_id)
    entry = next(entry for entry in case.entries if entry.title == title)
    facts = Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    for item in preview([read(case.file.read_bytes())], facts, Policy()).items:
        if item.title.split()[0] == title:
            report = orjson.loads(orjson.dumps(item.report()))
            assert item.found is not None
            return entry, Observed(report["outcome"], item.found.pod, report["pod"], report["templates"])
    raise AssertionError(title)


def exactly(templates: Templates) -> dict[str, Any]:
    found: dict[str, Any] = templates[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    return found


@pytest.mark.parametrize(
    ("case", "title", "damage", "problem"),
    [
        ("01-shared-memory-and-cores", "Pod/notebook", lambda t: exactly(t).update(count=2), "devices: 2"),
        (
            "01-shared-memory-and-cores",
            "Pod/notebook",
            lambda t: exactly(t)["capacity"]["requests"].pop("cores"),
            "cores",
        ),
        ("01-shared-memory-and-cores", "Pod/notebook", lambda t: exactly(t).pop("capacity"), "memory"),
        ("23-uuid-allow-and-deny", "Pod/pick-two-of-three", lambda t: exactly(t).pop("selectors"), "card GPU-"),
        ("24-type-lists", "Pod/short-name", lambda t: exactly(t).pop("selectors"), "product NVIDIA A30"),
        ("04-whole-card-deployment", "Deployment/transcriber", lambda t: t.clear(), "0 grants fit"),
        ("28-dynamic-mig-mode", "Pod/two-slices", lambda t: exactly(t).pop("selectors"), "a MIG device of 7999 MiB"),
        ("29-mig-mixed-profiles", "Deployment/slices", lambda t: exactly(t).pop("selectors"), "0 grants fit"),
    ],
)
def test_a_damaged_template_is_noticed(
    case: str, title: str, damage: Callable[[Templates], object], problem: str
) -> None:
    entry, seen = observed(case, title)
    assert list(entry_problems(replace(entry, warn=()), seen)) == []
    templates = list(seen.templates)
    damage(templates)
    seen = replace(seen, templates=templates)
    assert any(problem in found for found in entry_problems(replace(entry, warn=()), seen))


def test_a_key_that_stays_and_a_claim_too_many_are_noticed() -> None:
    entry, seen = observed("16-three-containers-one-plain", "Deployment/rag")
    assert list(entry_problems(entry, seen)) == []
    pod = orjson.loads(orjson.dumps(seen.pod))
    generator, shipper, _ = pod["spec"]["containers"]
    shipper["resources"]["claims"] = generator["resources"]["claims"]
    generator["resources"]["limits"] = {"nvidia.com/gpu": 1}
    problems = list(entry_problems(entry, replace(seen, pod=pod)))
    assert [problem.split(",")[0] for problem in problems if "keys left" in problem] == [
        "generator: keys left ['nvidia.com/gpu']"
    ]
    assert any(problem.startswith("shipper: got") for problem in problems)


def test_a_lost_environment_and_a_lost_claim_are_noticed() -> None:
    entry, seen = observed("39-own-claims", "Pod/both-in-one")
    assert list(entry_problems(entry, seen)) == []
    pod = orjson.loads(orjson.dumps(seen.pod))
    pod["spec"]["containers"][0]["resources"]["claims"].reverse()
    assert any("expected ['nic/port'] first" in p for p in entry_problems(entry, replace(seen, pod=pod)))
    entry, seen = observed("40-own-environment", "Pod/forced")
    pod = orjson.loads(orjson.dumps(seen.pod))
    del pod["spec"]["containers"][0]["env"][0]
    assert any("environment" in problem for problem in entry_problems(entry, replace(seen, pod=pod)))
