"""The ops listener's application: health and metrics for kubelets and Prometheus, previews for people."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.preview.endpoint import client_gone, request_error
from app.preview.errors import Code, RequestError
from app.preview.openapi import with_examples
from app.server.health import Checks
from app.server.metrics import Metrics

Verbose = Annotated[str | None, Query(description="List every check; any value, also none, will do.")]


HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer. Nothing allows other sites to read one (CORS)."""
_CODES: Final = {404: Code.NOT_FOUND, 405: Code.METHOD_NOT_ALLOWED}
_POST_IT: Final = "POST manifests to /preview: curl --data-binary @manifests.yaml; /openapi.json says more"


def ops_app(live: Checks, ready: Checks, metrics: Metrics, routers: Sequence[APIRouter] = ()) -> FastAPI:
    """The application.

    Args:
        live: whether the process should go on.
        ready: whether API servers should send reviews here.
        metrics: what Prometheus scrapes.
        routers: for people; they come last, so that one of them may serve ``/``.
    """
    handlers: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
        HTTPException: _http_error,
        RequestError: request_error,
        ClientDisconnect: client_gone,
        Exception: _internal_error,
    }
    app = _OpsApp(title="hami-dra-webhook", docs_url=None, redoc_url=None, exception_handlers=handlers)

    @app.get("/livez", response_class=PlainTextResponse)
    async def livez(verbose: Verbose = None) -> Response:
        """Whether the process should go on: its listener is there and none of its tasks died."""
        return _answer(live, "livez", verbose)

    @app.get("/readyz", response_class=PlainTextResponse)
    async def readyz(verbose: Verbose = None) -> Response:
        """Whether API servers should send reviews here."""
        return _answer(ready, "readyz", verbose)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def exposition() -> Response:
        """All metrics in the text format of Prometheus."""
        return Response(metrics.exposition(), media_type=metrics.content_type)

    for router in routers:
        app.include_router(router)
    return app


def _answer(checks: Checks, title: str, verbose: str | None) -> Response:
    ok, text = checks.report(title, verbose=verbose is not None)
    return PlainTextResponse(text, 200 if ok else 503)


class _OpsApp(FastAPI):
    """Describes itself with examples, which are only read when somebody asks, and heads every answer."""

    def openapi(self) -> dict[str, Any]:
        return with_examples(super().openapi())

    def build_middleware_stack(self) -> ASGIApp:
        return _SecurityHeaders(super().build_middleware_stack())  # around the answers to faults, too


class _SecurityHeaders:
    """Adds :data:`HEADERS` to every answer, without touching bodies."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """What the router refuses, in the shape of all errors."""
    if not isinstance(error, HTTPException):
        raise error
    code = _CODES.get(error.status_code, Code.INTERNAL_ERROR)
    path = request.url.path
    what = f"there is no {path}" if code is Code.NOT_FOUND else f"{path} does not take {request.method}"
    hint = _POST_IT if path == "/preview" and code is Code.METHOD_NOT_ALLOWED else None
    return await request_error(request, RequestError(code, what, hint=hint, headers=error.headers))


async def _internal_error(request: Request, _error: Exception) -> Response:
    """The answer to a fault of ours, whose place the log tells."""
    return await request_error(request, RequestError(Code.INTERNAL_ERROR, "the server failed; its log says where"))
