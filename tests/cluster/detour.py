"""A way to the API server that a test can cut for one program, while everybody else still reaches it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import yaml

from tests.cluster.testbed.components import ADMIN_TOKEN, Layout, kubeconfig

_CHUNK = 65536


class Detour:
    """Forwards TCP on a loopback port of its own; TLS passes through untouched."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._cut = False
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """What to take for the URL of the API server."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def kubeconfig(self, folder: Path) -> Path:
        """Write the admin's kubeconfig for this way."""
        file = folder / "detour.kubeconfig"
        file.write_text(yaml.safe_dump(kubeconfig(self.url, self._layout.ca, ADMIN_TOKEN)))
        return file

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Break all connections, and every new one, until the block ends."""
        self._cut = True
        self._hang_up()
        try:
            yield
        finally:
            self._cut = False

    def close(self) -> None:
        """Stop for good."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._listener.close()
        self._hang_up()
        for thread in self._threads:
            thread.join()
        for one in self._open:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._cut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._layout.api))
            self._open += [near, far]
            if self._cut:  # meanwhile
                self._hang_up()
            for source, sink in ((near, far), (far, near)):
                self._threads.append(Thread(target=_pump, args=(source, sink), daemon=True))
                self._threads[-1].start()

    def _hang_up(self) -> None:
        for one in self._open:
            _end(one)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy until one side ends, then end both; the descriptors stay reserved until :meth:`Detour.close`."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    _end(source)
    _end(sink)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
