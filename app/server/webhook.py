"""The webhook listener's application: ``POST /mutate``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.admission import AdmissionHandler, BadReview, parse_review
from app.admission.respond import render
from app.server.body import ClientGoneError, budget_seconds, read_body
from app.server.metrics import Metrics
from app.server.observe import Recorder

PATH = "/mutate"
_STATUS_REASONS = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
}
"""``metav1.StatusReason`` of the HTTP errors of this listener."""


class WebhookApp(FastAPI):
    """The application: one route, no documentation pages, no middleware.

    A review is handed to its endpoint before FastAPI looks at it: routing, error handling and telemetry of a request
    cost as much as the endpoint itself, and the endpoint needs none of them. Everything else goes the usual way.

    Args:
        endpoint: answers ``POST /mutate``.
    """

    def __init__(self, endpoint: Mutate) -> None:
        super().__init__(openapi_url=None, exception_handlers={HTTPException: _http_error})
        self._endpoint = endpoint
        # Only other methods get as far as this route, and learn from it that POST is the one.
        self.router.routes.append(Route(PATH, endpoint, methods=["POST"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST":
            await self._endpoint(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class Mutate:
    """Answers one HTTP request with a review. A call that is no review gets a 4xx, everything else 200.

    Args:
        handler: answers reviews.
        recorder: hears of calls that are none.
        metrics: counts what is in flight.
        max_body_bytes: longer bodies are refused.
        draining: whether connections are to be closed after their answer.
    """

    def __init__(
        self,
        handler: AdmissionHandler,
        recorder: Recorder,
        metrics: Metrics,
        *,
        max_body_bytes: int,
        draining: Callable[[], bool],
    ) -> None:
        self._handler = handler
        self._recorder = recorder
        self._metrics = metrics
        self._limit = max_body_bytes
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._metrics.in_flight.inc()
        arrived = time.perf_counter()
        try:
            body, status = await self._answer(scope, receive, arrived), 200
        except BadReview as error:
            self._recorder.bad_call(error, time.perf_counter() - arrived)
            body, status = status_body(error.status, error.message, error.uid), error.status
        except ClientGoneError:
            return
        finally:
            self._metrics.in_flight.dec()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if status in {408, 413} or self._draining():
            # The rest of such a body is not wanted; and while draining, the next call should find another replica.
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive, arrived: float) -> bytes:
        budget = budget_seconds(scope["query_string"])
        review = None
        started = arrived
        try:
            async with asyncio.timeout(budget):
                body = await read_body(scope, receive, self._limit)
                started = time.perf_counter()
                review = parse_review(body)
                return render(await self._handler.handle(review, started))
        except TimeoutError:
            if review is None:
                raise BadReview(f"the body did not arrive within {budget:.1f} s", status=408) from None
            return render(self._handler.too_late(review, started, budget))


def status_body(code: int, message: str, uid: str | None = None) -> bytes:
    """An HTTP error as a ``metav1.Status``, whose message an API server passes on to its user."""
    status: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": _STATUS_REASONS.get(code, ""),
        "message": message,
    }
    if uid is not None:
        status["details"] = {"uid": uid}
    return orjson.dumps(status)


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    message = f"{request.method} {request.url.path}: {error.detail}; reviews are sent with POST {PATH}"
    headers: Mapping[str, str] = error.headers or {}
    return Response(status_body(error.status_code, message), error.status_code, headers, "application/json")
