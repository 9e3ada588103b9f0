"""The explanation says what was read, which rule decided and what it becomes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from app.preview import preview, read
from app.preview.explain import print_explanation
from app.preview.rules import RULES
from app.translate import Facts, Policy, TranslationSettings
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.preview.inputs import container, pod, template, workload

APP = Path(__file__).parents[2] / "app"
CASES = sorted((Path(__file__).parents[1] / "corpus" / "cases").glob("[0-9]*.yaml"))


def explained(*objects: object, text: str = "", **settings: object) -> str:
    policy = Policy(TranslationSettings.model_validate(settings))
    console = Console(file=io.StringIO(), width=200, no_color=True)
    facts = Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    print_explanation(preview([read(text or yaml.safe_dump_all(objects))], facts, policy), console)
    assert isinstance(console.file, io.StringIO)
    return re.sub(r" +", " ", console.file.getvalue())


def test_every_rule_of_a_claim_has_a_row() -> None:
    text = explained(pod())
    assert "converted Pod/p" in text
    assert "main nvidia.com/gpu: 1 S22 a memory limit shares the card" in text
    assert "nvidia.com/gpumem: 8000 S36 cores are always written" in text
    assert "1 card: 8000 MiB, cores 0" in text
    assert "claim main-gpu from gpu-1x-8000mi-0c-" in text
    assert text.rstrip().endswith("1 converted, 0 untouched, 0 denied, 0 invalid")


def test_the_annotation_that_decides_is_shown() -> None:
    manifest = workload()
    manifest["spec"]["template"] = template(container(), annotations={"nvidia.com/use-gputype": "A100"})
    assert "nvidia.com/use-gputype: A100 S51 only products that hold such a text" in explained(manifest)


def test_the_setting_that_decides_is_shown_with_its_value() -> None:
    text = explained(pod(spec={"containers": [container(limits={"nvidia.com/gpumem": 8000})]}), default_gpu_num=2)
    assert "S33 no count is given, so the default counts (defaultGPUNum: 2)" in text
    assert "2 cards: 8000 MiB" in text


def test_refusals_and_warnings_are_shown_with_their_rule() -> None:
    text = explained(
        pod(spec={"containers": [container(limits={"nvidia.com/gpu": 1, "nvidia.com/gpumem": "16Gi"})]}),
        pod(spec={"containers": [container(limits={"nvidia.com/gpu": 1, "nvidia.com/gpucores": 150})]}),
        pod(spec={"containers": [container(limits={"nvidia.com/gpu": 0})]}),
    )
    assert 'denied Pod/p\n because nvidia.com/gpumem is "16Gi" in container main: the unit is MiB, write 16384' in text
    assert "warning (S14): nvidia.com/gpucores is above 100" in text
    assert "the keys are removed and no device is claimed (S34)" in text


def test_an_unreadable_document_is_shown_with_its_place() -> None:
    assert "invalid document 1\n because line 2, column 1: the key 'a' is there twice" in explained(text="a: 1\na: 2\n")


def test_markup_in_a_manifest_is_text() -> None:
    assert "Pod/[red]p[/red]" in explained(pod("[red]p[/red]"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_case_of_the_corpus_can_be_explained(case: Path) -> None:
    assert explained(text=case.read_text())


def test_every_rule_that_the_translation_names_is_explained() -> None:
    """Rules stand in the code of the translation as ``"S22"``; those of reasons have their own sentence."""
    sources = [path.read_text() for path in (APP / "translate").glob("*.py") if path.name != "reasons.py"]
    named = {rule for source in sources for rule in re.findall(r'"(S\d+)"', source)}
    assert named <= set(RULES)
    settings = TranslationSettings().model_dump(mode="json", by_alias=True)
    for rule in RULES.values():
        value: object = settings
        for part in (rule.setting or "").split(".") if rule.setting else ():
            assert isinstance(value, dict)
            value = value[part]
