"""Control planes of an old version, and of two versions: what the rules for them are built on (S37, section 7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, Hardware
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import claim_template, claiming

OLD = "1.35.4"
HAMI = "hami-core-gpu.project-hami.io"
CAPACITY = {"memory": "4000Mi", "cores": "0"}
CONSUMABLE = {"DRAConsumableCapacity": True}

pytestmark = pytest.mark.versions


def with_cards(control_plane: ControlPlane) -> Namespace:
    """A namespace of a control plane that sees the node of four T4."""
    Hardware(control_plane.api).use(T4_NODE, HAMI_CLASSES)
    return Namespace(control_plane)


def test_an_older_scheduler_gives_one_card_twice(start_control_plane: Callable[..., ControlPlane]) -> None:
    mixed = start_control_plane(scheduler=OLD, scheduler_feature_gates=CONSUMABLE)
    namespace = with_cards(mixed)
    namespace.create(claim_template("two", HAMI, CAPACITY, count=2))
    namespace.create(claiming("a", "two"))
    assert len(set(namespace.allocation("a").cards)) == 1
    mixed.stop_component("kube-scheduler")
    mixed.start_component("kube-scheduler", mixed.version)
    namespace.create(claiming("b", "two"))
    assert len(set(namespace.allocation("b").cards)) == 2


def test_an_old_api_server_without_its_gate_drops_the_amounts_unseen(
    start_control_plane: Callable[..., ControlPlane],
) -> None:
    namespace = with_cards(start_control_plane(OLD))
    stored = namespace.create(claim_template("share", HAMI, CAPACITY))
    assert "capacity" not in stored["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert namespace.api.warnings == []


def test_an_old_control_plane_with_its_gate_shares_cards(start_control_plane: Callable[..., ControlPlane]) -> None:
    namespace = with_cards(start_control_plane(OLD, feature_gates=CONSUMABLE))
    namespace.create(claim_template("share", HAMI, CAPACITY))
    namespace.create(claiming("a", "share"))
    namespace.create(claiming("b", "share"))
    assert namespace.allocation("a").cards == namespace.allocation("b").cards
