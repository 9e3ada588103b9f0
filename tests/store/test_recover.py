"""A store that starts puts back what vanished while nobody watched, for pods that still wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from app.cluster.api import Connection
from app.cluster.recover import put_back_missing
from app.cluster.templates import ApiTemplateStore
from app.translate import Facts, Policy, translate
from tests.store.fake_api import FakeApi
from tests.translate.pods import admitted, asking

POLICY = Policy()


def converted(limits: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A pod as it is stored after the webhook converted it."""
    manifest = asking(limits or {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000})
    stored = admitted(manifest, translate(manifest, Facts(), POLICY))
    stored["metadata"]["uid"] = "1"
    return {**stored, "status": {"phase": "Pending", **status}}


def named(pod: dict[str, Any]) -> str:
    return str(pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"])


async def test_a_template_that_waiting_pods_name_is_written_once(
    api: FakeApi, connection: Connection, store: ApiTemplateStore
) -> None:
    pod = converted()
    for name in ("a", "b"):
        api.put("pods", {**pod, "metadata": {**pod["metadata"], "name": name}})
    assert await put_back_missing(connection, store, Facts(), POLICY) == 1
    (template,) = api.templates().values()
    assert template["metadata"]["name"] == named(pod)
    assert template["metadata"]["labels"] == {"hami.io/dra-webhook-template": "true"}
    assert await put_back_missing(connection, store, Facts(), POLICY) == 0


@pytest.mark.parametrize(
    "pod",
    [
        converted(resourceClaimStatuses=[{"name": "main-gpu", "resourceClaimName": "p-main-gpu-x"}]),
        converted(phase="Succeeded"),
        {**converted(), "metadata": {"name": "p", "namespace": "team", "uid": "1", "labels": {}}},
    ],
    ids=["claims are made", "finished", "not ours"],
)
async def test_a_template_that_nobody_waits_for_stays_away(
    api: FakeApi, connection: Connection, store: ApiTemplateStore, pod: dict[str, Any]
) -> None:
    api.put("pods", pod)
    assert await put_back_missing(connection, store, Facts(), POLICY) == 0
    assert api.templates() == {}


async def test_a_template_whose_content_is_not_known_is_not_guessed(
    api: FakeApi, connection: Connection, store: ApiTemplateStore
) -> None:
    """Settings have changed since the pod was converted, so the name leads to no content any more."""
    api.put("pods", converted())
    changed = Policy(POLICY.settings.model_copy(update={"memory_factor": 2}))
    assert await put_back_missing(connection, store, Facts(), changed) == 0
    assert api.templates() == {}


async def test_pods_that_cannot_be_listed_are_no_reason_not_to_serve(
    api: FakeApi, connection: Connection, store: ApiTemplateStore
) -> None:
    api.fail("list", 403, "pods is forbidden", "Forbidden", times=5)
    assert await put_back_missing(connection, store, Facts(), POLICY) == 0


async def test_a_refused_template_is_no_reason_not_to_serve(
    api: FakeApi, connection: Connection, store: ApiTemplateStore
) -> None:
    api.put("pods", converted())
    api.fail("create", 403, "exceeded quota", "Forbidden", times=5)
    assert await put_back_missing(connection, store, Facts(), POLICY) == 0
