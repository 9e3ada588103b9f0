"""What is looked at before a request is worked on: where it comes from, and its body, with limits that hold at once."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from app.preview.documents import MAX_BYTES
from app.preview.errors import Code, RequestError

BODY_SECONDS: Final = 30
"""Time for a body to arrive."""
_DISCARD: Final = 4
"""A body beyond the limit is read on and thrown away up to this many times the limit: a browser looks at no answer
before it has sent everything, and would report a broken connection instead of what is wrong."""
_CLOSE: Final = {"Connection": "close"}
_HOW: Final = "curl --data-binary @manifests.yaml"


def refuse_other_sites(request: Request) -> None:
    """Refuse what a page of another site makes a browser send.

    Raises:
        RequestError: ``cross-site``.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:  # a browser that reached us without TLS, or no browser
        foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise RequestError(Code.CROSS_SITE, "a page of another site sent this", hint="open the page of this server")


async def read_body(request: Request) -> bytes:
    """The whole body.

    Raises:
        RequestError: ``unsupported-body``, ``too-large``, ``too-slow``.
        starlette.requests.ClientDisconnect: the client went away.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        message = f"the body has the Content-Encoding {encoding[:40]!r}, and only plain text is read"
        raise RequestError(
            Code.UNSUPPORTED_BODY, message, path="Content-Encoding", hint="send it as it is", headers=_CLOSE
        )
    kind = request.headers.get("content-type", "")
    if kind.lower().startswith("multipart/"):
        message = "the body is a form, and only manifests are read"
        raise RequestError(Code.UNSUPPORTED_BODY, message, path="Content-Type", hint=_HOW, headers=_CLOSE)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(request)
    except TimeoutError:
        message = f"the body did not arrive within {BODY_SECONDS} s"
        raise RequestError(Code.TOO_SLOW, message, headers=_CLOSE) from None


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    expected = int(declared) if declared.isdigit() else 0
    # The client waits for "100 Continue" and has sent nothing yet, or sends so much that it must be told at once.
    if expected > (MAX_BYTES if "expect" in request.headers else _DISCARD * MAX_BYTES):
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BYTES:
            chunks.append(chunk)
        else:
            chunks.clear()
            if size > _DISCARD * MAX_BYTES:
                break
    if size > MAX_BYTES:
        raise _too_large()
    return b"".join(chunks)


def _too_large() -> RequestError:
    return RequestError(
        Code.TOO_LARGE, f"the body has more than {MAX_BYTES >> 20} MiB", hint="split the input", headers=_CLOSE
    )


async def until_gone(request: Request) -> None:
    """Wait until the client of a request whose body was read goes away.

    Raises:
        starlette.requests.ClientDisconnect: then.
    """
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect
