"""The self-signed mode: replicas agree, renew in time, and change the CA without anybody noticing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from certs.api import ApiProblem
from certs.issue import Issuer
from tests.certs.kit import CONFIGURATION, DAY, MINUTE, NAMES, SECRET, Clock, MemoryApi, Replica

Start = Callable[[], Awaitable[Replica]]


async def test_the_first_replica_makes_the_ca_publishes_it_and_serves_a_leaf_of_it(
    start: Start, api: MemoryApi
) -> None:
    replica = await start()
    assert replica.words() == ["ca first", "ca-bundle not-trusted", "leaf first"]
    assert api.trusted == (api.trust.signer.certificate,)
    assert replica.handshake(api.bundle) == ""
    assert replica.source.healthy().ok
    assert replica.source.healthy().text == "valid until 2026-06-08 00:00:00 UTC"
    assert replica.source.trusted().ok


async def test_replicas_share_the_ca_and_have_leaves_of_their_own(start: Start, api: MemoryApi) -> None:
    first, second = await start(), await start()
    assert second.words() == ["leaf first"]
    assert first.source.current().chain_pem != second.source.current().chain_pem
    assert first.handshake(api.bundle) == second.handshake(api.bundle) == ""


async def test_replicas_that_start_at_once_agree_on_the_ca_of_the_first_writer(api: MemoryApi, clock: Clock) -> None:
    api.interleaved = True
    replicas = await asyncio.gather(*(Replica(api, clock).start() for _ in range(5)))
    for replica in replicas:
        await replica.check()
    assert [word for replica in replicas for word in replica.words()].count("ca first") == 1
    assert {replica.handshake(api.bundle) for replica in replicas} == {""}
    assert len(api.trusted) == 1


async def test_a_check_with_nothing_to_do_writes_nothing(start: Start, api: MemoryApi, clock: Clock) -> None:
    replica = await start()
    clock.advance(MINUTE)
    api.calls.clear()
    await replica.check()
    assert [verb for verb, path in api.calls if "selfsubject" not in path] == ["get", "get"]


async def test_a_leaf_is_renewed_after_two_thirds_of_its_life(start: Start, api: MemoryApi, clock: Clock) -> None:
    replica = await start()
    replica.words()
    clock.advance(7 * DAY * 2 / 3 - MINUTE)
    await replica.check()
    assert replica.words() == []
    clock.advance(MINUTE)
    with capture_logs() as logs:
        await replica.check()
    assert replica.words() == ["leaf due"]
    assert [(line["event"], line["what"], line["reason"], line["why"]) for line in logs] == [
        ("certificate_changed", "leaf", "due", "two thirds of its life are over")
    ]
    assert replica.handshake(api.bundle) == ""


async def test_a_new_ca_signs_only_after_it_was_trusted_at_two_checks_in_a_row(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica, other = await start(), await start()
    old = api.trust.signer
    clock.advance(365 * DAY * 2 / 3)
    for one in (replica, other):
        await one.check()
    assert replica.words()[-3:] == ["ca due", "ca-bundle not-trusted", "leaf expired"]
    assert api.trusted == (api.trust.signer.certificate, old.certificate)
    assert replica.authority == other.authority == old.certificate
    await replica.check()  # at once, as after a failure
    assert replica.authority == old.certificate
    clock.advance(MINUTE)
    await replica.check()
    assert replica.words() == ["leaf ca-changed"]
    assert replica.authority == api.trust.signer.certificate
    assert replica.handshake(api.bundle) == other.handshake(api.bundle) == ""


async def test_the_old_ca_stays_trusted_until_its_last_leaf_has_expired(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica = await start()
    await replica.keeper.rotate()
    clock.advance(8 * DAY - MINUTE)
    await replica.check()
    assert len(api.trusted) == 2
    replica.words()
    clock.advance(MINUTE)
    await replica.check()
    assert replica.words()[:2] == ["ca overlap-ended", "ca-bundle not-trusted"]
    assert api.trusted == (api.trust.signer.certificate,)


async def test_a_replica_that_sees_a_new_ca_late_never_takes_it_out_of_the_bundle(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    late = await start()
    api.set_bundle(b"")  # so that it wants to write

    rotated = False

    def rotate_in_between(verb: str, path: str) -> None:
        nonlocal rotated
        if verb == "patch" and path == CONFIGURATION and not rotated:
            rotated = True
            # The late replica has read the Secret, and is about to write the bundle.
            both = api.trust.succeeded_by(Issuer(NAMES, clock=clock).authority(), clock() + DAY)
            api.put(SECRET, api.objects[SECRET] | {"data": both.to_data()})
            api.set_bundle(both.bundle)

    api.before = rotate_in_between
    await late.check()
    assert len(api.trusted) == 2
    assert "was changed at the same time" in late.source.trusted().text
    await late.check()
    assert late.source.trusted().text == "MutatingWebhookConfiguration zz-webhook trusts our CA"


async def test_a_leaked_ca_is_dropped_at_once_and_replicas_follow_at_their_next_check(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replicas = [await start(), await start()]
    leaked = api.trust.signer.certificate
    await replicas[0].keeper.rotate(drop_old=True)
    clock.advance(MINUTE)
    for replica in replicas:
        await replica.check()
    assert leaked not in api.trusted
    assert {replica.handshake(api.bundle) for replica in replicas} == {""}


async def test_a_year_and_a_half_of_checks_and_rotations_fails_no_handshake(api: MemoryApi, clock: Clock) -> None:
    chance = random.Random(7)  # noqa: S311 - the same order each time
    replicas = [await Replica(api, clock).start() for _ in range(3)]
    failed, handshakes, seen_before = [], 0, api.bundle
    for step in range(900):
        # Mostly long pauses; around changes the minutes in which they happen.
        clock.advance(MINUTE if step % 3 else timedelta(hours=44))
        if step == 500:
            await replicas[0].keeper.rotate()
        if step % 97 == 0:
            api.set_bundle(b"")
        for replica in chance.sample(replicas, 3):
            await replica.check()
            if step % 10 < 2 or (len(api.trusted) > 1 and step % 3 < 2):
                # API servers hear of a new bundle a little later.
                results = [one.handshake(bundle) for one in replicas for bundle in (seen_before, api.bundle)]
                failed += [text for text in results if text]
                handshakes += len(results)
        if step % 150 == 0:
            replicas[step // 150 % 3] = await Replica(api, clock).start()
        seen_before = api.bundle
    assert failed == []
    assert handshakes > 3000
    assert clock() - api.trust.signer.certificate.not_valid_before_utc < 365 * DAY


async def test_a_ca_bundle_that_somebody_removed_is_put_back_at_the_next_check(start: Start, api: MemoryApi) -> None:
    replica = await start()
    bundle = api.bundle
    replica.words()
    for removed in (b"", b"-----BEGIN nonsense", bundle + bundle):
        api.set_bundle(removed)
        await replica.check()
        assert api.bundle == bundle
    assert replica.words() == ["ca-bundle not-trusted"] * 3


async def test_a_missing_configuration_is_named_and_the_replica_becomes_ready_when_it_appears(
    start: Start, api: MemoryApi
) -> None:
    configuration = api.objects.pop(CONFIGURATION)
    replica = await start()
    assert replica.source.healthy().ok
    assert not replica.source.trusted().ok
    assert replica.source.trusted().text == (
        "MutatingWebhookConfiguration zz-webhook does not exist; install it, or name the right one in "
        "server.tls.webhookConfiguration"
    )
    api.put(CONFIGURATION, configuration)
    await replica.check()
    assert replica.source.trusted().ok


async def test_a_configuration_without_webhooks_is_named(start: Start, api: MemoryApi) -> None:
    api.objects[CONFIGURATION]["webhooks"] = []
    replica = await start()
    assert replica.source.trusted().text.endswith("has no webhooks, so no API server calls anybody")


async def test_a_replica_without_its_cluster_is_not_ready_and_says_why(start: Start, api: MemoryApi) -> None:
    api.problem = lambda _verb, _path: ApiProblem(0, "the API cannot be reached")
    with capture_logs() as logs:
        replica = await start()
        await replica.check()
    assert [line["event"] for line in logs] == ["certificates_incomplete"]
    assert not replica.source.healthy().ok
    assert replica.source.healthy().text.startswith("there is no CA yet; the API cannot be reached")
    api.problem = lambda _verb, _path: None
    await replica.check()
    assert replica.source.healthy().ok


async def test_an_outage_makes_no_replica_unready_and_leaves_are_renewed_all_the_same(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica = await start()
    replica.words()
    bundle = api.bundle
    api.problem = lambda _verb, _path: ApiProblem(0, "the API cannot be reached")
    clock.advance(6 * DAY)
    await replica.check()
    assert replica.words() == ["leaf due"]
    assert replica.source.healthy().ok
    assert replica.source.trusted().ok
    assert replica.source.trusted().text.startswith("the API cannot be reached")
    assert replica.handshake(bundle) == ""


async def test_a_missing_permission_is_told_in_the_words_of_the_api_server(start: Start, api: MemoryApi) -> None:
    def forbid(verb: str, path: str) -> ApiProblem | None:
        return ApiProblem(403, "secrets is forbidden") if (verb, path) == ("get", SECRET) else None

    api.problem = forbid
    replica = await start()
    assert replica.source.healthy().text == "there is no CA yet; secrets is forbidden"


async def test_an_answer_of_an_odd_shape_ends_nothing(start: Start, api: MemoryApi) -> None:
    replica = await start()
    secret, api.objects[SECRET] = api.objects[SECRET], {"data": {"captcha": "eA=="}}
    await replica.check()
    assert "an answer of the API server cannot be read: KeyError: 'metadata'" in replica.source.healthy().text
    assert replica.handshake(api.bundle) == ""
    api.objects[SECRET] = secret
    await replica.check()
    assert "cannot be read" not in replica.source.healthy().text


async def test_a_replica_that_slept_longer_than_its_leaf_lives_serves_a_new_one(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica = await start()
    replica.words()
    clock.advance(8 * DAY)
    assert not replica.source.healthy().ok
    await replica.check()
    assert replica.words() == ["leaf expired"]
    assert replica.handshake(api.bundle) == ""


async def test_the_running_source_hands_over_each_new_pair(start: Start, clock: Clock) -> None:
    replica = await start()
    clock.advance(6 * DAY)
    handed: asyncio.Queue[object] = asyncio.Queue()
    running = asyncio.create_task(replica.source.run(handed.put_nowait))
    assert await asyncio.wait_for(handed.get(), 5) == replica.source.current()
    running.cancel()


def test_a_source_that_was_not_started_has_no_pair(api: MemoryApi, clock: Clock) -> None:
    with pytest.raises(RuntimeError, match="was not started"):
        Replica(api, clock).source.current()
