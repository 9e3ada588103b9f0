"""What is remembered of pods is bounded in bytes, not only in number: anybody may send large ones."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from app.translate import Facts, translate
from tests.translate.pods import DEFAULTS, GPU, MEM, admitted, asking, container, decide, pod, warned

LONG = "x" * 1_000_000
USE_UUID = "nvidia.com/use-gpuuuid"


def large(number: int) -> dict[str, dict[str, Any]]:
    """Pods of which each has something else in one long place."""
    limits = {GPU: "1", MEM: str(5000 + number)}
    return {
        "env": pod(container(limits=limits, env=[{"name": "A", "value": f"{number}{LONG}"}])),
        "resource name": pod(container(limits={**limits, f"example.com/{number}{LONG}": "1"})),
        "quantity": pod(container(limits={**limits, "cpu": f"{number}{LONG}"})),
        "legacy quantity": pod(container(limits={**limits, MEM: f"{number}{LONG}"})),
        "container name": pod(container(f"{number}{LONG}", limits)),
        "annotation": asking(limits, {USE_UUID: f"GPU-{number}{LONG}"}),
        "no legacy key": pod(container(limits={f"example.com/{number}{LONG}": "1"})),
        "resources of the pod": pod(
            container(limits=limits), resources={"limits": {f"example.com/{number}{LONG}": "1"}}
        ),
        "annotation of any name": asking(limits, {"example.org/any": [f"{number}{LONG}"]}),
        "no text": pod(container(limits={**limits, "cpu": [f"{number}{LONG}"]})),
    }


@pytest.mark.parametrize("place", large(0))
def test_large_pods_are_not_remembered(place: str) -> None:
    tracemalloc.start()
    for number in range(30):
        decide(large(number)[place])
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 5_000_000


def test_what_is_nested_too_deep_is_left_to_the_api_server() -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    manifest = pod(container(limits={GPU: "1"}), affinity={"nodeAffinity": deep})
    (reason,) = translate(manifest, Facts(), DEFAULTS).reasons
    assert (reason.reason, reason.message) == ("invalid-request", "the pod is nested too deep to be read")


def test_S9_only_so_many_other_names_are_compared() -> None:
    names = {f"nvidia.com/gpus-{number}": "1" for number in range(20_000)}
    manifest = pod(container(limits={GPU: "1", **names}))
    decision = decide(manifest)
    assert warned(decision) == {"near-miss"}
    assert len(decision.warnings) == 100
    left = admitted(manifest, decision)["spec"]["containers"][0]["resources"]["limits"]
    assert left == names
