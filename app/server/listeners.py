"""Sockets and the uvicorn servers on them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Generator

import uvicorn
from fastapi import FastAPI

from app.server.errors import StartError
from app.server.protocol import JoiningProtocol

KEEP_ALIVE_SECONDS = 120
"""Above the 90 s after which an API server closes an idle connection: it must be the one to close, or a review may be
sent into a connection that is just being closed here."""
FINISH_SECONDS = 15
"""Time for requests that run when the listener closes; longer than any review may take with the default timeout."""
GOODBYE_SECONDS = 0.5
"""Time for the last bytes of an answer and for the peer's goodbye, once or twice, before a connection is cut."""
_BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. ``::`` is every address of both families, and of IPv4 alone where there is no IPv6.

    Raises:
        StartError: the address cannot be used.
    """
    try:
        if host == "::":
            if socket.has_dualstack_ipv6():
                return socket.create_server((host, port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
            host = "0.0.0.0"  # noqa: S104 - every address is what "::" asks for
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        # create_server() adds the address to the system's words, and resolvers have words of their own.
        why = error.strerror if isinstance(error, socket.gaierror) or error.errno is None else os.strerror(error.errno)
        raise StartError([f"cannot listen on {host}, port {port}: {why or error}"]) from error


class Listener:
    """One application on one socket.

    Args:
        app: what is served.
        sock: listening; closed with the listener.
        tls: context of an HTTPS listener.
    """

    def __init__(self, app: FastAPI, sock: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        config = uvicorn.Config(
            app,
            http=JoiningProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=FINISH_SECONDS,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
        self._server = _Server(config)
        self._socket = sock
        self.url = f"{'http' if tls is None else 'https'}://{_shown_address(sock)}"

    async def serve(self) -> None:
        """Serve until :meth:`stop`; then refuse connections, finish what runs, and return."""
        await self._server.serve(sockets=[self._socket])

    async def until_started(self) -> None:
        """Wait until connections are accepted."""
        await self._server.up.wait()

    def stop(self) -> None:
        """Let :meth:`serve` come to its end."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: two servers share one process and one end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        cutting = asyncio.create_task(self._cut_what_is_closing())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_what_is_closing(self) -> None:
        """Cut connections that are closed on this side: a peer that sends no TLS goodbye would hold up the end."""
        closing: set[object] = set()
        while True:
            await asyncio.sleep(GOODBYE_SECONDS)
            for connection in list(self.server_state.connections):
                if connection in closing:
                    connection.transport.abort()
                elif connection.transport.is_closing():
                    closing.add(connection)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _shown_address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
