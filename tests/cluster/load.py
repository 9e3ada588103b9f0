"""Clients that never stop asking the replicas, and trust the caBundle of a moment ago as API servers do."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPSConnection
from typing import Any, Self

from cryptography import x509

from tests.admission.reviews import review
from tests.cluster.self_signed import SelfSigned, bundle_texts
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.objects import pod

JSON = Any
_BUNDLE_AGE_SECONDS = 0.2
"""How old the clients' view of the caBundle is; API servers watch it and are faster."""
_BODY = review(pod("p", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}), dryRun=True)


@dataclass
class _Tally:
    """What one thread has seen."""

    answers: int = 0
    failures: list[str] = field(default_factory=list)
    served: set[bytes] = field(default_factory=set)


class Load:
    """Reviews from several threads: some open a connection for each, others keep theirs to the end.

    Args:
        api: where the caBundle is.
        replicas: asked in turn.
        opening: threads that open connections.
        keeping: threads that keep them.
    """

    def __init__(self, api: Api, replicas: Sequence[SelfSigned], *, opening: int = 3, keeping: int = 1) -> None:
        self._api = api
        self._ports = [replica.port for replica in replicas]
        self._end = threading.Event()
        self._context = self._trusting()
        self._opened = [_Tally() for _ in range(opening)]
        self._kept = [_Tally() for _ in range(keeping)]
        self._threads = [
            threading.Thread(target=self._follow),
            *(threading.Thread(target=self._open, args=(tally,)) for tally in self._opened),
            *(threading.Thread(target=self._keep, args=(tally,)) for tally in self._kept),
        ]

    @property
    def handshakes(self) -> int:
        """Reviews that were answered on a connection of their own."""
        return sum(tally.answers for tally in self._opened)

    @property
    def kept(self) -> int:
        """Reviews that were answered on connections as old as the load."""
        return sum(tally.answers for tally in self._kept)

    @property
    def requests(self) -> int:
        """All reviews that were answered."""
        return self.handshakes + self.kept

    @property
    def failures(self) -> list[str]:
        """What went wrong: handshakes that failed, connections that ended, answers without a patch."""
        return [failure for tally in (*self._opened, *self._kept) for failure in tally.failures]

    def served(self) -> list[x509.Certificate]:
        """The certificates that new connections have shown so far."""
        return [x509.load_der_x509_certificate(one) for one in set().union(*(tally.served for tally in self._opened))]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=bundle_texts(self._api)[0])

    def _follow(self) -> None:
        while not self._end.is_set():
            self._context = self._trusting()
            self._end.wait(_BUNDLE_AGE_SECONDS)

    def _open(self, tally: _Tally) -> None:
        while not self._end.is_set():
            for port in self._ports:
                connection = self._connection(port)
                _ask(connection, tally)
                connection.close()

    def _keep(self, tally: _Tally) -> None:
        connections = [self._connection(port) for port in self._ports]
        while not self._end.is_set():
            for connection in connections:
                _ask(connection, tally)
                connection.auto_open = 0  # a connection that ended is a failure from now on
        for connection in connections:
            connection.close()

    def _connection(self, port: int) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", port, context=self._context, timeout=10)


def _ask(connection: HTTPSConnection, tally: _Tally) -> None:
    try:
        if connection.sock is None and connection.auto_open:
            connection.connect()
            tally.served.add(connection.sock.getpeercert(binary_form=True))
        connection.request("POST", "/mutate", _BODY, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError) as error:
        tally.failures.append(f"port {connection.port}: {type(error).__name__}: {error}")
        return
    if answer.get("response", {}).get("patch"):
        tally.answers += 1
    else:
        tally.failures.append(f"port {connection.port}: {answer}")
