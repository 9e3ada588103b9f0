"""Unused templates go after the grace period, and never from under a pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.cluster.api import ApiError, Connection
from app.cluster.sweeper import Sweep, Sweeper
from app.cluster.templates import ApiTemplateStore
from tests.store.fake_api import FakeApi
from tests.store.kit import GRACE, Clock, Tally, eventually, pod, template

NAME = template().name
Make = Callable[[str], Sweeper]


@pytest.fixture
def make(connection: Connection, clock: Clock, tally: Tally) -> Make:
    """Makes the sweeper of a replica."""

    def made(identity: str) -> Sweeper:
        interval = timedelta(seconds=0.02)
        return Sweeper(
            connection,
            namespace="system",
            identity=identity,
            grace_period=GRACE,
            interval=interval,
            clock=clock,
            observer=tally,
        )

    return made


@pytest.fixture
def sweeper(make: Make) -> Sweeper:
    return make("one")


async def test_an_unused_template_goes_after_the_grace_period(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock, tally: Tally
) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=60)
    assert await sweeper.sweep() == Sweep(marked=1)
    clock.pass_(minutes=1)
    assert await sweeper.sweep() == Sweep(marked=1, removed=1)
    assert api.templates() == {}
    assert tally.counts["removed"] == 1


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
async def test_a_template_that_a_pod_names_stays(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock, phase: str
) -> None:
    await store.ensure("team", template())
    naming = pod("user", NAME, phase=phase)
    naming["metadata"]["labels"] = {}  # whoever wrote the pod
    api.put("pods", naming)
    clock.pass_(days=3)
    assert await sweeper.sweep() == Sweep(marked=1, in_use=1)


async def test_a_pod_of_another_namespace_keeps_nothing(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    await store.ensure("team", template())
    api.put("pods", pod("user", NAME, namespace="other"))
    clock.pass_(days=3)
    assert (await sweeper.sweep()).removed == 1


async def test_an_unmarked_template_stays(api: FakeApi, sweeper: Sweeper) -> None:
    api.put("resourceclaimtemplates", template().body("team"))
    assert await sweeper.sweep() == Sweep(marked=0)
    assert api.templates()


@pytest.mark.parametrize("stamp", [None, "yesterday", ""])
async def test_without_a_readable_stamp_the_creation_counts(
    api: FakeApi, sweeper: Sweeper, clock: Clock, stamp: str | None
) -> None:
    body = template().body("team", marked=True)
    body["metadata"]["creationTimestamp"] = "2026-01-31T11:30:00Z"
    if stamp is not None:
        body["metadata"]["annotations"]["hami.io/dra-webhook-renewed"] = stamp
    api.put("resourceclaimtemplates", body)
    assert (await sweeper.sweep()).removed == 0
    clock.pass_(minutes=31)
    assert (await sweeper.sweep()).removed == 1


async def test_a_stamp_that_is_renewed_while_the_sweeper_looks_saves_the_template(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    """The pod is not in the list yet: its admission and the sweeper's round run at the same time."""
    await store.ensure("team", template())
    clock.pass_(minutes=61)

    async def a_pod_is_admitted(call: str) -> None:
        if call == "list pods":
            await store.ensure("team", template())

    api.before_answer = a_pod_is_admitted
    assert await sweeper.sweep() == Sweep(marked=1, overtaken=1)
    assert NAME in api.templates()


