"""Lets a program act as one of the chart's ServiceAccounts, so that a missing permission fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.cluster.testbed.components import kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane

JSON = Any


def token_of(control_plane: ControlPlane, account: str, namespace: str) -> str:
    """A token as the projected volume has it."""
    created = control_plane.api.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3607}},
    )
    token: str = created["status"]["token"]
    return token


def kubeconfig_of(control_plane: ControlPlane, account: str, namespace: str, file: Path) -> Path:
    """A kubeconfig of that account, written to ``file``."""
    token = token_of(control_plane, account, namespace)
    file.write_text(yaml.safe_dump(kubeconfig(control_plane.layout.server, control_plane.layout.ca, token)))
    return file


def run_hook(
    control_plane: ControlPlane, pod: JSON, namespace: str, folder: Path, *, port: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the one container of a hook's pod spec as a kubelet would: its command, its account's token, its environment.

    There is no kubelet here, so the service account's folder is not at its usual place. ``port`` stands in for the API
    server's.
    """
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(token_of(control_plane, pod["serviceAccountName"], namespace))
    (folder / "ca.crt").write_bytes(control_plane.layout.ca.read_bytes())
    server = urlsplit(control_plane.layout.server)
    (container,) = pod["containers"]
    return subprocess.run(
        [*container["command"], *container["args"]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin",
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(port or server.port),
            "SERVICE_ACCOUNT_DIR": str(folder),
            "WAIT_SECONDS": "3",
        },
    )
