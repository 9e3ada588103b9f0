"""The real server as a process of its own, with real TLS."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import trustme
import yaml

START_SECONDS = 60
"""A machine under load starts a Python program slowly; the limit of the start itself has its own test."""

_PROGRAM = """
import sys
from pathlib import Path
from app.server.run import serve
from app.settings import load_settings
sys.exit(serve(load_settings(Path(sys.argv[1]))))
"""


@dataclass
class Certificates:
    """A CA, and files with a leaf for loopback."""

    folder: Path
    ca: trustme.CA = field(default_factory=trustme.CA)

    @property
    def cert_file(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key_file(self) -> Path:
        return self.folder / "tls.key"

    def issue(self, *names: str) -> None:
        """Write a new leaf and its key."""
        leaf = self.ca.issue_cert(*(names or ("127.0.0.1", "localhost")))
        self.key_file.write_bytes(leaf.private_key_pem.bytes())
        self.cert_file.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))

    def client_context(self) -> ssl.SSLContext:
        """Trusts the CA and nothing else."""
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        return context


@dataclass
class ServerProcess:
    """A running server; URLs come from its own log."""

    process: subprocess.Popen[bytes]
    log_file: Path
    certificates: Certificates
    webhook: str = ""
    ops: str = ""

    def lines(self) -> list[dict[str, Any]]:
        """Its log so far, without a line that is being written."""
        return [json.loads(line) for line in self.log_file.read_bytes().rpartition(b"\n")[0].splitlines()]

    def line(self, event: str, **fields: Any) -> dict[str, Any]:
        """Wait for a line of the log."""
        return wait_for(
            lambda: next((one for one in self.lines() if one["event"] == event and fields.items() <= one.items()), None)
        )

    def client(self) -> httpx.Client:
        """A client of the webhook listener."""
        return httpx.Client(base_url=self.webhook, verify=self.certificates.client_context(), timeout=30)

    def ready(self) -> tuple[int, str]:
        """Status and text of ``/readyz?verbose``."""
        answer = httpx.get(f"{self.ops}/readyz?verbose", timeout=10)
        return answer.status_code, answer.text

    def metric(self, sample: str) -> float:
        """One sample of ``/metrics``, 0 while it is not there."""
        text = httpx.get(f"{self.ops}/metrics", timeout=10).text
        return next(
            (float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(f"{sample} ")), 0.0
        )

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = 30) -> int:
        """The exit code."""
        return self.process.wait(seconds)


def wait_for(probe: Any, seconds: float = START_SECONDS) -> Any:
    """The first result of a probe that is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := probe():
            return result
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def settings_for(certificates: Certificates, **groups: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a standalone server on free loopback ports; groups are merged one level deep."""
    settings: dict[str, Any] = {
        "server": {
            "host": "127.0.0.1",
            "port": 0,
            "opsHost": "127.0.0.1",
            "opsPort": 0,
            "drainSeconds": 0,
            "tls": {"certFile": str(certificates.cert_file), "keyFile": str(certificates.key_file)},
        },
        "cluster": {"standalone": True},
    }
    for name, group in groups.items():
        settings[name] = {**settings.get(name, {}), **group}
    return settings


def start(folder: Path, certificates: Certificates, **groups: Mapping[str, Any]) -> ServerProcess:
    """Start a server; does not wait for it."""
    config = folder / "settings.yaml"
    config.write_text(yaml.safe_dump(settings_for(certificates, **groups)))
    log_file = folder / "server.log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HAMI_DRA_")}
    with log_file.open("wb") as log, (folder / "server.err").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(config)], stdout=log, stderr=errors, env=environment
        )
    return ServerProcess(process, log_file, certificates)


@contextmanager
def running(folder: Path, certificates: Certificates, **groups: Mapping[str, Any]) -> Iterator[ServerProcess]:
    """A server that serves; stopped at the end if it still runs."""
    server = start(folder, certificates, **groups)
    try:
        serving = server.line("serving")
        server.webhook, server.ops = serving["webhook"], serving["ops"]
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(10)
