"""Reads a request body with a limit that holds while it streams, and the time that the caller grants."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qs

from starlette.types import Receive, Scope

from app.admission import BadReview

DEFAULT_TIMEOUT_SECONDS = 10.0
"""What an API server waits unless the webhook configuration says otherwise; also used for callers that name no time."""
_MAX_TIMEOUT_SECONDS = 30.0
"""The longest that a webhook configuration may grant."""
_MIN_MARGIN_SECONDS = 0.2
_MARGIN = 0.1
_DISCARD = 4
"""A body beyond the limit is read on and thrown away up to this many times the limit: many clients look at no answer
before they have sent everything, and would report a broken connection instead of the 413."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class ClientGoneError(Exception):
    """The client went away before its request was complete; nobody waits for an answer."""


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body.

    Raises:
        BadReview: 413, the body is longer than the limit in bytes.
        ClientGoneError: the connection was lost.
    """
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length", b"")
    if b"expect" in headers and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)  # the client waits for "100 Continue" and has sent nothing yet
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
            if size > _DISCARD * limit:
                break
    if size > limit:
        raise _too_large(limit)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


@lru_cache(maxsize=64)
def budget_seconds(query: bytes) -> float:
    """Time for one review: what ``?timeout=5s`` grants (a Go duration), less a margin for the way back."""
    text = parse_qs(query.decode("latin-1")).get("timeout", [""])[-1]
    parts = list(_DURATION.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        granted = DEFAULT_TIMEOUT_SECONDS
    else:
        granted = sum(float(part[1]) * _UNIT_SECONDS[part[2]] for part in parts)
    granted = min(granted, _MAX_TIMEOUT_SECONDS)
    return max(granted - max(_MIN_MARGIN_SECONDS, granted * _MARGIN), granted / 2)


def _too_large(limit: int) -> BadReview:
    return BadReview(f"the body is larger than {limit} bytes (setting server.maxBodyBytes)", status=413)
