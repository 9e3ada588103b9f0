"""What is known of the cluster: read until nothing is missing, never lost again."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from dataclasses import dataclass, field

import pytest

from app.server import facts as module
from app.server.facts import FactsHolder, follow, read_until_complete
from app.translate import DeviceClass, Facts, translate
from certs.source import Health
from tests.translate.pods import DEFAULTS, GPU, MEM, asking

KNOWN = Facts(server_version=(1, 36), device_classes={"a": DeviceClass("a")}, devices=())
NOTHING = Facts()


@dataclass
class Reading:
    facts: Facts
    problems: tuple[str, ...] = ()
    offers: bytes | None = None


@dataclass
class Cluster:
    """Gives one reading after the other, and then waits for ever."""

    readings: list[Reading | Exception]
    exhausted: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> Reading:
        if not self.readings:
            self.exhausted.set()
            await asyncio.Event().wait()
        reading = self.readings.pop(0)
        if isinstance(reading, Exception):
            raise reading
        return reading


def test_a_replica_that_knows_nothing_yet_is_not_ready() -> None:
    holder = FactsHolder()
    assert not holder.health().ok
    assert holder.health().text == "the cluster was not read yet"
    assert math.isnan(holder.age_seconds())


def test_offers_that_say_the_same_stay_the_same_object() -> None:
    holder = FactsHolder()
    assert holder.offers() is None
    first, again = bytes([1, 2]), bytes([1, 2])
    holder.update(KNOWN, offers=first)
    holder.update(KNOWN, offers=again)
    assert holder.offers() is first
    holder.update(KNOWN, offers=b"other")
    assert holder.offers() == b"other"


def test_the_details_tell_what_is_known_and_what_is_dropped() -> None:
    holder = FactsHolder()
    dropping = Facts(server_version=(1, 35), device_classes={}, devices=(), dropped_fields=frozenset({"capacity"}))
    holder.update(dropping, ["ResourceSlices are unknown: forbidden"])
    assert holder.health().ok
    assert holder.health().text == (
        "Kubernetes 1.35, device classes: 0, devices: 0; "
        "the API server drops capacity (feature gate DRAConsumableCapacity); ResourceSlices are unknown: forbidden"
    )


def test_the_age_is_that_of_the_last_update() -> None:
    now = [100.0]
    holder = FactsHolder(lambda: now[0])
    holder.update(KNOWN)
    now[0] += 7
    assert holder.age_seconds() == 7
    assert holder.current() is KNOWN


async def test_an_api_server_that_does_not_answer_is_asked_again_until_it_does() -> None:
    holder = FactsHolder()
    cluster = Cluster([Reading(NOTHING, ("the server version is unknown: connection refused",))] * 2 + [Reading(KNOWN)])
    reading = asyncio.create_task(read_until_complete(cluster.read, holder, first_pause=0.01))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not holder.health().ok
    assert holder.health().text == "the server version is unknown: connection refused"
    await asyncio.wait_for(reading, 5)
    assert holder.health().ok
    assert holder.current() is KNOWN


async def test_an_object_of_an_unknown_shape_does_not_end_the_reading() -> None:
    holder = FactsHolder()
    reading = asyncio.create_task(
        read_until_complete(Cluster([KeyError("pool"), Reading(KNOWN)]).read, holder, first_pause=0.01)
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert holder.health() == Health(ok=False, text="the cluster cannot be read: KeyError: 'pool'")
    await asyncio.wait_for(reading, 5)
    assert holder.current() is KNOWN


async def test_a_missing_part_does_not_keep_a_replica_from_being_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INCOMPLETE_PAUSE_SECONDS", 0.01)
    holder = FactsHolder()
    partly = Facts(server_version=(1, 36), device_classes={})
    cluster = Cluster([Reading(partly, ("ResourceSlices are unknown: forbidden",)), Reading(KNOWN)])
    reading = asyncio.create_task(read_until_complete(cluster.read, holder))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert holder.health().ok
    assert holder.health().text.endswith("devices: unknown; ResourceSlices are unknown: forbidden")
    await asyncio.wait_for(reading, 5)
    assert holder.current() is KNOWN


async def test_what_was_known_stays_when_the_cluster_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INCOMPLETE_PAUSE_SECONDS", 0.01)
    holder = FactsHolder()
    partly = Facts(server_version=(1, 36))
    cluster = Cluster([Reading(partly, ("one",)), Reading(NOTHING, ("connection refused",))])
    reading = asyncio.create_task(read_until_complete(cluster.read, holder))
    await asyncio.wait_for(cluster.exhausted.wait(), 5)
    assert holder.health().ok
    assert holder.current() is partly
    assert holder.health().text.endswith("connection refused")
    reading.cancel()


LATER = Facts(server_version=(1, 36), device_classes={"a": DeviceClass("a"), "b": DeviceClass("b")}, devices=())


async def test_what_is_installed_later_is_noticed_without_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.01)
    holder = FactsHolder()
    cluster = Cluster([Reading(KNOWN), Reading(LATER)])
    following = asyncio.create_task(follow(cluster.read, holder))
    await asyncio.wait_for(cluster.exhausted.wait(), 5)
    assert holder.current() is LATER
    following.cancel()


async def test_facts_that_say_the_same_stay_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.01)
    holder = FactsHolder()
    same = Facts(server_version=(1, 36), device_classes={"a": DeviceClass("a")}, devices=())
    cluster = Cluster([Reading(KNOWN), Reading(same)])
    following = asyncio.create_task(follow(cluster.read, holder))
    await asyncio.wait_for(cluster.exhausted.wait(), 5)
    assert holder.current() is KNOWN
    following.cancel()


@pytest.mark.parametrize("later", [Reading(Facts(device_classes={}), ("slices: refused",)), KeyError("pool")])
async def test_a_later_look_that_finds_less_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, later: Reading | Exception
) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.01)
    holder = FactsHolder()
    cluster = Cluster([Reading(KNOWN), later])
    following = asyncio.create_task(follow(cluster.read, holder))
    await asyncio.wait_for(cluster.exhausted.wait(), 5)
    assert holder.current() is KNOWN
    assert holder.health().ok
    following.cancel()


def test_facts_of_the_past_are_not_kept_alive() -> None:
    holder, past = FactsHolder(), []
    for minor in range(30, 35):
        holder.update(Facts(server_version=(1, minor)))
        past.append(weakref.ref(holder.current()))
        assert translate(asking({GPU: 1, MEM: minor}), holder.current(), DEFAULTS).outcome == "converted"
    gc.collect()
    assert [one() is not None for one in past] == [False] * 4 + [True]
