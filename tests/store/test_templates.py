"""A template exists before its pod is admitted, for as few API calls as possible."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from app.cluster.store import StoreUnavailable, TemplateFieldDropped, TemplateNameTaken, TemplateRefused
from app.cluster.templates import ApiTemplateStore
from tests.store.conftest import Start
from tests.store.fake_api import FakeApi
from tests.store.kit import Clock, Tally, claim_spec, eventually, template

CREATE, GET, PATCH, DELETE = (f"{verb} resourceclaimtemplates" for verb in ("create", "get", "patch", "delete"))
QUOTA = 'resourceclaimtemplates.resource.k8s.io "t" is forbidden: exceeded quota: few, requested: …'


def without_capacity(item: dict[str, Any]) -> None:
    """What an API server does whose gate DRAConsumableCapacity is off."""
    for request in item["spec"]["spec"]["devices"]["requests"]:
        request["exactly"].pop("capacity", None)


async def test_an_unknown_template_is_written_with_mark_summary_and_stamp(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    await store.ensure("team", template())
    written = api.templates()["gpu-1x-8000mi-0c-abcde"]
    assert written["spec"] == {"spec": claim_spec()}
    assert written["metadata"]["labels"] == {"hami.io/dra-webhook-template": "true"}
    assert written["metadata"]["annotations"] == {
        "hami.io/dra-webhook-asks": "1 card, 8000 MiB",
        "hami.io/dra-webhook-renewed": "2026-01-31T12:00:00Z",
    }


async def test_a_known_template_costs_no_api_call(api: FakeApi, store: ApiTemplateStore, tally: Tally) -> None:
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    before = len(api.calls)
    for _ in range(20):
        await store.ensure("team", template())
    assert len(api.calls) == before
    assert (tally.counts["created"], tally.counts["reused"]) == (1, 20)


async def test_a_template_that_another_replica_wrote_costs_no_api_call(api: FakeApi, start: Start) -> None:
    first, second = await start(), await start()
    await eventually(lambda: api.watching == 2)
    await first.ensure("team", template())
    await eventually(lambda: second.known)
    await second.ensure("team", template())
    assert api.count(CREATE) == 1


async def test_templates_from_before_the_start_cost_no_api_call(api: FakeApi, start: Start, clock: Clock) -> None:
    for i in range(3):
        body = template(f"t{i}").body("team", marked=True)
        body["metadata"]["annotations"]["hami.io/dra-webhook-renewed"] = clock.now.isoformat()
        api.put("resourceclaimtemplates", body)
    store = await start()
    for i in range(3):
        await store.ensure("team", template(f"t{i}"))
    assert api.count(CREATE) == 0


async def test_concurrent_calls_for_one_template_share_one_api_call(
    api: FakeApi, store: ApiTemplateStore, tally: Tally
) -> None:
    api.delay = 0.05
    await asyncio.gather(*(store.ensure("team", template()) for _ in range(50)))
    assert api.count(CREATE) == 1
    assert (tally.counts["created"], tally.counts["reused"]) == (1, 49)


async def test_the_same_template_in_two_namespaces_is_two_templates(api: FakeApi, store: ApiTemplateStore) -> None:
    await asyncio.gather(store.ensure("team", template()), store.ensure("other", template()))
    assert len(api.templates("team")) == len(api.templates("other")) == 1


async def test_a_failure_does_not_poison_later_calls(api: FakeApi, store: ApiTemplateStore) -> None:
    api.fail("create", 403, QUOTA, "Forbidden")
    with pytest.raises(TemplateRefused):
        await store.ensure("team", template())
    await store.ensure("team", template())
    assert api.templates()


async def test_a_cancelled_caller_does_not_cancel_the_others(api: FakeApi, store: ApiTemplateStore) -> None:
    api.delay = 0.1
    first = asyncio.create_task(store.ensure("team", template()))
    await eventually(lambda: api.count(CREATE))
    second = asyncio.create_task(store.ensure("team", template()))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled()
    assert api.count(CREATE) == 1


async def test_when_every_caller_has_gone_a_failure_is_nobody_s_problem(api: FakeApi, store: ApiTemplateStore) -> None:
    api.delay = 0.05
    api.fail("create", 403, QUOTA, "Forbidden")
    only = asyncio.create_task(store.ensure("team", template()))
    await eventually(lambda: api.count(CREATE))
    only.cancel()
    await asyncio.gather(only, return_exceptions=True)
    await eventually(lambda: api.count(GET))
    await asyncio.sleep(0.1)
    await store.ensure("team", template())


async def test_a_dry_run_makes_no_api_call(api: FakeApi, store: ApiTemplateStore, clock: Clock) -> None:
    await eventually(lambda: api.watching)
    before = len(api.calls)
    await store.ensure("team", template(), dry_run=True)
    assert len(api.calls) == before
    await store.ensure("team", template())
    clock.pass_(minutes=50)
    before = len(api.calls)
    await store.ensure("team", template(), dry_run=True)
    assert len(api.calls) == before, "a dry run does not renew a stamp"


async def test_a_dry_run_says_that_a_name_is_known_to_be_taken(api: FakeApi, store: ApiTemplateStore) -> None:
    api.put("resourceclaimtemplates", template(spec=claim_spec("1Gi")).body("team", marked=True))
    await eventually(lambda: store.known)
    with pytest.raises(TemplateNameTaken):
        await store.ensure("team", template(), dry_run=True)


async def test_an_unmarked_template_with_our_content_is_used_and_never_marked(
    api: FakeApi, start: Start, clock: Clock
) -> None:
    body = template(spec=claim_spec("8000Mi", allocationMode="ExactCount", count=1)).body("team")
    api.put("resourceclaimtemplates", body)
    store = await start()
    await store.ensure("team", template())
    clock.pass_(hours=5)
    calls = len(api.calls)
    await store.ensure("team", template())
    assert "labels" not in api.templates()[template().name]["metadata"]
    assert api.count(PATCH) == 0
    assert len(api.calls) == calls, "and it is known from then on"


async def test_an_unmarked_template_that_was_used_is_missed_when_it_is_deleted(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    api.put("resourceclaimtemplates", template().body("team"))
    await store.ensure("team", template())
    await eventually(lambda: api.watching)
    api.remove("resourceclaimtemplates", "team", template().name)
    await eventually(lambda: not store.known)
    await store.ensure("team", template())
    assert api.templates()[template().name]["metadata"]["labels"]


async def test_templates_of_others_are_not_remembered(api: FakeApi, start: Start) -> None:
    for i in range(3):
        api.put("resourceclaimtemplates", template(f"theirs-{i}").body("team"))
    assert (await start()).known == 0


async def test_a_name_with_other_content_is_taken(api: FakeApi, store: ApiTemplateStore, tally: Tally) -> None:
    api.put("resourceclaimtemplates", template(spec=claim_spec("1Gi")).body("team"))
    for _ in range(2):
        with pytest.raises(TemplateNameTaken) as taken:
            await store.ensure("team", template())
    assert taken.value.name == template().name
    assert api.count(GET) == 1, "the second time it is known"
    assert tally.counts["failed name-taken"] == 2


async def test_a_template_that_is_being_deleted_counts_as_taken(api: FakeApi, store: ApiTemplateStore) -> None:
    body = template().body("team", marked=True)
    body["metadata"] |= {"deletionTimestamp": "2026-01-31T12:00:00Z", "finalizers": ["foregroundDeletion"]}
    api.put("resourceclaimtemplates", body)
    with pytest.raises(TemplateNameTaken):
        await store.ensure("team", template())


async def test_an_exhausted_quota_does_not_matter_when_the_template_exists(api: FakeApi, start: Start) -> None:
    api.put("resourceclaimtemplates", template().body("team"))
    store = await start()
    api.fail("create", 403, QUOTA, "Forbidden")
    await store.ensure("team", template())


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (403, QUOTA, "Forbidden"),
        (404, 'namespaces "team" not found', "NotFound"),
        (422, "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value", "Invalid"),
    ],
)
async def test_a_refusal_is_told_in_the_api_server_s_words(
    api: FakeApi, store: ApiTemplateStore, code: int, message: str, reason: str
) -> None:
    api.fail("create", code, message, reason)
    with pytest.raises(TemplateRefused) as refused:
        await store.ensure("team", template())
    assert (str(refused.value), refused.value.code) == (message, code)


async def test_a_cluster_without_the_api_is_told_which_version_it_needs(api: FakeApi, store: ApiTemplateStore) -> None:
    api.fail("create", 404, "404 page not found")
    with pytest.raises(TemplateRefused, match=r"does not serve resource.k8s.io/v1: Kubernetes ≥ 1.34 is needed"):
        await store.ensure("team", template())


@pytest.mark.parametrize(("code", "reason"), [(429, "TooManyRequests"), (500, "InternalError"), (504, "Timeout")])
async def test_the_api_server_s_own_trouble_is_unavailability(
    api: FakeApi, store: ApiTemplateStore, code: int, reason: str
) -> None:
    api.fail("create", code, "etcdserver: request timed out", reason)
    with pytest.raises(StoreUnavailable, match="etcdserver: request timed out"):
        await store.ensure("team", template())


async def test_lost_credentials_are_told_as_such(api: FakeApi, store: ApiTemplateStore) -> None:
    api.fail("create", 401, "Unauthorized", "Unauthorized")
    with pytest.raises(TemplateRefused, match="does not know the webhook's credentials: Unauthorized"):
        await store.ensure("team", template())


async def test_colliding_quota_updates_are_tried_again(api: FakeApi, store: ApiTemplateStore) -> None:
    api.fail("create", 409, 'Operation cannot be fulfilled on resourcequotas "few"', "Conflict")
    await store.ensure("team", template())
    assert api.count(CREATE) == 2


async def test_a_name_that_cannot_be_read_is_reported_with_the_reason(api: FakeApi, start: Start) -> None:
    api.put("resourceclaimtemplates", template().body("team"))
    store = await start()
    api.fail("get", 403, "cannot get resource", "Forbidden")
    with pytest.raises(TemplateRefused, match="cannot get resource"):
        await store.ensure("team", template())


async def test_a_slow_api_server_is_given_up_within_the_budget(api: FakeApi, start: Start) -> None:
    store = await start(request_timeout=timedelta(seconds=0.1))
    api.delay = 30
    began = asyncio.get_running_loop().time()
    with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.1 s"):
        await store.ensure("team", template())
    assert asyncio.get_running_loop().time() - began < 10, "the rest is for a busy machine"


async def test_a_template_whose_answer_came_too_late_serves_the_next_pod(api: FakeApi, start: Start) -> None:
    store = await start(request_timeout=timedelta(seconds=0.5))
    await eventually(lambda: api.watching)
    api.answer_delay = 30
    with pytest.raises(StoreUnavailable):
        await store.ensure("team", template())
    await eventually(lambda: store.known)
    await store.ensure("team", template())
    assert api.count(CREATE) == 1


async def test_an_absent_api_server_refuses_unknown_templates_only(
    api: FakeApi, store: ApiTemplateStore, clock: Clock
) -> None:
    await store.ensure("team", template())
    await api.stop()
    clock.pass_(minutes=50)
    await store.ensure("team", template())
    with pytest.raises(StoreUnavailable, match=f"the Kubernetes API at {api.url} cannot be reached"):
        await store.ensure("team", template("another"))


async def test_an_outage_slows_down_one_pod_not_all(api: FakeApi, start: Start, clock: Clock) -> None:
    store = await start(request_timeout=timedelta(seconds=0.5))
    await store.ensure("team", template())
    clock.pass_(minutes=50)
    api.delay = 30
    for _ in range(5):
        await store.ensure("team", template())
    assert api.count(PATCH) == 1
    api.delay = 0
    clock.pass_(minutes=1)
    await store.ensure("team", template())
    assert api.templates()[template().name]["metadata"]["annotations"]["hami.io/dra-webhook-renewed"] == (
        "2026-01-31T12:51:00Z"
    )


async def test_a_dead_pooled_connection_costs_nothing_but_a_repeat(api: FakeApi, store: ApiTemplateStore) -> None:
    await eventually(lambda: api.watching)
    api.hang_up = 1
    await store.ensure("team", template())
    assert api.count(CREATE) == 2


async def test_a_connection_that_dies_twice_is_unavailability(api: FakeApi, store: ApiTemplateStore) -> None:
    await eventually(lambda: api.watching)
    api.hang_up = 2
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.ensure("team", template())


async def test_a_dropped_field_is_refused_naming_the_gate_and_leaves_nothing_behind(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    api.change = without_capacity
    with pytest.raises(TemplateFieldDropped, match="feature gate DRAConsumableCapacity") as lost:
        await store.ensure("team", template())
    assert lost.value.fields == ("devices.requests[0].exactly.capacity",)
    assert api.templates() == {}


async def test_a_dropped_field_is_remembered_for_a_minute(api: FakeApi, store: ApiTemplateStore, clock: Clock) -> None:
    api.change = without_capacity
    for name in ("first", "second"):
        with pytest.raises(TemplateFieldDropped):
            await store.ensure("team", template(name))
    with pytest.raises(TemplateFieldDropped):
        await store.ensure("team", template("dry"), dry_run=True)
    assert api.count(CREATE) == 1
    await store.ensure("team", template("whole", spec={"devices": {"requests": [{"name": "g", "exactly": {}}]}}))
    api.change = lambda _: None
    clock.pass_(minutes=2)
    await store.ensure("team", template("second"))


async def test_a_refusal_of_the_hole_that_a_dropped_field_left_names_the_gate(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    spec = claim_spec()
    spec["devices"]["constraints"] = [{"requests": ["gpu"], "distinctAttribute": "gpu.example.com/uuid"}]
    api.fail("create", 422, "spec.spec.devices.constraints[0].matchAttribute: Required value", "Invalid")
    with pytest.raises(TemplateFieldDropped, match="DRAConsumableCapacity") as lost:
        await store.ensure("team", template(spec=spec))
    assert lost.value.fields == ("devices.constraints[0].distinctAttribute",)


async def test_a_template_that_another_webhook_changed_is_refused_and_taken_back(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    def more_cards(item: dict[str, Any]) -> None:
        item["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 4

    api.change = more_cards
    with pytest.raises(TemplateRefused, match="changed on its way"):
        await store.ensure("team", template())
    assert api.templates() == {}


async def test_a_template_that_cannot_be_taken_back_is_refused_all_the_same(
    api: FakeApi, store: ApiTemplateStore
) -> None:
    api.change = without_capacity
    api.fail("delete", 500, "no")
    with pytest.raises(TemplateFieldDropped):
        await store.ensure("team", template())


async def test_answers_are_compared_by_value(api: FakeApi, store: ApiTemplateStore) -> None:
    def as_the_api_server_prints_it(item: dict[str, Any]) -> None:
        exactly = item["spec"]["spec"]["devices"]["requests"][0]["exactly"]
        exactly |= {"allocationMode": "ExactCount", "count": 1}
        exactly["capacity"]["requests"]["memory"] = "8Gi"

    api.change = as_the_api_server_prints_it
    await store.ensure("team", template(spec=claim_spec("8192Mi")))
