"""``check`` on control planes that lack something. A whole installation is checked in ``tests/chart/test_check.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.chart.check_kit import Answer, run_check
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, Hardware

JSON = Any
GATE = "DRAConsumableCapacity"
OLD = "1.35.4"


def claim_fields(answer: Answer) -> tuple[str, str, str]:
    """State, finding and advice of that line."""
    line = answer.lines["claim-fields"]
    return line["state"], line["found"], line["fix"]


def assert_two_fields_are_dropped(answer: Answer) -> None:
    state, found, fix = claim_fields(answer)
    assert (state, found) == ("fail", "the API server drops capacity, distinctAttribute from claims")
    assert fix.startswith(f"switch on the feature gate {GATE} (on by default from 1.36) in kube-apiserver, ")


def test_without_an_installation_two_lines_fail_and_say_so(start_control_plane: Callable[..., ControlPlane]) -> None:
    control_plane = start_control_plane()  # nothing is there, not even a namespace that other tests opted in
    Hardware(control_plane.api).use(T4_NODE, HAMI_CLASSES)
    answer = run_check(control_plane.kubeconfig)
    assert answer.code == 1
    assert answer.states("fail") == {"replicas", "webhook"}, answer.text
    assert answer.states("ok") >= {"api-server", "claim-fields", "device-classes", "resource-slices"}


def test_a_gate_that_is_switched_off_is_named(start_control_plane: Callable[..., ControlPlane]) -> None:
    control_plane = start_control_plane(feature_gates={GATE: False})
    Hardware(control_plane.api).use(T4_NODE, HAMI_CLASSES)
    assert_two_fields_are_dropped(run_check(control_plane.kubeconfig))


@pytest.mark.versions
def test_a_1_35_as_it_comes_drops_what_shares_need(start_control_plane: Callable[..., ControlPlane]) -> None:
    assert_two_fields_are_dropped(run_check(start_control_plane(OLD).kubeconfig))


@pytest.mark.versions
def test_a_1_35_with_the_gate_keeps_it(start_control_plane: Callable[..., ControlPlane]) -> None:
    answer = run_check(start_control_plane(OLD, feature_gates={GATE: True}).kubeconfig)
    assert claim_fields(answer)[0] == "ok"
