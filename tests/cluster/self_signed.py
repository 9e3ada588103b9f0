"""The real server in its self-signed mode, what it leaves in the cluster, and clients that trust what is there."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

import httpx
from cryptography import x509

from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.processes import python_environment
from tests.cluster.testbed.registration import NAME, webhook_configuration
from tests.cluster.testbed.webhook import Webhook

JSON = Any
SECRET = "hami-dra-webhook-ca"  # noqa: S105 - a name
_SETTINGS = {"tls": {"extraNames": ["127.0.0.1"], "checkSeconds": 1}}
"""The API server of the test bed calls by address, and tests do not wait for minutes."""
_BUNDLE_AGE_SECONDS = 0.2
"""How old the clients' view of the caBundle is; API servers watch it and are faster."""


class SelfSigned(Webhook):
    """One replica without certificate files; its configuration comes without a caBundle."""

    def __init__(self, control_plane: ControlPlane, namespace: str, name: str) -> None:
        settings = {"server": _SETTINGS, "cluster": {"namespace": namespace}}
        super().__init__(control_plane, settings, name=name)
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


def authority(api: Api, namespace: str) -> x509.Certificate:
    """The CA in the Secret."""
    data = api.get("Secret", SECRET, namespace)["data"]
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


class Load:
    """Clients that open a new connection for each request, and trust the caBundle of a moment ago.

    Args:
        api: where the caBundle is.
        replicas: called in turn.
        clients: threads.
    """

    def __init__(self, api: Api, replicas: Sequence[SelfSigned], clients: int = 3) -> None:
        self._api = api
        self._replicas = replicas
        self._stop = threading.Event()
        self._context = self._trusting()
        self.requests = 0
        self.failures: list[str] = []
        works = [self._follow, *([self._call] * clients)]
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=bundle_texts(self._api)[0])

    def _follow(self) -> None:
        while not self._stop.is_set():
            context = self._trusting()
            time.sleep(_BUNDLE_AGE_SECONDS)
            self._context = context

    def _call(self) -> None:
        while not self._stop.is_set():
            for replica in self._replicas:
                try:
                    answer = httpx.get(f"https://127.0.0.1:{replica.port}/", verify=self._context, trust_env=False)
                    if answer.status_code != httpx.codes.NOT_FOUND:
                        self.failures.append(f"status {answer.status_code}")
                except httpx.HTTPError as error:
                    self.failures.append(f"{replica.name}: {error}")
                self.requests += 1
