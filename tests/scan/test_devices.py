"""What is asked together, what is offered, and what is free."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.scan.render_json import to_json
from tests.cluster.testbed.hardware import H100_NODE, MIG_NODE, NVIDIA_CLASSES, load
from tests.scan.clusters import (
    CORES,
    GPU,
    HAMI,
    MEMORY,
    PERCENT,
    READY,
    SHARE,
    cards,
    claim,
    controller,
    device_class,
    hazard,
    owner,
    pod,
    scanned,
)


def devices(*objects: Any, **options: Any) -> dict[str, Any]:
    """The only row."""
    (row,) = to_json(scanned(*objects, **options))["devices"]
    return dict(row)


def test_sums_of_all_pods_that_are_asked_for() -> None:
    row = devices(
        controller("Deployment", "parts", {GPU: 2, MEMORY: 4000, CORES: 30}, replicas=3),
        controller("StatefulSet", "whole", {GPU: 2}, replicas=2),
        pod("half", {GPU: 1, PERCENT: 50}),
        controller("Deployment", "denied", {GPU: 99}, replicas=10),
    )
    assert (row["driver"], row["deviceClass"], row["migProfile"]) == (HAMI, HAMI, None)
    assert row["asked"] == {
        "pods": 6, "devices": 11, "wholeDevices": 4, "memoryMiB": 24000, "memoryPercentage": 50, "cores": 180,
    }  # fmt: skip


def test_offers_and_what_claims_have_taken_of_them() -> None:
    row = devices(
        claim("whole", "card-0"),
        claim("part", "card-1", {"memory": "8000Mi", "cores": "30"}),
        devices=(device_class(), cards(4, 40960)),
    )
    assert row["offered"] == {"devices": 4, "untouchedDevices": 4, "memoryMiB": 163840, "cores": 400}
    assert row["free"] == {"devices": 3, "untouchedDevices": 2, "memoryMiB": 114880, "cores": 270}


def test_pods_that_hold_devices_are_not_asked_again() -> None:
    marked = {"labels": {"hami.io/dra-webhook-converted": "true"}}
    above = owner("Deployment", "web")
    row = devices(
        controller("Deployment", "web", SHARE, replicas=3),
        pod("bound", above=above, metadata=marked, nodeName="gpu-1"),
        pod("waits", above=above, metadata=marked),
    )
    assert (row["asked"]["pods"], row["asked"]["memoryMiB"]) == (2, 16000)


@pytest.mark.parametrize(
    ("limits", "replicas", "short"),
    [
        ({GPU: 1}, 4, []),
        ({GPU: 1}, 5, ["5 whole devices asked, 4 free"]),
        ({GPU: 1, MEMORY: 40960}, 4, []),
        (
            {GPU: 1, MEMORY: 40960},
            5,
            ["204,800 MiB asked in parts, 163,840 MiB free beside whole devices"],
        ),
        ({GPU: 1, PERCENT: 50}, 8, []),
        ({GPU: 1, PERCENT: 50}, 9, ["184,320 MiB asked in parts, 163,840 MiB free beside whole devices"]),
        ({GPU: 1, MEMORY: 1, CORES: 50}, 8, []),
        ({GPU: 1, MEMORY: 1, CORES: 50}, 9, ["450 % cores asked in parts, 400 % free beside whole devices"]),
    ],
)
def test_sums_that_cannot_fit_are_said(limits: dict[str, int], replicas: int, short: list[str]) -> None:
    report = scanned(controller("Deployment", "web", limits, replicas=replicas))
    assert to_json(report)["devices"][0]["short"] == short
    assert [detail for _, detail in hazard(report, "not-enough")] == short


def test_whole_devices_take_at_least_the_smallest_cards() -> None:
    report = scanned(
        controller("Deployment", "whole", {GPU: 1}, replicas=1),
        controller("Deployment", "part", {GPU: 1, MEMORY: 20000}, replicas=2),
        devices=(device_class(), cards(1, 16384, on="a"), cards(1, 40960, on="b")),
    )
    assert to_json(report)["devices"][0]["short"] == []


def test_S41_counted_shares_are_no_whole_devices() -> None:
    shares = {"nvidia": {"shared": "gpu.nvidia.com-shares"}}
    report = scanned(pod("p", {f"{GPU}.shared": 2}), bindings=shares, as_if_installed=True)
    (asked,) = (row["asked"] for row in to_json(report)["devices"] if row["driver"] == "gpu.nvidia.com")
    assert (asked["devices"], asked["wholeDevices"]) == (2, 0)


@pytest.mark.parametrize(
    ("taken", "short"), [(1, []), (2, ["40,958 MiB asked in parts, 40,957 MiB free beside whole devices"])]
)
def test_percentages_are_rounded_down_for_each_card(taken: int, short: list[str]) -> None:
    report = scanned(
        controller("Deployment", "w", {GPU: 1, PERCENT: 50}, replicas=2),
        claim("held", "card-0", {"memory": f"{taken}Mi", "cores": "0"}),
        devices=(device_class(), cards(1, 40959)),
    )
    assert to_json(report)["devices"][0]["short"] == short


def test_a_small_card_that_somebody_has_a_part_of_still_counts_as_the_smallest() -> None:
    report = scanned(
        controller("Deployment", "w", {GPU: 1, PERCENT: 50}, replicas=3),
        claim("held", "card-0", {"memory": "1000Mi", "cores": "0"}, on="small"),
        devices=(device_class(), cards(1, 10000, on="small"), cards(1, 40000, on="large")),
    )
    (row,) = to_json(report)["devices"]
    assert (row["free"]["memoryMiB"], row["short"]) == (49000, [])


def test_a_request_that_no_device_can_serve_blocks() -> None:
    report = scanned(pod("fits", {GPU: 1, MEMORY: 40960}), pod("large", {GPU: 1, MEMORY: 40961}))
    ((object_, detail),) = hazard(report, "matches-nothing")
    assert object_ == "team/Pod/large"
    assert detail.startswith("container main: gpu-1x-40961mi-0c-")
    assert not report.ready


@pytest.mark.parametrize("version", [(1, 35), (1, 36)])
@pytest.mark.parametrize("limits", [{GPU: 8, MEMORY: 8000}, {GPU: 6, PERCENT: 50}, {GPU: 2, MEMORY: 50000}])
def test_S37_requests_for_several_cards_match_nothing_on_every_version(
    limits: dict[str, int], version: tuple[int, int]
) -> None:
    report = scanned(pod("p", limits), version=version)
    assert (report.ready, len(hazard(report, "matches-nothing"))) == (False, 1)


@pytest.mark.parametrize("version", [(1, 35), (1, 36)])
def test_S37_as_many_cards_as_a_node_has_match_on_every_version(version: tuple[int, int]) -> None:
    assert scanned(pod("p", {GPU: 4, CORES: 10}), pod("q", {GPU: 2, PERCENT: 50}), version=version).ready


def test_more_cards_than_any_node_has_match_nothing() -> None:
    apart = (device_class(), cards(2, on="a"), cards(2, on="b"))
    assert hazard(scanned(pod("p", {GPU: 4}), devices=apart), "matches-nothing") != []
    assert hazard(scanned(pod("p", {GPU: 4}), devices=READY), "matches-nothing") == []


@pytest.mark.parametrize(
    ("unread", "offered", "free"), [("slices", False, False), ("claims", True, False), ("classes", True, True)]
)
def test_what_may_not_be_read_is_unknown_and_never_nothing(unread: str, offered: bool, free: bool) -> None:
    row = devices(pod("p", SHARE), unread=[unread])
    assert (row["offered"] is not None, row["free"] is not None) == (offered, free)


def test_mig_devices_are_counted_by_profile() -> None:
    machines = load(MIG_NODE, NVIDIA_CLASSES)
    rows = to_json(scanned(controller("Deployment", "w", {"nvidia.com/mig-1g.10gb": 1}, replicas=5), devices=machines))
    (row,) = [one for one in rows["devices"] if one["migProfile"] == "1g.10gb"]
    assert (row["driver"], row["deviceClass"]) == ("gpu.nvidia.com", "mig.nvidia.com")
    assert row["asked"]["devices"] == 5
    assert (row["offered"]["devices"], row["offered"]["cores"]) == (1, None)
    assert row["short"] == ["5 devices asked, 1 free"]


def test_cards_that_are_not_shared_are_counted_as_devices() -> None:
    machines = load(H100_NODE, NVIDIA_CLASSES)
    objects = (controller("Deployment", "w", {GPU: 1, MEMORY: 8000}, replicas=9),)
    nvidia = {"nvidia": {"driver": "gpu.nvidia.com"}}
    (row,) = to_json(scanned(*objects, devices=machines, bindings=nvidia))["devices"]
    assert (row["asked"]["devices"], row["offered"]["devices"]) == (9, 8)
    assert row["short"] == ["9 devices asked, 8 free"]
