"""What holds from a Kubernetes version on, for tests that run on several (``make test-versions``)."""

from __future__ import annotations

from tests.cluster.testbed.control_plane import ControlPlane

EXTENDED_RESOURCE_CLAIMS = (1, 36)
"""Kubernetes itself makes claims for extended resources, by default; without it ``wholeGpu: native`` converts."""
SHARES_BY_DEFAULT = (1, 36)
"""The gate DRAConsumableCapacity is on without a flag."""
RESIZE_BESIDE_CLAIMS = (1, 37)
"""In-place resize of a pod with claims; refused before for every container of such a pod."""


def holds(control_plane: ControlPlane, since: tuple[int, int]) -> bool:
    """Whether the API server is of that version or newer."""
    return control_plane.minor >= since


def scheduler_setting(control_plane: ControlPlane) -> dict[str, str]:
    """What a preview from files must be told: slices do not show that several cards are asked otherwise (S37)."""
    return {} if holds(control_plane, (1, 36)) else {"schedulerVersion": ".".join(map(str, control_plane.minor))}
