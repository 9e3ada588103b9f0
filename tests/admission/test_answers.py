"""From a review to its answer, with the real translation; the store plays the API server's part."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.admission import AdmissionHandler, Record, parse_review
from app.admission.handler import MAX_NAME_ROUNDS
from app.cluster.memory import MemoryTemplateStore
from app.cluster.store import (
    StoreUnavailable,
    TemplateFieldDropped,
    TemplateNameTaken,
    TemplateRefused,
    TemplateStore,
)
from app.translate import Facts, Policy, Reason, Template
from tests.admission.reviews import SHARED, UID, admitted, legacy_keys, patch_of, pod, review

WHOLE = {"nvidia.com/gpu": "1"}


class Records(list[Record]):
    """A ReviewObserver that keeps what it is told."""

    def reviewed(self, record: Record) -> None:
        self.append(record)


class ScriptedStore:
    """Raises what it is told for each template, in the order of the calls; None = fine."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.calls: list[tuple[str, str, bool]] = []

    async def ensure(self, namespace: str, template: Template, *, dry_run: bool = False) -> None:
        self.calls.append((namespace, template.name, dry_run))
        error = self.errors.pop(0) if self.errors else None
        if isinstance(error, TemplateNameTaken):
            raise TemplateNameTaken(template.name)
        if error is not None:
            raise error


@pytest.fixture
def records() -> Records:
    return Records()


async def answer(store: TemplateStore, records: Records, body: bytes) -> Any:
    handler = AdmissionHandler(Policy(), Facts, store, records, clock=lambda: 1.25)
    return await handler.handle(parse_review(body), started=1.0)


async def test_a_legacy_pod_is_admitted_with_claims_whose_templates_exist(records: Records) -> None:
    store, legacy = MemoryTemplateStore(), pod(SHARED)
    response = await answer(store, records, review(legacy))
    stored = admitted(legacy, response)
    assert legacy_keys(stored) == set()
    names = [claim["resourceClaimTemplateName"] for claim in stored["spec"]["resourceClaims"]]
    assert list(store.templates) == [("team-a", names[0])]
    assert response["response"]["uid"] == UID
    assert response["response"]["auditAnnotations"] == {"outcome": "converted", "reason": "converted"}


async def test_a_pod_without_legacy_keys_is_allowed_without_a_patch(records: Records) -> None:
    response = await answer(MemoryTemplateStore(), records, review(pod({"cpu": "1"})))
    assert response["response"]["allowed"]
    assert "patch" not in response["response"]


@pytest.mark.parametrize(
    ("limits", "code", "reason", "words"),
    [
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "16Gi"}, 422, Reason.MEMORY_TOO_LARGE, "write 16384"),
        (
            {"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "101"},
            422,
            Reason.PERCENTAGE_OUT_OF_RANGE,
            "nvidia.com/gpumem-percentage",
        ),
        ({"nvidia.com/gpu": "33"}, 422, Reason.TOO_MANY_DEVICES, "33"),
    ],
)
async def test_a_value_that_cannot_be_is_invalid(
    records: Records, limits: dict[str, str], code: int, reason: Reason, words: str
) -> None:
    response = await answer(MemoryTemplateStore(), records, review(pod(limits)))
    status = response["response"]["status"]
    assert (status["code"], records[0].reason) == (code, reason)
    assert words in status["message"]
    assert status["message"].endswith(f"({reason})")
    assert "patch" not in response["response"]


async def test_a_refusal_by_settings_or_cluster_is_forbidden(records: Records) -> None:
    privileged = pod(SHARED)
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    response = await answer(MemoryTemplateStore(), records, review(privileged))
    assert response["response"]["status"]["code"] == 403
    assert "c0" in response["response"]["status"]["message"]


async def test_the_warnings_of_a_pod_reach_its_user(records: Records) -> None:
    both = {**SHARED, "nvidia.com/gpumem-percentage": "50"}
    response = await answer(MemoryTemplateStore(), records, review(pod(both)))
    warnings = response["response"]["warnings"]
    assert any("nvidia.com/gpumem-percentage" in line for line in warnings)
    assert all(len(line) <= 120 and line.isprintable() for line in warnings)
    assert Reason.MEMORY_AND_PERCENTAGE in records[0].warnings


async def test_the_templates_of_all_containers_are_made_at_the_same_time(records: Records) -> None:
    arrived, both = [], asyncio.Event()

    class Meeting:
        async def ensure(self, _namespace: str, template: Template, *, dry_run: bool = False) -> None:
            assert not dry_run
            arrived.append(template.name)
            if len(arrived) == 2:
                both.set()
            await both.wait()

    async with asyncio.timeout(5):
        await answer(Meeting(), records, review(pod(SHARED, WHOLE)))
    assert len(set(arrived)) == 2


async def test_a_dry_run_gets_the_same_patch_and_writes_nothing(records: Records) -> None:
    store = MemoryTemplateStore()
    dry = await answer(store, records, review(pod(SHARED), dryRun=True))
    assert store.templates == {}
    assert patch_of(dry) == patch_of(await answer(store, records, review(pod(SHARED))))
    assert [record.dry_run for record in records] == [True, False]


