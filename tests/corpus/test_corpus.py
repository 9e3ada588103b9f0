"""Every case of the corpus through the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner

from app.cli import app
from app.preview import read
from app.preview.workloads import at, find_pods, manifests, name_of
from app.translate import Facts, Policy, TranslationSettings, quantity, translate
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.corpus.cases import Case, Entry, load
from tests.corpus.facts import Observed, entry_problems

CASES = load()
LATER = {"12-ascend": "needs a driver profile of another vendor"}
NOW = [case for case in CASES if case.id not in LATER]


@dataclass(frozen=True)
class Seen:
    """One item of a report, with the object and the pod it was made from."""

    item: Mapping[str, Any]
    manifest: Mapping[str, Any]
    observed: Observed


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Seen]]:
    """What the preview says about each case, its settings given as a settings file."""
    folder = tmp_path_factory.mktemp("settings")
    return {case.id: list(_preview(case, folder)) for case in NOW}


def _preview(case: Case, folder: Path) -> Iterator[Seen]:
    config = folder / f"{case.id}.yaml"
    config.write_text(yaml.safe_dump(dict(case.settings)))
    run = CliRunner().invoke(app, ["preview", "-o", "json", "--config", str(config), str(case.file)])
    assert run.exit_code in (0, 1), run.stderr
    report = orjson.loads(run.stdout)
    objects = [m for document in read(case.file.read_bytes()).documents for _, m in manifests(document.value)]
    for item in report["items"]:
        source = item["source"]
        manifest = next(
            m
            for m in objects
            if m["kind"] == source["kind"]
            and m["metadata"].get("name") == source["name"]
            and m["metadata"].get("generateName") == source["generateName"]
        )
        pods = [found.pod for found in find_pods(manifest)]
        paths = [
            one["source"]["podPath"]
            for one in report["items"]
            if one["source"] == {**source, "podPath": one["source"]["podPath"]}
        ]
        original = pods[paths.index(source["podPath"])] if pods else {}
        names = case.settings.get("resourceNames", {})
        observed = Observed(
            outcome=item["outcome"],
            original=original,
            pod=item["pod"],
            templates=item["templates"],
            messages=[reason["message"] for reason in item["reasons"]],
            warnings=item["warnings"],
            renamed=frozenset(names.values()),
        )
        yield Seen(item, manifest, observed)


def _concerns(entry: Entry, item: Mapping[str, Any]) -> bool:
    source = item["source"]
    name = source["name"] or source["generateName"]
    if source["kind"] != entry.kind or (name != entry.name and not _generated(name, entry.name)):
        return False
    if entry.template is None:
        return True
    pattern = re.escape(entry.template).replace(re.escape("[*]"), r"\[\d+\]")
    return re.fullmatch(pattern, source["podPath"]) is not None


def _generated(name: str, expected: str) -> bool:
    return expected.endswith("*") and name.startswith(expected.removesuffix("*"))


def test_only_the_cases_of_other_vendors_wait() -> None:
    assert set(LATER) == {case.id for case in CASES if case.needs}
    assert len(NOW) == len(CASES) - 1 == 39


@pytest.mark.parametrize(
    ("case", "entry"), [pytest.param(c, e, id=f"{c.id}-{e.title}".replace(" ", "-")) for c in NOW for e in c.entries]
)
def test_the_facts_of_each_case_hold(case: Case, entry: Entry, seen: Mapping[str, list[Seen]]) -> None:
    chosen = [one for one in seen[case.id] if _concerns(entry, one.item)]
    assert chosen, "not in the report"
    assert [problem for one in chosen for problem in entry_problems(entry, one.observed)] == []
    for one in chosen:
        if entry.object_stays:
            assert one.item["object"] == one.manifest
            assert bool(one.item["patch"]) == (entry.outcome == "converted")
        for field in entry.kept.get("object", ()):
            where = field if field in one.manifest else ("metadata" if field == "labels" else "spec", field)
            path = (where,) if isinstance(where, str) else where
            assert at(one.item["object"], path) == at(one.manifest, path) is not None


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
def test_objects_that_no_fact_speaks_of_stay_exactly_as_they_are(case: Case, seen: Mapping[str, list[Seen]]) -> None:
    for one in seen[case.id]:
        if not any(_concerns(entry, one.item) for entry in case.entries):
            assert one.item["outcome"] == "untouched", name_of(one.manifest)
            assert one.item["object"] == one.manifest
            assert one.item["patch"] == []


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
def test_exclusive_means_that_nobody_else_gets_on_the_card(case: Case, seen: Mapping[str, list[Seen]]) -> None:
    """A card with its memory limited has room for a neighbour that asks no cores (S30)."""
    for entry in case.entries:
        for one in (one for one in seen[case.id] if _concerns(entry, one.item)):
            rows = {row["name"]: row["claims"] for row in one.item["containers"]}
            for claim in entry.claims or ():
                if claim.get("exclusive"):
                    assert [row["exclusive"] for row in rows[claim["container"]]] == [claim.get("memory") == "all"]


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
def test_the_api_servers_spelling_gives_the_same_claims(case: Case) -> None:
    """It copies limits to requests and prints 8000 as 8k before a webhook is called."""
    policy = Policy(TranslationSettings.model_validate(dict(case.settings)))
    facts = Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    for document in read(case.file.read_bytes()).documents:
        for _, manifest in manifests(document.value):
            for found in find_pods(manifest):
                as_written = translate(found.pod, facts, policy)
                as_sent = translate(_as_sent(found.pod), facts, policy)
                assert as_sent.outcome == as_written.outcome
                assert as_sent.templates == as_written.templates
                assert [(c.container, c.template) for c in as_sent.claims] == [
                    (c.container, c.template) for c in as_written.claims
                ]


def _as_sent(pod: Mapping[str, Any]) -> dict[str, Any]:
    sent: dict[str, Any] = orjson.loads(orjson.dumps(pod))
    for group in ("initContainers", "containers"):
        for container in sent["spec"].get(group, []):
            resources = container.get("resources", {})
            for part in ("limits", "requests"):
                if part in resources:
                    resources[part] = {key: quantity.canonical(value) for key, value in resources[part].items()}
            if "limits" in resources:
                resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    return sent
