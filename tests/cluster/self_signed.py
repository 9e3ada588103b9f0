"""The real server in its self-signed mode, and what it leaves in the cluster."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import httpx
from cryptography import x509

from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.processes import python_environment
from tests.cluster.testbed.registration import NAME, webhook_configuration
from tests.cluster.testbed.webhook import SERVE, Webhook

JSON = Any
SECRET = "hami-dra-webhook-ca"  # noqa: S105 - a name


class SelfSigned(Webhook):
    """One replica without certificate files; its configuration comes without a caBundle.

    The API server of the test bed calls by address, and tests do not wait for minutes: ``check_seconds`` is how long
    clients have to learn of a new CA.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        namespace: str,
        name: str,
        *,
        program: Sequence[str] = SERVE,
        check_seconds: float = 1,
    ) -> None:
        tls = {"extraNames": ["127.0.0.1"], "checkSeconds": check_seconds}
        settings = {"server": {"tls": tls}, "cluster": {"namespace": namespace}}
        super().__init__(control_plane, settings, name=name, program=program)
        self._command = [part for part in self._command if not part.startswith("--tls-")]

    def configuration(self) -> JSON:
        """As the chart renders it."""
        made = webhook_configuration(self.url, b"", self.settings)
        for entry in made["webhooks"]:
            entry["clientConfig"] = {"url": self.url}
        return made

    def readiness(self) -> str:
        """The text of ``/readyz?verbose``; empty before the listener is there."""
        try:
            return httpx.get(f"{self.ops_url}/readyz?verbose", trust_env=False).text
        except httpx.TransportError:
            return ""

    def served(self) -> x509.Certificate:
        """The certificate of a new connection."""
        return x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", self.port)).encode())


def bundle_texts(api: Api) -> list[str]:
    """The caBundle of each entry of the webhook configuration, as PEM text."""
    entries = api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
    return [base64.b64decode(entry["clientConfig"].get("caBundle", "")).decode() for entry in entries]


def trusted(api: Api) -> list[list[x509.Certificate]]:
    """What each entry of the webhook configuration trusts."""
    return [x509.load_pem_x509_certificates(text.encode()) if text else [] for text in bundle_texts(api)]


def authority(api: Api, namespace: str, secret: str = SECRET) -> x509.Certificate:
    """The CA in the Secret."""
    data = api.get("Secret", secret, namespace)["data"]
    return x509.load_pem_x509_certificate(base64.b64decode(data["ca.crt"]))


def run_certs(control_plane: ControlPlane, namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs ``hami-dra-webhook certs …`` as admin."""
    command = [sys.executable, "-m", "app", "certs", *arguments, f"--namespace={namespace}"]
    kubeconfig = f"--kubeconfig={control_plane.kubeconfig}"
    return subprocess.run([*command, kubeconfig], capture_output=True, text=True, env=python_environment(), check=False)


def certs(control_plane: ControlPlane, namespace: str, *arguments: str) -> tuple[int, JSON]:
    """Exit code of ``hami-dra-webhook certs … --json``, and its JSON or what it said on stderr."""
    ended = run_certs(control_plane, namespace, *arguments, "--json")
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else ended.stderr