async def test_a_taken_name_makes_the_next_name(records: Records) -> None:
    store, legacy = ScriptedStore(TemplateNameTaken("")), pod(SHARED)
    stored = admitted(legacy, await answer(store, records, review(legacy)))
    first, second = (name for _, name, _ in store.calls)
    assert first != second
    assert stored["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == second


async def test_names_are_not_tried_for_ever(records: Records) -> None:
    store = ScriptedStore(*[TemplateNameTaken("")] * 100)
    response = await answer(store, records, review(pod(SHARED)))
    assert len({name for _, name, _ in store.calls}) == MAX_NAME_ROUNDS
    status = response["response"]["status"]
    assert status["code"] == 403
    assert store.calls[-1][1] in status["message"]
    assert "delete the ones that nobody needs" in status["message"]


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        (
            TemplateRefused('resourceclaimtemplates "t" is forbidden: exceeded quota: few', 403),
            403,
            Reason.TEMPLATE_REFUSED,
            'was refused: resourceclaimtemplates "t" is forbidden: exceeded quota: few',
        ),
        (TemplateRefused("spec: Invalid value", 422), 422, Reason.TEMPLATE_REFUSED, "was refused: spec: Invalid value"),
        (TemplateRefused("not found", 404), 403, Reason.TEMPLATE_REFUSED, "was refused: not found"),
        (StoreUnavailable("connection refused"), 503, Reason.TEMPLATE_UNAVAILABLE, "connection refused; try again"),
        (
            TemplateFieldDropped(("devices.requests[0].exactly.capacity",), "switch on DRAConsumableCapacity"),
            403,
            Reason.FEATURE_GATE_OFF,
            "switch on DRAConsumableCapacity",
        ),
    ],
)
async def test_a_pod_whose_template_cannot_be_had_is_denied_in_the_api_servers_words(
    records: Records, error: Exception, code: int, reason: Reason, message: str
) -> None:
    response = await answer(ScriptedStore(error), records, review(pod(SHARED)))
    assert not response["response"]["allowed"]
    assert response["response"]["status"]["code"] == code
    assert message in response["response"]["status"]["message"]
    assert "details" not in response["response"]["status"]
    assert (records[0].outcome, records[0].reason) == ("denied", reason)


async def test_when_one_of_two_templates_is_refused_the_pod_is_denied(records: Records) -> None:
    store = ScriptedStore(None, TemplateRefused("exceeded quota: few", 403))
    response = await answer(store, records, review(pod(SHARED, WHOLE)))
    assert "exceeded quota: few" in response["response"]["status"]["message"]
    assert store.calls[1][1] in response["response"]["status"]["message"]


@pytest.mark.parametrize("limits", [(SHARED,), (SHARED, WHOLE)])
async def test_a_failure_of_the_webhook_is_told_without_its_inside(
    records: Records, limits: tuple[dict[str, str], ...]
) -> None:
    secret = RuntimeError("secret inside /usr/lib/python")
    response = await answer(ScriptedStore(secret), records, review(pod(*limits)))
    status = response["response"]["status"]
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert status["message"] == f"the webhook failed on this pod; its log has the details under uid {UID}"
    assert (records[0].outcome, records[0].reason, records[0].error) == ("error", Reason.INTERNAL_ERROR, secret)


async def test_reapplying_the_manifest_of_a_converted_pod_changes_nothing(records: Records) -> None:
    legacy = pod(SHARED)
    stored = admitted(legacy, await answer(MemoryTemplateStore(), records, review(legacy)))
    reapplied = {**stored, "spec": {**stored["spec"], "containers": [dict(c) for c in stored["spec"]["containers"]]}}
    merged = {**stored["spec"]["containers"][0]["resources"], "limits": dict(SHARED), "requests": dict(SHARED)}
    reapplied["spec"]["containers"][0]["resources"] = merged
    store = ScriptedStore()
    response = await answer(store, records, review(reapplied, operation="UPDATE", oldObject=stored))
    assert admitted(reapplied, response) == stored
    assert store.calls == []


@pytest.mark.parametrize(
    "changes",
    [
        {"operation": "DELETE", "oldObject": pod(SHARED)},
        {"operation": "CONNECT"},
        {"subResource": "status"},
        {"subResource": "resize", "operation": "UPDATE", "oldObject": pod(SHARED)},
        {"subResource": "ephemeralcontainers", "operation": "UPDATE"},
    ],
)
async def test_other_operations_are_allowed_untouched(records: Records, changes: dict[str, Any]) -> None:
    store = ScriptedStore()
    response = await answer(store, records, review(pod(SHARED), **changes))
    assert response["response"]["allowed"]
    assert "patch" not in response["response"]
    assert store.calls == []
    assert records[0].reason == "other-operation"


async def test_a_record_tells_which_pod_and_how_long(records: Records) -> None:
    await answer(MemoryTemplateStore(), records, review(pod(SHARED)))
    record = records[0]
    assert (record.uid, record.namespace, record.name) == (UID, "team-a", None)
    assert (record.generate_name, record.owner_kind) == ("web-7cc6496f7d-", "ReplicaSet")
    assert (record.seconds, record.operation) == (0.25, "CREATE")
    assert record.operations > 0


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        "x",
        {"name": 7, "generateName": [], "ownerReferences": {}},
        {"ownerReferences": [None, 1, {"kind": 3}]},
    ],
)
async def test_odd_metadata_leaves_the_record_without_a_name(records: Records, metadata: Any) -> None:
    response = await answer(MemoryTemplateStore(), records, review({**pod({"cpu": "1"}), "metadata": metadata}))
    assert response["response"]["allowed"]
    assert (records[0].name, records[0].generate_name, records[0].owner_kind) == (None, None, None)


async def test_a_name_in_a_record_is_safe_to_print(records: Records) -> None:
    evil = {**pod({"cpu": "1"}), "metadata": {"name": 'x"\n{"level":"error"}\x1b[2J' + "y" * 10_000}}
    await answer(MemoryTemplateStore(), records, review(evil))
    name = records[0].name
    assert name is not None
    assert name.isprintable()
    assert len(name) == 253
