"""The server as the chart's Deployment starts it: its arguments and settings, with the token of its ServiceAccount."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.chart.account import kubeconfig_of
from tests.chart.helm import NAMESPACE, Rendered
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.processes import free_port, python_environment
from tests.cluster.testbed.wait import wait_for

JSON = Any
_SETTINGS, _TLS = "/etc/hami-dra-webhook/settings", "/etc/hami-dra-webhook/tls"


class Replica:
    """One pod of the Deployment, as a process.

    What differs from the pod is what has no meaning without a kubelet and a Service: places of files, loopback
    addresses and free ports, 127.0.0.1 among the names of the certificate, and by default no time to drain.
    ``check_seconds`` is for tests that cannot wait a minute for the next look at the certificates.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        rendered: Rendered,
        name: str,
        folder: Path,
        *,
        drain_seconds: float = 0,
        check_seconds: float = 60,
    ) -> None:
        self._name, self._processes = name, control_plane.processes
        folder.mkdir(exist_ok=True)
        spec = rendered.one("Deployment")["spec"]["template"]["spec"]
        settings = rendered.settings()
        settings["server"]["tls"] |= {"extraNames": ["127.0.0.1"], "checkSeconds": check_seconds}
        settings["server"]["drainSeconds"] = drain_seconds
        for key in ("certFile", "keyFile"):
            if file := settings["server"]["tls"].get(key):
                settings["server"]["tls"][key] = file.replace(_TLS, str(folder))
        for secret in (volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume):
            for key, value in control_plane.api.get("Secret", secret, NAMESPACE)["data"].items():
                (folder / key).write_bytes(base64.b64decode(value))
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        account = kubeconfig_of(control_plane, spec["serviceAccountName"], NAMESPACE, folder / "kubeconfig")
        self.port, ops_port = free_port(), free_port()
        self._ops = f"http://127.0.0.1:{ops_port}"
        self._program = (sys.executable, "-m", "app")
        self._connection = (f"--config={folder / 'config.yaml'}", f"--kubeconfig={account}")
        self._command = [
            *self._program,
            *(argument.replace(_SETTINGS, str(folder)) for argument in spec["containers"][0]["args"]),
            f"--kubeconfig={account}",
            *("--host=127.0.0.1", f"--port={self.port}", "--ops-host=127.0.0.1", f"--ops-port={ops_port}"),
        ]

    @property
    def url(self) -> str:
        """Where API servers send reviews."""
        return f"https://127.0.0.1:{self.port}/mutate"

    def start(self) -> None:
        """Start the process; it is not ready yet."""
        self._processes.start(self._name, self._command, env=python_environment())

    def wait_ready(self) -> None:
        """Wait until ``/readyz`` says yes."""
        wait_for(self.ready, f"{self._name} to be ready", timeout=30, describe=lambda: self._processes.tail(self._name))

    def ready(self) -> bool:
        """Whether ``/readyz`` says yes now."""
        try:
            return httpx.get(f"{self._ops}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def readiness(self) -> str:
        """The text of ``/readyz?verbose``."""
        return httpx.get(f"{self._ops}/readyz?verbose", trust_env=False).text

    def execute(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What ``kubectl exec`` does: the program's command line beside the server, with its settings and account."""
        return subprocess.run(
            [*self._program, *arguments, *self._connection],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=python_environment(),
        )

    def refusals(self) -> float:
        """API calls that were answered 403: permissions that the chart forgot."""
        page = httpx.get(f"{self._ops}/metrics", trust_env=False).raise_for_status().text
        return sum(
            sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == "hami_dra_webhook_api_requests_total" and sample.labels["code"] == "403"
        )

    def running(self) -> bool:
        """Whether the process is there."""
        return self._processes.running(self._name)

    def kill(self) -> None:
        """SIGKILL."""
        self._processes.stop(self._name, kill=True)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        return self._processes.stop(self._name)
