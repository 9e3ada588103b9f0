"""What holds from a Kubernetes version on, for tests that run on several (``make test-versions``)."""

from __future__ import annotations

from tests.cluster.testbed.control_plane import ControlPlane

EXTENDED_RESOURCE_CLAIMS = (1, 36)
"""Kubernetes itself makes claims for extended resources, by default; without it ``wholeGpu: native`` converts."""
RESIZE_BESIDE_CLAIMS = (1, 37)
"""In-place resize of a pod with claims; refused before for every container of such a pod."""


def holds(control_plane: ControlPlane, since: tuple[int, int]) -> bool:
    """Whether the API server is of that version or newer."""
    return control_plane.minor >= since
