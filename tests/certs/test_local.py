"""Without a cluster: a certificate in memory, that is renewed all the same."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from certs.issue import Issuer
from certs.local import LocalSource
from certs.reasons import Kind, Reason, Renewals
from tests.certs.kit import DAY, MINUTE, Clock

Counted = list[tuple[Kind, Reason]]


@pytest.fixture
def counted() -> Counted:
    return []


@pytest.fixture
def source(clock: Clock, counted: Counted) -> LocalSource:
    renewals = Renewals(lambda kind, reason: counted.append((kind, reason)))
    issuer = Issuer(("localhost",), clock=clock)
    return LocalSource(issuer, renewals, clock=clock, interval=timedelta(milliseconds=10))


async def test_it_serves_for_ever_with_a_new_pair_in_time(source: LocalSource, clock: Clock, counted: Counted) -> None:
    await source.start()
    assert source.current().names == ("localhost",)
    assert source.check() is None
    for _ in range(200):
        clock.advance(5 * DAY)
        assert source.healthy().ok
        assert source.check() == source.current()
    assert counted == [(Kind.LEAF, Reason.DUE)] * 200


async def test_a_clock_that_went_back_gets_another_pair(source: LocalSource, clock: Clock, counted: Counted) -> None:
    await source.start()
    clock.advance(-2 * DAY)
    assert source.check() is not None
    assert counted == [(Kind.LEAF, Reason.CLOCK_WENT_BACK)]


async def test_an_expired_pair_is_not_healthy(source: LocalSource, clock: Clock) -> None:
    await source.start()
    clock.advance(7 * DAY + MINUTE)
    assert source.healthy().text == "expired at 2026-06-08 00:00:00 UTC"


async def test_the_running_source_hands_over_each_new_pair(source: LocalSource, clock: Clock) -> None:
    await source.start()
    handed: asyncio.Queue[object] = asyncio.Queue()
    running = asyncio.create_task(source.run(handed.put_nowait))
    clock.advance(5 * DAY)
    assert await asyncio.wait_for(handed.get(), 5) == source.current()
    running.cancel()


def test_a_source_that_was_not_started_has_no_pair(source: LocalSource) -> None:
    with pytest.raises(RuntimeError, match="was not started"):
        source.current()
