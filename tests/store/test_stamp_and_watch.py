"""The renew stamp is written before a pod relies on it, and the watch keeps the memory true."""

from __future__ import annotations

import asyncio

import pytest

from app.cluster import api as api_module
from app.cluster import restore
from app.cluster.store import StoreUnavailable, TemplateNameTaken
from app.cluster.templates import ApiTemplateStore
from app.translate import Template
from tests.store.conftest import Start
from tests.store.fake_api import FakeApi
from tests.store.kit import Clock, Tally, claim_spec, eventually, pod, template

CREATE, GET, PATCH, LIST = (f"{verb} resourceclaimtemplates" for verb in ("create", "get", "patch", "list"))
NAME = template().name


def stamp_of(api: FakeApi) -> str:
    return str(api.templates()[NAME]["metadata"]["annotations"]["hami.io/dra-webhook-renewed"])


async def test_the_stamp_is_renewed_after_a_quarter_of_the_grace_period(
    api: FakeApi, store: ApiTemplateStore, clock: Clock, tally: Tally
) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=15)
    await store.ensure("team", template())
    assert api.count(PATCH) == 0
    clock.pass_(minutes=1)
    await asyncio.gather(*(store.ensure("team", template()) for _ in range(10)))
    assert api.count(PATCH) == 1
    assert stamp_of(api) == "2026-01-31T12:16:00Z"
    assert tally.counts["renewed"] == 1
    assert api.templates()[NAME]["spec"] == {"spec": claim_spec()}


async def test_a_stamp_of_another_replica_counts(api: FakeApi, start: Start, clock: Clock) -> None:
    first, second = await start(), await start()
    await first.ensure("team", template())
    await eventually(lambda: second.known)
    clock.pass_(minutes=20)
    await first.ensure("team", template())
    api.put("resourceclaimtemplates", template("later").body("team", marked=True))
    await eventually(lambda: second.known == 2)  # and so it has seen the stamp, which came before
    await second.ensure("team", template())
    assert api.count(PATCH) == 1


async def test_an_old_stamp_is_renewed_also_when_the_template_was_not_known_yet(api: FakeApi, start: Start) -> None:
    store = await start()
    await eventually(lambda: api.watching)
    api.fail("watch", 500, "no", times=100)
    api.cut_watches()
    await eventually(lambda: not api.watching)
    api.put("resourceclaimtemplates", template().body("team", marked=True))
    await store.ensure("team", template())
    assert stamp_of(api) == "2026-01-31T12:00:00Z", "it had none, and was created in January's first hour"


async def test_a_template_that_is_gone_when_its_stamp_is_written_is_created_again(
    api: FakeApi, store: ApiTemplateStore, clock: Clock
) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=20)

    def sweeper_is_quicker(call: str) -> None:
        if call == PATCH and api.templates():
            api.remove("resourceclaimtemplates", "team", NAME)

    api.before_answer = sweeper_is_quicker
    await store.ensure("team", template())
    assert stamp_of(api) == "2026-01-31T12:20:00Z"


async def test_a_template_that_was_made_again_by_somebody_else_is_looked_at_again(
    api: FakeApi, store: ApiTemplateStore, clock: Clock
) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=20)

    def replaced(call: str) -> None:
        if call == PATCH:
            api.before_answer = lambda _: None
            api.remove("resourceclaimtemplates", "team", NAME)
            api.put("resourceclaimtemplates", template().body("team"))

    api.before_answer = replaced
    await store.ensure("team", template())
    assert "labels" not in api.templates()[NAME]["metadata"]


async def test_a_template_that_is_found_in_deletion_when_its_stamp_is_written_is_not_used(
    api: FakeApi, store: ApiTemplateStore, clock: Clock
) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=20)

    def deletion_begins(call: str) -> None:
        if call == PATCH:
            api.templates()[NAME]["metadata"]["deletionTimestamp"] = "2026-01-31T12:20:00Z"

    api.before_answer = deletion_begins
    with pytest.raises(TemplateNameTaken):
        await store.ensure("team", template())


