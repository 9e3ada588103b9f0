"""kwok plays kubelet: bound pods become Running, pods of Jobs complete, deleted pods go, nodes stay Ready."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.testbed import build
from tests.cluster.testbed.control_plane import ControlPlane

NAME = "kwok"


def start_kwok(control_plane: ControlPlane) -> None:
    """Start kwok for all nodes of the control plane."""
    folder = build.ensure("kwok")
    stages = [folder / Path(stage).name for stage in build.STAGES]
    control_plane.processes.start(
        NAME,
        [
            folder / "kwok",
            f"--kubeconfig={control_plane.kubeconfig}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            *(f"--config={stage}" for stage in stages),
        ],
    )


def stop_kwok(control_plane: ControlPlane) -> None:
    """Stop it; pods and nodes stay as they are."""
    control_plane.processes.stop(NAME)
    # The next one would wait 40 s for these to expire before it touches a pod of their nodes.
    control_plane.api.delete_all("Lease", "kube-node-lease")