async def test_an_admission_right_after_the_deletion_writes_the_template_again(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    """The store still knows the template, for the event of its deletion has not arrived."""
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.fail("watch", 500, "no", times=1000)
    api.cut_watches()
    await eventually(lambda: not api.watching)
    clock.pass_(minutes=61)
    assert (await sweeper.sweep()).removed == 1
    assert store.known == 1
    await store.ensure("team", template())
    assert NAME in api.templates()


async def test_a_template_in_use_by_the_store_is_never_old_enough(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    for _ in range(200):
        await store.ensure("team", template())
        clock.pass_(minutes=7)
        assert (await sweeper.sweep()).removed == 0
    assert api.count("create resourceclaimtemplates") == 1


async def test_lists_are_read_page_by_page(api: FakeApi, sweeper: Sweeper, clock: Clock) -> None:
    for i in range(300):
        api.put("resourceclaimtemplates", template(f"t{i}").body("team", marked=True))
        api.put("pods", pod(f"p{i}", f"t{i}"))
    clock.pass_(days=1)
    assert await sweeper.sweep() == Sweep(marked=300, in_use=300)
    assert api.count("list pods") == 3


async def test_a_namespace_that_cannot_be_looked_at_is_left_alone(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    await store.ensure("first", template())
    await store.ensure("second", template())
    clock.pass_(days=1)
    calls: list[str] = []

    def first_fails(call: str) -> None:
        calls.append(call)
        if calls == ["list resourceclaimtemplates", "list pods"]:
            api.fail("list", 403, "cannot list pods", "Forbidden")

    api.before_answer = first_fails
    assert await sweeper.sweep() == Sweep(marked=2, removed=1)
    assert api.templates("first")


async def test_one_replica_sweeps_and_another_takes_over(
    api: FakeApi, store: ApiTemplateStore, make: Make, clock: Clock
) -> None:
    one = asyncio.create_task(make("one").run())
    await eventually(lambda: api.objects.get(("leases", "system", "hami-dra-webhook-sweeper")))
    two = asyncio.create_task(make("two").run())
    await asyncio.sleep(0.1)
    lease = api.objects["leases", "system", "hami-dra-webhook-sweeper"]
    assert lease["spec"]["holderIdentity"] == "one"
    one.cancel()
    await asyncio.gather(one, return_exceptions=True)
    await eventually(lambda: _holder(api) == "two")
    await store.ensure("team", template())
    clock.pass_(days=1)
    await eventually(lambda: not api.templates())
    two.cancel()
    await asyncio.gather(two, return_exceptions=True)
    assert _holder(api) == ""


async def test_a_dead_replica_loses_the_lease(api: FakeApi, make: Make, clock: Clock) -> None:
    assert await make("dead")._lease.hold()
    alive = make("alive")._lease
    assert not await alive.hold()
    clock.pass_(seconds=30)
    assert await alive.hold()
    spec = api.objects["leases", "system", "hami-dra-webhook-sweeper"]["spec"]
    assert spec["leaseTransitions"] == 1


async def test_a_lost_race_for_the_lease_is_no_error(api: FakeApi, make: Make) -> None:
    api.fail("create", 409, "already exists", "AlreadyExists")
    assert not await make("one")._lease.hold()


async def test_a_refused_lease_is_told(api: FakeApi, make: Make) -> None:
    api.fail("create", 403, "cannot create leases", "Forbidden")
    with pytest.raises(ApiError, match="cannot create leases"):
        await make("one")._lease.hold()


async def test_a_lease_that_somebody_else_took_is_not_released(api: FakeApi, make: Make, clock: Clock) -> None:
    slow = make("slow")._lease
    assert await slow.hold()
    clock.pass_(seconds=30)
    quick = make("quick")._lease
    await quick.hold()
    clock.pass_(seconds=30)
    assert await quick.hold()
    await slow.release()
    assert _holder(api) == "quick"


async def test_the_sweeper_survives_failures(api: FakeApi, store: ApiTemplateStore, make: Make, clock: Clock) -> None:
    await store.ensure("team", template())
    clock.pass_(days=1)
    api.fail("get", 500, "no")
    api.fail("delete", 500, "no")
    running = asyncio.create_task(make("one").run())
    await eventually(lambda: not api.templates())
    api.fail("get", 500, "no", times=10)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def _holder(api: FakeApi) -> str:
    return str(api.objects["leases", "system", "hami-dra-webhook-sweeper"]["spec"]["holderIdentity"])


async def test_a_namespace_whose_templates_may_not_be_deleted_holds_up_no_other(
    api: FakeApi, store: ApiTemplateStore, sweeper: Sweeper, clock: Clock
) -> None:
    for namespace in ("frozen", "later", "last"):
        await store.ensure(namespace, template())
    clock.pass_(days=3)

    for round_ in (Sweep(marked=3, removed=2), Sweep(marked=1)):
        api.fail("delete", 403, "the namespace is frozen", "Forbidden")
        assert await sweeper.sweep() == round_
    assert len(api.templates("frozen")) == 1
