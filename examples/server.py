"""The standalone server of the examples: started, asked over HTTPS, stopped."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from examples.certificate import write_certificate

JSON = Any
HOST = "127.0.0.1"
_PATH = "/mutate"
_START_SECONDS = 30
_STOP_SECONDS = 15


class ServerError(Exception):
    """The server did not start; what it said is on stderr already."""


class StandaloneServer:
    """``python -m app serve --standalone`` with a certificate of its own, while the ``with`` block lasts.

    Args:
        config: settings file; it must leave the log level at ``info``, or more.
        folder: for certificate, key and log.
        port: of the webhook; 0 is any free one.
        ops_port: of health and metrics; 0 is any free one.

    Attributes:
        url: where reviews are posted.
        ops_url: where health, metrics and the preview page are.
    """

    def __init__(self, config: Path, folder: Path, port: int = 0, ops_port: int = 0) -> None:
        self.url = self.ops_url = ""
        self.certificate, key = write_certificate(folder, HOST)
        self.log = folder / "server.log"
        self._trust = ssl.create_default_context(cafile=str(self.certificate))
        self._command = [
            *(sys.executable, "-m", "app", "serve", "--standalone", f"--config={config}"),
            *(f"--tls-cert={self.certificate}", f"--tls-key={key}"),
            *(f"--host={HOST}", f"--port={port}", f"--ops-host={HOST}", f"--ops-port={ops_port}"),
        ]

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            # A session of its own: Ctrl-C comes to us, and we end the server in order.
            self._process = subprocess.Popen(self._command, stdout=log, start_new_session=True)
        began = time.monotonic()
        while not (self._serving() and self._ready()):
            if self._process.poll() is not None or time.monotonic() - began > _START_SECONDS:
                self._stop()
                raise ServerError(f"the server did not become ready\n{self.log.read_text()}")
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def ask(self, review: JSON) -> JSON:
        """Post a review; returns the ``response`` part of the answer.

        Raises:
            ServerError: the server took it for no review.
        """
        connection = HTTPSConnection(urlsplit(self.url).netloc, context=self._trust, timeout=10)
        with closing(connection):
            connection.request("POST", _PATH, json.dumps(review), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read().decode()
        if answer.status != HTTPStatus.OK:
            raise ServerError(f"the server answered {answer.status}: {body}")
        return json.loads(body)["response"]

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def wait(self) -> int:
        """Wait until the server ends by itself; returns its exit code."""
        return self._process.wait()

    def _serving(self) -> bool:
        """Whether its log says where it listens."""
        for line in self.log.read_text().splitlines(keepends=True):
            if line.endswith("\n") and (said := json.loads(line))["event"] == "serving":
                self.url, self.ops_url = f"{said['webhook']}{_PATH}", said["ops"]
        return bool(self.url)

    def _ready(self) -> bool:
        connection = HTTPConnection(urlsplit(self.ops_url).netloc, timeout=5)
        with closing(connection):
            try:
                connection.request("GET", "/readyz")
                return connection.getresponse().status == HTTPStatus.OK
            except (OSError, HTTPException):
                return False

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
