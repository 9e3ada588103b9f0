"""Messages between the server and the worker process: a length, then so many bytes."""

from __future__ import annotations

import asyncio
import struct
from typing import BinaryIO, Final, TypedDict

_LENGTH: Final = struct.Struct(">Q")
_CHUNK: Final = 256 * 1024
"""Bytes read at once: a large answer must not stop the event loop while it is copied."""
READY: Final = b"ready"
"""What a worker says when it can take requests."""


class Head(TypedDict):
    """What a worker says before the body of an answer."""

    status: int
    mediaType: str
    compressed: bool
    """The body is in gzip."""
    last: bool
    """The worker ends after this, and the next request needs another one."""
    fault: str | None
    """What went wrong here, for the log."""


def write(stream: BinaryIO, message: bytes) -> None:
    """Writes one message."""
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def read(stream: BinaryIO) -> bytes | None:
    """The next message; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    return stream.read(length)


async def send(writer: asyncio.StreamWriter, message: bytes) -> None:
    """Writes one message."""
    writer.write(_LENGTH.pack(len(message)))
    writer.write(message)
    await writer.drain()


async def receive(reader: asyncio.StreamReader, limit: int) -> list[bytes]:
    """The next message, in pieces.

    Raises:
        EOFError: the other side is gone, or says more than the limit allows.
    """
    (left,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if left > limit:
        raise EOFError(f"a message of {left} bytes")
    pieces = []
    while left:
        piece = await reader.read(min(left, _CHUNK))
        if not piece:
            raise EOFError("the other side is gone")
        pieces.append(piece)
        left -= len(piece)
    return pieces
