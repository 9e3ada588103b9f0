"""uvicorn's HTTP protocol, with the parts of an answer joined into one write."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class JoiningProtocol(HttpToolsProtocol):
    """Sends head and body of an answer together.

    uvicorn writes them apart, and under TLS each write is a record and a system call of its own: together they cost
    more than anything else in an answer of one kilobyte.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start with a transport that joins writes."""
        super().connection_made(_JoiningTransport(transport, self.loop))  # type: ignore[arg-type]


class _JoiningTransport:
    """Keeps what is written until the end of this turn of the event loop, or until the transport closes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
