"""What the API server drops is told with the feature gate behind it, in the same words everywhere."""

from __future__ import annotations

import pytest

from app.translate.feature_gates import explain, field_of


def test_the_explanation_names_path_and_gate() -> None:
    paths = ["devices.requests[0].exactly.capacity", "devices.requests[1].firstAvailable"]
    assert explain(paths) == (
        "the API server drops devices.requests[0].exactly.capacity, devices.requests[1].firstAvailable from claims: "
        "switch on the feature gate DRAConsumableCapacity (on by default from 1.36) and "
        "DRAPrioritizedList (on by default from 1.34) in kube-apiserver, kube-scheduler and kubelet, or upgrade"
    )


def test_a_gate_is_named_once_for_two_fields() -> None:
    assert explain(["capacity", "distinctAttribute"]).count("DRAConsumableCapacity") == 1


def test_the_explanation_of_a_field_without_a_gate_asks_for_a_newer_version() -> None:
    assert explain(["devices.requests[0].exactly.hologram"]).endswith("a newer Kubernetes version is needed")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("devices.requests[0].exactly.capacity", "capacity"),
        ("devices.requests[1].firstAvailable[0]", "firstAvailable"),
        ("capacity", "capacity"),
    ],
)
def test_the_field_of_a_path_is_its_last_name(path: str, field: str) -> None:
    assert field_of(path) == field
