"""Each hazard is found where it is, and not where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.scan.hazards import CHECKS
from app.check.scan.render_json import to_json
from tests.scan.clusters import GPU, SHARE, hazard, labelled, node, pod, scanned, webhook
from tests.scan.hazard_cases import CASES, nvidia, quota


@pytest.mark.parametrize(("code", "objects", "devices", "found"), CASES)
def test_a_hazard_names_its_objects_and_what_was_read(
    code: str, objects: tuple[Any, ...], devices: tuple[Any, ...], found: list[tuple[str, str]]
) -> None:
    assert sorted(hazard(scanned(*objects, devices=devices), code)) == sorted(found)


@pytest.mark.parametrize(
    ("settings", "device_class", "driver"),
    [
        ({"nvidia": {"count": "mig"}}, "mig.nvidia.com", "gpu.nvidia.com"),
        (
            {"nvidia": {"count": "share"}, "bindings": {"nvidia": {"shared": "gpu.nvidia.com-shares"}}},
            "gpu.nvidia.com",
            "gpu.nvidia.com",
        ),
    ],
)
def test_S44_what_the_count_means_decides_about_class_driver_and_quota(
    settings: dict[str, Any], device_class: str, driver: str
) -> None:
    report = scanned(pod("p", {GPU: 1}), quota("q", {f"requests.{GPU}": "4"}), **settings)
    assert [name for name, _ in hazard(report, "device-class-missing")] == [f"DeviceClass/{device_class}"]
    assert [name for name, _ in hazard(report, "no-devices")] == [f"driver {driver}"]
    ((_, becomes),) = hazard(report, "quota-stops-counting")
    assert becomes.endswith(f"→ {device_class}.deviceclass.resource.k8s.io/devices: 4")


def test_before_1_36_the_gates_are_named() -> None:
    assert hazard(scanned(version=(1, 35)), "old-kubernetes") == [("API server", "1.35")]
    assert hazard(scanned(version=(1, 36)), "old-kubernetes") == []


def test_settings_that_agree_with_hami_are_no_hazard() -> None:
    same = scanned(nvidia(memoryFactor=2), memoryFactor=2)
    assert hazard(same, "settings-differ") == []


def test_another_webhook_that_never_sees_gpu_namespaces_is_left_out() -> None:
    elsewhere = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["web"]}]}
    here = {"matchLabels": {"team": "ml"}, "matchExpressions": [{"key": "mesh", "operator": "DoesNotExist"}]}
    report = scanned(
        labelled("team", {"team": "ml"}),
        pod("p", SHARE),
        webhook("away", "a.example.org", selector=elsewhere),
        webhook("here", "b.example.org", selector=here),
    )
    assert hazard(report, "webhook-before") == [("MutatingWebhookConfiguration/here", "b.example.org")]


@pytest.mark.parametrize("check", [check for check in CHECKS if check.reads], ids=lambda check: check.code)
def test_a_hazard_that_cannot_be_looked_for_is_said_to_be_unknown(check: Any) -> None:
    for part in check.reads:
        if part != "version":
            report = scanned(pod("p", SHARE), unread=[part])
            assert check.code in {one.check.code for one in report.unknown}
            assert check.code in " ".join(to_json(report)["unread"][0]["affects"])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_every_hazard_has_a_case_and_tells_what_to_do(check: Any) -> None:
    assert any(code == check.code and found for code, _, _, found in CASES) or check.code == "old-kubernetes"
    assert check.sentence.endswith(".")
    assert check.fix.endswith(".")


def test_the_severest_hazards_come_first_and_long_lists_are_counted() -> None:
    report = scanned(*(node(f"old-{number:02}", gpu="8") for number in range(30)), node("gpu-1", gpu="8"))
    shown = to_json(report)
    assert [(one["code"], one["severity"]) for one in shown["hazards"]] == [
        ("cards-offered-twice", "blocks"),
        ("nodes-without-dra", "informs"),
    ]
    assert (shown["hazards"][1]["count"], len(shown["hazards"][1]["objects"])) == (30, 20)
    assert shown["summary"]["hazards"] == {"blocks": 1, "warns": 0, "informs": 1}
