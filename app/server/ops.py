"""The ops listener's application: health and metrics, for kubelets and Prometheus."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query
from fastapi.responses import PlainTextResponse, Response

from app.server.health import Checks
from app.server.metrics import Metrics

Verbose = Annotated[str | None, Query(description="List every check; any value, also none, will do.")]


def ops_app(live: Checks, ready: Checks, metrics: Metrics) -> FastAPI:
    """The application. Routers for people (preview) can be included in it."""
    app = FastAPI(title="hami-dra-webhook", docs_url=None, redoc_url=None)

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

    return app


def _answer(checks: Checks, title: str, verbose: str | None) -> Response:
    ok, text = checks.report(title, verbose=verbose is not None)
    return PlainTextResponse(text, 200 if ok else 503)
