"""Every review is answered before the API server gives up, whatever becomes of its templates."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from structlog.testing import capture_logs

from app.admission import AdmissionHandler
from app.cluster.store import TemplateStore
from app.server.body import budget_seconds
from app.server.listeners import Listener, bind
from app.server.metrics import Metrics
from app.server.observe import Recorder
from app.server.webhook import Mutate, WebhookApp
from app.translate import Facts, Policy, Template
from tests.admission.reviews import SHARED, UID, pod, review


class Store:
    """Does what a test gives it to do."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self.work = work

    async def ensure(self, _namespace: str, _template: Template, *, dry_run: bool = False) -> None:
        assert not dry_run
        await self.work()


@asynccontextmanager
async def listening(store: TemplateStore, metrics: Metrics) -> AsyncIterator[httpx.AsyncClient]:
    """A webhook listener without TLS in this very loop, and a client of it."""
    recorder = Recorder(metrics)
    handler = AdmissionHandler(Policy(), Facts, store, recorder)
    endpoint = Mutate(handler, recorder, metrics, max_body_bytes=1 << 20, draining=lambda: False)
    listener = Listener(WebhookApp(endpoint), bind("127.0.0.1", 0))
    serving = asyncio.create_task(listener.serve())
    try:
        await listener.until_started()
        async with httpx.AsyncClient(base_url=listener.url) as client:
            yield client
    finally:
        listener.stop()
        await serving


async def hang() -> None:
    await asyncio.Event().wait()


async def break_down() -> None:
    raise RuntimeError("something inside")


async def test_a_store_that_hangs_is_not_waited_for_longer_than_the_caller_does() -> None:
    metrics = Metrics()
    async with listening(Store(hang), metrics) as client:
        began = time.monotonic()
        answer = await client.post("/mutate?timeout=1s", content=review(pod(SHARED)))
        assert time.monotonic() - began < 3, "a store that hangs never answers; the rest is for a busy machine"
    assert answer.status_code == 200
    response = answer.json()["response"]
    assert (response["uid"], response["allowed"]) == (UID, False)
    assert response["status"] == {
        "code": 503,
        "reason": "ServiceUnavailable",
        "message": "the Kubernetes API did not confirm the ResourceClaimTemplates within 0.8 s; try again",
    }
    sample = {"outcome": "denied", "reason": "template-unavailable"}
    assert metrics.registry.get_sample_value("hami_dra_webhook_reviews_total", sample) == 1


async def test_a_review_that_waits_holds_up_no_other() -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def until_released() -> None:
        asked.set()
        await released.wait()

    async with listening(Store(until_released), Metrics()) as client:
        waiting = asyncio.create_task(client.post("/mutate", content=review(pod(SHARED)), timeout=30))
        await asyncio.wait_for(asked.wait(), 30)
        answer = await client.post("/mutate", content=review(pod({"cpu": "1"})))
        assert answer.json()["response"]["allowed"]
        assert not waiting.done()
        released.set()
        assert (await waiting).json()["response"]["allowed"]


async def test_a_failure_is_answered_counted_and_logged_with_its_place() -> None:
    metrics = Metrics()
    with capture_logs() as logs:
        async with listening(Store(break_down), metrics) as client:
            answer = await client.post("/mutate", content=review(pod(SHARED)))
    assert answer.status_code == 200
    assert answer.json()["response"]["status"]["code"] == 500
    assert "something inside" not in answer.text
    line = next(one for one in logs if one["event"] == "review")
    assert (line["log_level"], line["outcome"], line["reason"]) == ("error", "error", "internal-error")
    assert isinstance(line["exc_info"], RuntimeError)
    sample = {"outcome": "error", "reason": "internal-error"}
    assert metrics.registry.get_sample_value("hami_dra_webhook_reviews_total", sample) == 1


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        (b"", 9),
        (b"timeout=10s", 9),
        (b"timeout=5s", 4.5),
        (b"timeout=1s", 0.8),
        (b"timeout=1m30s", 27),
        (b"timeout=300ms", 0.15),
        (b"timeout=2.5s", 2.25),
        (b"timeout=soon", 9),
        (b"timeout=-5s", 9),
        (b"timeout=5", 9),
        (b"other=1", 9),
        (b"timeout=1s&timeout=5s", 4.5),
        (b"\xff\xfe", 9),
    ],
)
def test_an_answer_is_due_well_before_the_caller_gives_up(query: bytes, seconds: float) -> None:
    assert budget_seconds(query) == pytest.approx(seconds)
