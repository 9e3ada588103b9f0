"""A clock that is off: said aloud, harmless within a day, and no danger for other replicas beyond."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from app.server import maintain
from app.settings import Settings
from certs.api import ApiProblem, NotDone
from certs.source import wall_clock
from tests.certs.kit import DAY, NOW, Clock, MemoryApi, Replica

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(("hours", "said"), [(2, "2:00:00 ahead of"), (-2, "2:00:00 behind")])
async def test_two_hours_are_said_once_and_everything_works(api: MemoryApi, hours: int, said: str) -> None:
    with capture_logs() as logs:
        replica = await Replica(api, Clock(NOW + hours * HOUR)).start()
        await replica.check()
    lines = [line for line in logs if line["event"] == "clock_off"]
    assert [(line["seconds"], line["problem"]) for line in lines] == [
        (hours * 3600, f"this machine's clock is {said} the API server's")
    ]
    assert replica.handshake(api.bundle) == ""
    assert replica.source.healthy().ok
    assert said in replica.source.healthy().text


async def test_replicas_whose_clocks_differ_by_four_hours_take_each_others_ca(api: MemoryApi) -> None:
    behind = await Replica(api, Clock(NOW - 2 * HOUR)).start()
    ahead = await Replica(api, Clock(NOW + 2 * HOUR)).start()
    assert ahead.words() == ["leaf first"]
    assert behind.handshake(api.bundle) == ahead.handshake(api.bundle) == ""


async def test_a_clock_that_is_a_year_ahead_replaces_no_ca_and_is_not_ready(api: MemoryApi, clock: Clock) -> None:
    right = await Replica(api, clock).start()
    trust = api.trust
    wrong = await Replica(api, Clock(NOW + 366 * DAY)).start()
    assert wrong.words() == []
    assert api.trust == trust
    assert not wrong.source.healthy().ok
    assert wrong.source.healthy().text.endswith(
        "Secret gpu/ca: needs a new CA (it has expired), but this machine's clock is 366 days, 0:00:00 ahead of "
        "the API server's"
    )
    assert right.handshake(api.bundle) == ""


async def test_a_leaf_that_api_servers_would_refuse_makes_no_replica_ready(api: MemoryApi, clock: Clock) -> None:
    await Replica(api, clock).start()
    ahead = await Replica(api, Clock(NOW + 30 * HOUR)).start()
    assert not ahead.source.healthy().ok
    assert ahead.handshake(api.bundle) == "not valid now"


async def test_a_clock_that_went_back_gets_a_leaf_that_is_valid(api: MemoryApi) -> None:
    clock = Clock(NOW + 10 * HOUR)
    replica = await Replica(api, clock).start()
    clock.now = NOW - 20 * HOUR
    replica.words()
    await replica.check()
    assert replica.words() == ["leaf clock-went-back"]
    assert replica.source.current().not_before <= clock()


async def test_an_api_server_that_does_not_tell_its_time_is_believed_to_agree(api: MemoryApi) -> None:
    api.problem = lambda _verb, path: ApiProblem(403, "no") if path.endswith("selfsubjectreviews") else None
    replica = await Replica(api, Clock(NOW + 2 * HOUR)).start()
    assert replica.source.healthy().text == "valid until 2026-06-08 02:00:00 UTC"


async def test_a_clock_that_is_a_month_ahead_ends_no_overlap(api: MemoryApi, clock: Clock) -> None:
    right = await Replica(api, clock).start()
    wrong = await Replica(api, Clock(NOW + 30 * DAY)).start()
    await right.keeper.rotate()
    for _ in range(2):
        await wrong.check()
        await right.check()
        assert len(api.trusted) == 2
        assert right.handshake(api.bundle) == ""


@pytest.mark.parametrize("days", [30, -30])
async def test_the_command_rotates_nothing_by_a_clock_that_is_a_month_off(
    monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    clock = Clock(wall_clock() - days * DAY)  # the command has the one of this machine
    api = MemoryApi(clock)
    await Replica(api, clock).start()
    trust = api.trust

    @asynccontextmanager
    async def connected(_: Settings) -> AsyncIterator[MemoryApi]:
        yield api

    monkeypatch.setattr(maintain, "_api", connected)
    settings = Settings.model_validate({"cluster": {"namespace": "gpu"}, "server": {"tls": {"secretName": "ca"}}})
    with pytest.raises(NotDone, match="Secret gpu/ca: gets no new CA from here, since this machine's clock"):
        await maintain.rotate_certificates(settings, drop_old=False)
    assert api.trust == trust
