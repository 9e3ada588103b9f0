"""What a scan keeps of a pod is enough to decide about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from app.check.scan.shapes import Shapes
from app.preview.workloads import find_pods, manifests
from app.translate import Facts, Policy, Reason, TranslationSettings, translate
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.corpus.cases import Case, load
from tests.scan.clusters import SHARE, container, pod

FACTS = Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)


def pods_of(case: Case) -> Iterator[Mapping[str, Any]]:
    for document in yaml.safe_load_all(case.file.read_text()):
        for _, manifest in manifests(document):
            if isinstance(manifest, dict):
                yield from (found.pod for found in find_pods(manifest))


@pytest.mark.parametrize("case", [case for case in load() if not case.needs], ids=lambda case: case.id)
def test_every_pod_of_the_corpus_is_decided_as_the_webhook_decides_it(case: Case) -> None:
    policy = Policy(TranslationSettings.model_validate(case.settings))
    shapes = Shapes(policy)
    for one in pods_of(case):
        decision, shape = translate(one, FACTS, policy), shapes.of_template(one)
        if shape is None:
            assert (decision.reason, decision.warnings) == (Reason.NO_LEGACY_KEYS, ())
        else:
            assert translate(shape.pod, FACTS, Policy(policy.settings)) == decision


def test_equal_pods_share_one_shape() -> None:
    shapes = Shapes(Policy())
    first = shapes.of_pod(pod("a", SHARE, nodeName="gpu-1"))
    assert first is not None
    assert shapes.of_pod(pod("b", SHARE, nodeName="gpu-2")) is first
    assert shapes.of_pod(pod("c", SHARE, containers=[container(SHARE, name="other")])) is not first


def test_pods_without_devices_keep_nothing() -> None:
    shapes = Shapes(Policy())
    assert shapes.of_pod(pod("web", {"cpu": 1}, volumes=[{"name": "d", "hostPath": {"path": "/var/log"}}])) is None
