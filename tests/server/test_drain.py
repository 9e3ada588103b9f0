"""The end of a replica: nobody's review is lost."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.admission.reviews import SHARED, pod, review
from tests.server.process import Certificates, ServerProcess, running, wait_for

BODY = review(pod(SHARED))
DRAIN_SECONDS = 4
"""Time for five requests, three of them on new connections, also on a busy machine."""


@contextmanager
def half_sent(server: ServerProcess) -> Iterator[socket.socket]:
    """A review of which the server has the first half."""
    host, port = server.webhook.removeprefix("https://").split(":")
    plain = socket.create_connection((host, int(port)), timeout=20)
    with server.certificates.client_context().wrap_socket(plain, server_hostname="127.0.0.1") as tls:
        tls.sendall(f"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY[:100])
        wait_for(lambda: server.metric("hami_dra_webhook_reviews_in_flight") == 1)
        yield tls


def rest_of(tls: socket.socket) -> bytes:
    """Send the second half and read until the server closes the connection."""
    tls.sendall(BODY[100:])
    return b"".join(iter(lambda: tls.recv(65536), b""))


def test_a_review_that_runs_when_the_listener_closes_is_answered(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, server={"drainSeconds": 0}) as server, half_sent(server) as tls:
        server.signal()
        server.line("draining")
        wait_for(lambda: not _accepts(server))
        answer = rest_of(tls)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"allowed":true' in answer
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_draining_replica_is_unready_at_once_and_serves_on(
    tmp_path: Path, certificates: Certificates, number: int
) -> None:
    with running(tmp_path, certificates, server={"drainSeconds": DRAIN_SECONDS}) as server, server.client() as client:
        assert "connection" not in client.post("/mutate", content=BODY).headers
        began = time.monotonic()
        server.signal(number)
        status, text = wait_for(lambda: (ready := server.ready())[0] == 503 and ready)
        assert (status, "[-]shutdown failed: this replica is going away" in text) == (503, True)
        assert httpx.get(f"{server.ops}/livez").status_code == 200
        old = client.post("/mutate", content=BODY)
        with server.client() as newcomer:
            new = newcomer.post("/mutate", content=BODY)
        for answer in (old, new):
            assert answer.json()["response"]["allowed"]
            assert answer.headers["connection"] == "close"
        assert server.wait() == 0
        assert time.monotonic() - began >= DRAIN_SECONDS, "it was unready long before it ended"
        assert server.lines()[-1]["event"] == "stopped"


def test_an_idle_connection_does_not_hold_up_the_end(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates) as server, server.client() as client:
        client.post("/mutate", content=BODY)
        server.signal()
        assert server.wait(10) == 0


def test_a_second_signal_stops_at_once(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, server={"drainSeconds": 60}) as server, half_sent(server):
        server.signal()
        server.line("draining")
        server.signal()
        assert server.wait(5) == 1
        server.line("stopped_at_once")


def _accepts(server: ServerProcess) -> bool:
    host, port = server.webhook.removeprefix("https://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True