async def test_a_template_that_keeps_vanishing_is_given_up(api: FakeApi, store: ApiTemplateStore) -> None:
    api.fail("create", 409, "already exists", "AlreadyExists", times=100)
    with pytest.raises(StoreUnavailable, match=f"{NAME} could not be written: already exists"):
        await store.ensure("team", template())
    assert api.count(CREATE) == 3


async def test_the_deletion_of_an_earlier_template_does_not_hide_its_successor(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    """Its event may arrive after our own call has seen the new one."""
    await store.ensure("team", template())
    earlier = template().body("team", marked=True)
    earlier["metadata"]["uid"] = "earlier"
    store._known.deleted(earlier)
    calls = api.count(CREATE)
    await store.ensure("team", template())
    assert api.count(CREATE) == calls


async def test_closing_the_store_ends_what_runs(api: FakeApi, store: ApiTemplateStore) -> None:
    assert store.synced
    api.delay = 10
    waiting = asyncio.create_task(store.ensure("team", template()))
    await eventually(lambda: api.count(CREATE))
    await store.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_refused_stamp_does_not_stop_the_pod(api: FakeApi, store: ApiTemplateStore, clock: Clock) -> None:
    await store.ensure("team", template())
    clock.pass_(minutes=20)
    api.fail("patch", 403, "no permission", "Forbidden")
    await store.ensure("team", template())
    assert stamp_of(api) == "2026-01-31T12:00:00Z"


async def test_a_deleted_template_is_written_again_for_the_next_pod(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: not store.known)
    await store.ensure("team", template())
    assert NAME in api.templates()


async def test_a_template_in_deletion_is_no_longer_used(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    item = api.templates()[NAME]
    item["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    api.put("resourceclaimtemplates", item)
    await eventually(lambda: not store.known)


async def test_after_an_expired_watch_the_templates_are_listed_again(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.expire_watches()
    await eventually(lambda: api.count(LIST) == 2 and api.watching)
    api.put("resourceclaimtemplates", template("second").body("team", marked=True))
    await eventually(lambda: store.known == 2)


async def test_what_vanished_during_a_gap_of_the_watch_is_missed(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.cut_watches(silently=True)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: not store.known)


async def test_a_cut_watch_goes_on_where_it_stopped(api: FakeApi, store: ApiTemplateStore) -> None:
    await eventually(lambda: api.watching)
    api.cut_watches()
    api.put("resourceclaimtemplates", template().body("team", marked=True))
    await eventually(lambda: store.known)
    assert api.count("watch resourceclaimtemplates") == 2
    assert api.count(LIST) == 1


async def test_a_restarted_api_server_is_watched_again(api: FakeApi, store: ApiTemplateStore) -> None:
    await eventually(lambda: api.watching)
    await api.stop()
    await asyncio.sleep(0.1)
    await api.start(api.port)
    api.put("resourceclaimtemplates", template().body("team", marked=True))
    await eventually(lambda: store.known)


async def test_templates_are_listed_in_pages(api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cluster.watch._PAGE", 2)
    for i in range(5):
        api.put("resourceclaimtemplates", template(f"t{i}").body("team", marked=True))
    assert (await start()).known == 5
    assert api.count(LIST) == 3


async def test_without_permission_to_watch_a_known_template_is_asked_for_once_a_minute(
    api: FakeApi, start: Start, clock: Clock
) -> None:
    api.fail("list", 403, "cannot list", "Forbidden", times=1000)
    store = await start(wait=False)
    await eventually(lambda: api.count(LIST))
    for _ in range(3):
        await store.ensure("team", template())
    assert api.count(CREATE) == 1
    clock.pass_(minutes=2)
    await store.ensure("team", template())
    assert api.count(CREATE) == 2


async def test_an_api_server_in_trouble_takes_no_known_template_away(
    api: FakeApi, store: ApiTemplateStore, clock: Clock
) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    for verb in ("list", "watch", "create", "patch"):
        api.fail(verb, 503, "apiserver not ready", "ServiceUnavailable", times=1000)
    api.cut_watches()
    await eventually(lambda: api.count(LIST) > 1)
    clock.pass_(minutes=50)
    await store.ensure("team", template())


async def test_a_silent_watch_is_given_up(api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_WATCH_SILENCE_SECONDS", 0.05)
    await start()
    await eventually(lambda: api.count("watch resourceclaimtemplates") > 1)


async def test_a_template_that_vanished_while_pods_name_it_is_put_back(
    api: FakeApi, store: ApiTemplateStore, tally: Tally
) -> None:
    await store.ensure("team", template())
    api.put("pods", pod("waiting", NAME))
    await eventually(lambda: api.watching)
    before = api.templates()[NAME]
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(api.templates)
    after = api.templates()[NAME]
    assert after["spec"] == before["spec"]
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert tally.counts["restored"] == 1


async def test_a_pod_that_appears_only_after_the_deletion_gets_its_template_too(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: api.count("list pods") == 1)
    api.put("pods", pod("late", NAME))
    await eventually(api.templates)


async def test_a_template_that_vanished_during_a_gap_is_put_back(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.put("pods", pod("waiting", NAME))
    api.cut_watches(silently=True)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(api.templates)
    assert api.templates()[NAME]["metadata"]["annotations"]["hami.io/dra-webhook-asks"] == "1 card, 8000 MiB"


@pytest.mark.parametrize(("name", "phase"), [(NAME, "Succeeded"), (NAME, "Failed"), ("another", "Pending")])
async def test_a_template_that_no_waiting_pod_names_stays_gone(
    api: FakeApi, store: ApiTemplateStore, name: str, phase: str
) -> None:
    await store.ensure("team", template())
    api.put("pods", pod("other", name, phase=phase))
    await eventually(lambda: api.watching)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: api.count("list pods") == 3)
    assert api.templates() == {}


async def test_an_unmarked_template_is_never_put_back(api: FakeApi, store: ApiTemplateStore) -> None:
    api.put("resourceclaimtemplates", template().body("team"))
    await store.ensure("team", template())
    api.put("pods", pod("waiting", NAME))
    await eventually(lambda: api.watching)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: not store.known)
    await asyncio.sleep(0.05)
    assert api.templates() == {}
    assert api.count("list pods") == 0


async def test_templates_that_vanish_together_are_looked_up_together(
    api: FakeApi, store: ApiTemplateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "_LOOKS_SECONDS", (1, 5))  # time for all ten events to arrive
    names = [f"t{i}" for i in range(10)]
    for name in names:
        await store.ensure("team", Template(name, claim_spec(), ""))
        api.put("pods", pod(f"pod-{name}", name))
    await eventually(lambda: api.watching)
    for name in names:
        api.remove("resourceclaimtemplates", "team", name)
    await eventually(lambda: len(api.templates()) == 10)
    assert api.count("list pods") == 1


async def test_putting_back_survives_failures(api: FakeApi, store: ApiTemplateStore) -> None:
    await store.ensure("team", template())
    api.put("pods", pod("waiting", NAME))
    await eventually(lambda: api.watching)
    lists = api.count(LIST)
    api.fail("list", 500, "no")
    api.fail("create", 500, "no")
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(api.templates)
    assert api.count("list pods") == 3
    assert api.count(LIST) == lists


async def test_nothing_is_put_back_into_a_namespace_that_is_being_deleted(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    await store.ensure("team", template())
    api.put("pods", pod("waiting", NAME))
    await eventually(lambda: api.watching)
    api.fail("create", 403, "namespace team is being terminated", "Forbidden", times=100)
    api.remove("resourceclaimtemplates", "team", NAME)
    await eventually(lambda: api.count(GET) == 1)
    await asyncio.sleep(0.1)
    assert api.count("list pods") == 1
