"""A fake API server, a connection to it, a store, and a clock that only moves when told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from app.cluster import restore, watch
from app.cluster.api import Connection
from app.cluster.connection import connect
from app.cluster.templates import ApiTemplateStore
from tests.store.fake_api import FakeApi
from tests.store.kit import GRACE, Clock, Tally, kubeconfig


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_MAX_BACKOFF_SECONDS", 0.05)
    monkeypatch.setattr(restore, "_LOOKS_SECONDS", (0.01, 0.05, 0.2))


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def connection(api: FakeApi, tmp_path: Path, tally: Tally) -> AsyncIterator[Connection]:
    made = await connect(kubeconfig(tmp_path / "kubeconfig", api.url), seconds=1, observer=tally)
    yield made
    await made.close()


Start = Callable[..., Awaitable[ApiTemplateStore]]


@pytest.fixture
async def start(connection: Connection, clock: Clock, tally: Tally) -> AsyncIterator[Start]:
    """Starts stores that watch; they are closed at the end."""
    stores = []

    async def started(*, request_timeout: timedelta = timedelta(seconds=1), wait: bool = True) -> ApiTemplateStore:
        store = ApiTemplateStore(
            connection, grace_period=GRACE, request_timeout=request_timeout, clock=clock, observer=tally
        )
        stores.append(store)
        await store.start()
        if wait:
            async with asyncio.timeout(20):
                await store.wait_synced()
        return store

    yield started
    for store in stores:
        await store.close()


@pytest.fixture
async def store(start: Start) -> ApiTemplateStore:
    return await start()
