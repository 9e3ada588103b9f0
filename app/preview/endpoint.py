"""``POST /preview`` and ``GET /preview/options``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Final, TypeVar

import orjson
from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.preview.errors import RequestError
from app.preview.openapi import options_description, preview_description
from app.preview.options import backends, settings
from app.preview.requests import read_body, refuse_other_sites, until_gone
from app.preview.service import PreviewService
from app.preview.wanted import wanted
from app.preview.worker import Answer

SEND_SECONDS: Final = 60
"""Time for an answer to be taken; a client that reads more slowly is cut off, since its place is wanted."""
T = TypeVar("T")


def preview_router(service: PreviewService, counted: Callable[[str], None]) -> APIRouter:
    """The routes of the preview.

    Args:
        service: makes the answers.
        counted: is told how each preview ended: ``answered``, ``gone`` or the code word of the refusal.
    """
    router = APIRouter()

    @cache
    def listed() -> bytes:
        return orjson.dumps({"backends": backends(service.policy), "settings": settings(service.policy)})

    @router.post("/preview", **preview_description())
    async def preview(request: Request) -> Response:
        """What becomes of manifests, by the translation that the webhook uses. Nothing is stored or logged of them."""
        with _counting(counted), ExitStack() as stack:
            refuse_other_sites(request)
            asked = wanted(request.query_params.multi_items(), request.headers, service.policy)
            stack.enter_context(service.place())
            body = await read_body(request)
            answer = await _unless_gone(request, service.answer(body, asked))
            return _Pieces(answer, stack.pop_all().close)

    @router.get("/preview/options", **options_description())
    async def options(request: Request) -> Response:
        """What a preview can be made for: the backends and settings that `backend` and `set` take."""
        refuse_other_sites(request)
        return Response(listed(), media_type="application/json")

    return router


async def request_error(_request: Request, error: Exception) -> Response:
    """The answer to a request that is refused: an exception handler of Starlette."""
    if not isinstance(error, RequestError):
        raise error
    return Response(orjson.dumps(error.body), error.status, error.headers, "application/json")


async def client_gone(_request: Request, _error: Exception) -> Response:
    """Nobody reads this answer: an exception handler of Starlette."""
    return Response(status_code=499)


@contextmanager
def _counting(counted: Callable[[str], None]) -> Iterator[None]:
    try:
        yield
    except RequestError as error:
        counted(error.code)
        raise
    except ClientDisconnect:
        counted("gone")
        raise
    counted("answered")


async def _unless_gone(request: Request, work: Awaitable[T]) -> T:
    """The result of some work, which ends when the client goes away: a page that asks anew wants no old answer."""
    working, watching = asyncio.ensure_future(work), asyncio.create_task(until_gone(request))
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


class _Pieces(Response):
    """An answer in pieces, so that neither memory nor the event loop has to hold all of it at once.

    Args:
        answer: of the worker.
        done: called when it was sent, or cannot be.
    """

    def __init__(self, answer: Answer, done: Callable[[], None]) -> None:
        super().__init__(status_code=answer.status, media_type=answer.media_type)
        self.headers["content-length"] = str(sum(map(len, answer.pieces)))
        self.headers["vary"] = "Accept, Accept-Encoding"
        if answer.compressed:
            self.headers["content-encoding"] = "gzip"
        self._pieces = answer.pieces
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope, receive
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                for piece in self._pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    await asyncio.sleep(0)  # what was written goes out, so that a slow reader is noticed
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._done()
