"""The real server as a process of its own, with a certificate, in front of a control plane."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import trustme
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.processes import ProcessError, free_port, python_environment
from tests.cluster.testbed.registration import webhook_configuration
from tests.cluster.testbed.wait import wait_for

JSON = Any
SERVE = (sys.executable, "-m", "app", "serve")
_FAST = {"drainSeconds": 0}
"""A test that does not look at draining need not wait for it."""


class Webhook:
    """One replica.

    Args:
        control_plane: whose API server it talks to.
        settings: content of its ``--config`` file.
        name: of the process and its files, unique in the control plane.
        kubeconfig: instead of the admin's.
        program: what to run with the flags of ``serve``.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        settings: Mapping[str, JSON] | None = None,
        *,
        name: str = "webhook",
        kubeconfig: Path | None = None,
        program: Sequence[str] = SERVE,
    ) -> None:
        self.name = name
        self.settings: dict[str, JSON] = dict(settings or {})
        self.settings["server"] = _FAST | self.settings.get("server", {})
        self.port, self.ops_port = free_port(), free_port()
        self._processes = control_plane.processes
        folder = control_plane.folder / name
        folder.mkdir(exist_ok=True)
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1")
        certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        certificate.private_key_pem.write_to_path(folder / "tls.key")
        self.ca_pem = authority.cert_pem.bytes()
        (folder / "config.yaml").write_text(yaml.safe_dump(self.settings))
        self._command = [
            *program,
            f"--config={folder / 'config.yaml'}",
            f"--kubeconfig={kubeconfig or control_plane.kubeconfig}",
            f"--tls-cert={folder / 'tls.crt'}",
            f"--tls-key={folder / 'tls.key'}",
            "--host=127.0.0.1",
            f"--port={self.port}",
            "--ops-host=127.0.0.1",
            f"--ops-port={self.ops_port}",
        ]

    @property
    def url(self) -> str:
        """Where the API server posts reviews."""
        return f"https://127.0.0.1:{self.port}/mutate"

    @property
    def ops_url(self) -> str:
        """Where health and metrics are."""
        return f"http://127.0.0.1:{self.ops_port}"

    @property
    def pid(self) -> int:
        """Process id."""
        return self._processes.pid(self.name)

    def configuration(self) -> JSON:
        """The MutatingWebhookConfiguration that points at this replica."""
        return webhook_configuration(self.url, self.ca_pem, self.settings)

    def start(self, *, ready: bool = True) -> None:
        """Start it, and wait until it is ready unless told otherwise.

        Raises:
            ProcessError: it ended instead; with the last lines of its log.
        """
        self._processes.start(self.name, self._command, env=python_environment())
        if ready:
            wait_for(
                self.ready, f"{self.name} to be ready", timeout=30, describe=lambda: self._processes.tail(self.name)
            )

    def ready(self) -> bool:
        """Whether ``/readyz`` says yes.

        Raises:
            ProcessError: the server has ended.
        """
        if not self._processes.running(self.name):
            raise ProcessError(f"{self.name} ended by itself\n{self._processes.tail(self.name)}")
        try:
            return httpx.get(f"{self.ops_url}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        """SIGTERM, and wait; returns the exit code."""
        return self._processes.stop(self.name)

    def kill(self) -> None:
        """SIGKILL."""
        self._processes.stop(self.name, kill=True)

    def restart(self) -> None:
        """Stop and start, on the same ports."""
        self.stop()
        self.start()

    def running(self) -> bool:
        """Whether the process is there."""
        return self._processes.running(self.name)

    def metric(self, name: str, **labels: str) -> float:
        """Sum of the samples of that name (``…_total``, ``…_count``) with at least these labels; 0 if none.

        Raises:
            LookupError: no metric has that name.
        """
        families = list(text_string_to_metric_families(self.metrics()))
        if not any(name.startswith(family.name) for family in families):
            raise LookupError(f"no metric {name}; there are {', '.join(sorted(family.name for family in families))}")
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def metrics(self) -> str:
        """The metrics page."""
        return httpx.get(f"{self.ops_url}/metrics", trust_env=False).raise_for_status().text

    def logs(self) -> list[dict[str, JSON]]:
        """Its log lines, parsed; without one that is being written."""
        lines = self._processes.log(self.name).rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]
