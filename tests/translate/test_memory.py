"""What is remembered of pods is bounded in bytes, not only in number: anybody may send large ones."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from app.translate import Facts, conversion, translate, translate_update
from app.translate.claims import plan_claims
from app.translate.decision import ORIGINALS_ANNOTATION
from tests.translate.pods import DEFAULTS, GPU, MEM, admitted, asking, container, decide, pod, policy, warned

LONG = "x" * 1_000_000
USE_UUID = "nvidia.com/use-gpuuuid"


def large(number: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """Pods of which each has something else in one long place."""
    limits = {GPU: "1", MEM: str(5000 + number)}
    return {
        "env": lambda: pod(container(limits=limits, env=[{"name": "A", "value": f"{number}{LONG}"}])),
        "resource name": lambda: pod(container(limits={**limits, f"example.com/{number}{LONG}": "1"})),
        "quantity": lambda: pod(container(limits={**limits, "cpu": f"{number}{LONG}"})),
        "legacy quantity": lambda: pod(container(limits={**limits, MEM: f"{number}{LONG}"})),
        "container name": lambda: pod(container(f"{number}{LONG}", limits)),
        "annotation": lambda: asking(limits, {USE_UUID: f"GPU-{number}{LONG}"}),
        "no legacy key": lambda: pod(container(limits={f"example.com/{number}{LONG}": "1"})),
        "resources of the pod": lambda: pod(
            container(limits=limits), resources={"limits": {f"example.com/{number}{LONG}": "1"}}
        ),
        "annotation of any name": lambda: asking(limits, {"example.org/any": [f"{number}{LONG}"]}),
        "recorded originals": lambda: asking(
            limits,
            {
                ORIGINALS_ANNOTATION: json.dumps(
                    {"containers": {"main": {GPU: "1", **{f"x.y/{number}-{n}": "1" for n in range(10_000)}}}}
                )
            },
        ),
        "many containers": lambda: pod(
            *(container(f"c{n}", {**limits, f"example.com/{number}-{n}-{LONG[:3900]}": "1"}) for n in range(100))
        ),
        "no text": lambda: pod(container(limits={**limits, "cpu": [f"{number}{LONG}"]})),
    }


@pytest.mark.parametrize("place", large(0))
def test_large_pods_are_not_remembered(place: str) -> None:
    tracemalloc.start()
    for number in range(20):
        decide(large(number)[place]())
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4_000_000


def test_large_updates_are_not_remembered() -> None:
    old = pod(container(), annotations={ORIGINALS_ANNOTATION: f'{{"containers":{{"main":{{"{GPU}":"1"}}}}}}'})
    tracemalloc.start()
    for number in range(20):
        translate_update(pod(container(limits={GPU: "1", f"example.com/{number}{LONG}": "1"})), old, DEFAULTS)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4_000_000


def test_S5_recorded_originals_of_many_containers_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return plan_claims(*args)

    monkeypatch.setattr(conversion, "plan_claims", counted)
    names = [f"c{n}" for n in range(100)]
    record = json.dumps({"containers": {name: {GPU: "1"} for name in names}})
    translate(
        pod(*(container(n, {GPU: "1"}) for n in names), annotations={ORIGINALS_ANNOTATION: record}), Facts(), DEFAULTS
    )
    assert len(calls) <= 300


def test_S5_a_request_alone_that_came_back_too_large_is_removed() -> None:
    manifest = asking({GPU: "1", MEM: "8000"})
    again = admitted(manifest, decide(manifest))
    again["spec"]["containers"][0]["resources"]["requests"] = {MEM: "99999999999"}
    assert warned(decide(again)) == {"value-differs"}


def test_S5_a_fraction_that_came_back_is_named_as_it_is_written() -> None:
    manifest = asking({GPU: "1"})
    again = admitted(manifest, decide(manifest))
    again["spec"]["containers"][0]["resources"]["limits"] = {GPU: "0.5"}
    assert [note.message for note in decide(again).warnings] == [
        f'{GPU} came back as "0.5"; 1 was converted and stays (container main)'
    ]


def test_S45_a_card_beside_mig_devices_is_named_apart_in_the_summary() -> None:
    own = policy(bindings={"nvidia": {"driver": "gpu.nvidia.com"}})
    (template,) = decide(asking({GPU: 1, "nvidia.com/mig-1g.5gb": 4}), policy=own).templates
    assert template.summary.startswith("1 card, all memory; 4 MIG devices, 1g.5gb each (")


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
