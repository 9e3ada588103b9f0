"""The explanation says what was read, which rule decided and what it becomes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from app.preview import preview, read
from app.preview.explain import print_explanation
from app.preview.explanation import Row
from app.preview.rules import RULES
from app.translate import Facts, Policy, TranslationSettings
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.preview.inputs import container, pod, template, workload
from tests.translate.pods import GPU, MEM, cluster

APP = Path(__file__).parents[2] / "app"
ASSUMED = Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
CASES = sorted((Path(__file__).parents[1] / "corpus" / "cases").glob("[0-9]*.yaml"))


def explained(*objects: object, text: str = "", **settings: object) -> str:
    policy = Policy(TranslationSettings.model_validate(settings))
    console = Console(file=io.StringIO(), width=200, no_color=True)
    print_explanation(preview([read(text or yaml.safe_dump_all(objects))], ASSUMED, policy), console)
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
    assert "main nvidia.com/gpu: 0 S34 nothing is asked for zero devices: the keys go no device" in text


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


def rows_of(manifest: Mapping[str, Any], facts: Facts = ASSUMED, **settings: Any) -> list[Row]:
    policy = Policy(TranslationSettings.model_validate(settings))
    (item,) = preview([read(yaml.safe_dump(manifest))], facts, policy).items
    return list(item.explanation)


def asking(limits: Mapping[str, Any], *more: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return pod(spec={"containers": [container(limits=limits), *more], **spec})


def rules(limits: Mapping[str, Any], facts: Facts = ASSUMED, **settings: Any) -> list[str]:
    return [row.rule for row in rows_of(asking(limits), facts, **settings)]


def row(rule: str, rows: Iterable[Row]) -> Row:
    (found,) = [one for one in rows if one.rule == rule]
    return found


SHARED = {"nvidia": {"shared": "gpu.nvidia.com-shares"}}


def test_S44_what_a_count_means_at_a_site_is_no_whole_card() -> None:
    (mig,) = rows_of(asking({GPU: 1}), nvidia={"count": "mig"})
    assert (mig.rule, mig.setting) == ("S44", ("nvidia.count", "mig"))
    assert mig.becomes[0] == "1 MIG device: all memory"
    (share,) = rows_of(asking({GPU: 1}), nvidia={"count": "share"}, bindings=SHARED)
    assert (share.rule, share.setting) == ("S44", ("nvidia.count", "share"))
    assert share.becomes[0] == "1 share"
    assert rules({MEM: 8000}, nvidia={"count": "share"}, bindings=SHARED) == ["S33", "S44", "S40"]


@pytest.mark.parametrize(
    ("limits", "settings", "named"),
    [
        ({GPU: 1}, {"defaultMemory": 4000}, ["defaultMemory"]),
        ({GPU: 1, "nvidia.com/gpucores": 20}, {"defaultMemory": 4000, "defaultCores": 30}, ["defaultMemory"]),
        ({GPU: 1, MEM: 1000}, {"defaultCores": 30, "defaultMemory": 4000}, ["defaultCores"]),
        ({GPU: 1, MEM: 1000}, {"memoryFactor": 2, "defaultCores": 30}, ["memoryFactor", "defaultCores"]),
        ({GPU: 1, "nvidia.com/gpumem-percentage": 50}, {"memoryFactor": 2, "defaultMemory": 4000}, []),
    ],
)
def test_S12_the_setting_that_gives_a_number_is_named(
    limits: Mapping[str, Any], settings: Mapping[str, Any], named: list[str]
) -> None:
    found = [one for one in rows_of(asking(limits), **settings) if one.rule == "S12"]
    assert [one.setting and one.setting[0] for one in found] == named
    assert [one.setting and one.setting[1] for one in found] == [settings[name] for name in named]


def test_S12_cores_that_a_driver_does_not_have_come_from_no_setting() -> None:
    bindings = {"nvidia": {"driver": "gpu.nvidia.com-memory"}}
    assert rules({GPU: 1, MEM: 1000}, defaultCores=30, bindings=bindings) == ["S22"]


def test_S35_a_container_with_only_a_priority_is_explained() -> None:
    other = {"name": "other", "resources": {"limits": {"nvidia.com/priority": 1}}}
    rows = rows_of(asking({GPU: 1}, other))
    assert [(one.container, one.rule) for one in rows] == [("main", "S20"), ("main", "S36"), ("other", "S35")]
    assert (rows[2].read, rows[2].becomes) == (("nvidia.com/priority: 1",), ("env CUDA_TASK_PRIORITY=1",))


def test_S4_S7_S68_what_changes_in_the_pod_is_explained() -> None:
    options = {"runtimeClassName": "nvidia", "hideFromOthers": True, "visibleDevices": "void"}
    options |= {"gpuCorePolicy": "force", "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    plain = {"name": "plain", "image": "example.org/app:1"}
    rows = rows_of(asking({GPU: 1}, plain, schedulerName="hami-scheduler", nodeName="n1"), options=options)
    assert [(one.container, one.rule, one.setting and one.setting[0]) for one in rows[2:]] == [
        ("main", "S68", "options.gpuCorePolicy"),
        ("main", "S68", "options.visibleDevices"),
        ("plain", "S68", "options.hideFromOthers"),
        (None, "S4", "schedulers.target"),
        (None, "S7", "nodeName"),
        (None, "S68", "options.runtimeClassName"),
        (None, "S68", "options.tolerations"),
    ]
    assert rows[4].becomes == ("env NVIDIA_VISIBLE_DEVICES=none",)
    assert rows[5].read == ("schedulerName: hami-scheduler",)
    assert rows[7].becomes == ("runtimeClassName: nvidia",)


def test_S4_a_scheduler_that_changes_although_the_keys_stay_is_explained() -> None:
    (only,) = rows_of(asking({"nvidia.com/gpu.shared": 1}, schedulerName="hami-scheduler"))
    assert (only.rule, only.becomes) == ("S4", ("schedulerName: default-scheduler",))


def test_S45_a_claim_for_each_driver_is_explained_and_reads_its_own_keys() -> None:
    rows = rows_of(asking({GPU: 1, "nvidia.com/mig-1g.5gb": 1, "nvidia.com/gpu.shared": 1}))
    assert [one.rule for one in rows] == ["S20", "S45", "S36", "S43", "S45"]
    assert row("S20", rows).read == ("nvidia.com/gpu: 1",)
    assert row("S43", rows).read == ("nvidia.com/mig-1g.5gb: 1",)
    assert "S45" not in rules({"nvidia.com/mig-1g.5gb": 1, "nvidia.com/mig-2g.10gb": 1})


def test_S37_several_mig_devices_may_be_of_one_card() -> None:
    assert rules({"nvidia.com/mig-1g.20gb": 2}) == ["S43"]
    assert "S37" in rules({GPU: 2})


def test_S53_a_numa_node_is_promised_only_where_it_is_published() -> None:
    manifest = {**asking({GPU: 2}), "metadata": {"name": "p", "annotations": {"nvidia.com/numa-bind": "true"}}}
    assert "S53" not in [one.rule for one in rows_of(manifest)]
    bindings = {"nvidia": {"driver": "gpu.nvidia.com"}}
    numa = row("S53", rows_of(manifest, cluster("deviceclasses-nvidia", "nvidia-h100-node"), bindings=bindings))
    assert numa.read == ("nvidia.com/numa-bind: true",)


def test_S52_the_mode_that_decides_is_explained() -> None:
    manifest = {**asking({GPU: 1}), "metadata": {"name": "p", "annotations": {"nvidia.com/vgpu-mode": "hami-core"}}}
    assert row("S52", rows_of(manifest)).read == ("nvidia.com/vgpu-mode: hami-core",)


def test_S65_an_init_container_is_explained_by_its_own_keys() -> None:
    first = container("warm", {GPU: 1, MEM: 1000})
    rows = rows_of(asking({GPU: 1, MEM: 8000, "nvidia.com/gpucores": 0}, initContainers=[first]))
    assert [(one.container, one.rule) for one in rows] == [
        ("warm", "S22"), ("warm", "S36"), ("warm", "S65"), ("main", "S29"), ("main", "S36"),
    ]  # fmt: skip
    assert rows[0].becomes == ("1 card: 8000 MiB, cores 0",)


def test_S5_a_later_round_keeps_its_claim_and_says_so() -> None:
    (item,) = preview([read(yaml.safe_dump(asking({GPU: 1})))], ASSUMED, Policy()).items
    assert item.pod is not None
    again = yaml.safe_load(yaml.safe_dump(item.pod))
    again["spec"]["containers"][0]["resources"]["limits"] = {GPU: 1}
    (kept,) = rows_of(again)
    assert (kept.rule, kept.read, kept.becomes) == ("S5", ("nvidia.com/gpu: 1",), ("nothing more than it has",))


def test_S34_zero_beside_a_mig_device_is_explained_too() -> None:
    rows = rows_of(asking({GPU: 0, "nvidia.com/mig-1g.5gb": 1}))
    assert [(one.rule, one.read) for one in rows] == [
        ("S43", ("nvidia.com/mig-1g.5gb: 1",)),
        ("S34", ("nvidia.com/gpu: 0",)),
    ]
