"""An AdmissionReview in a preview is answered as the webhook answers it (S5, S60)."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest

from app.admission import AdmissionHandler, Record, parse_review
from app.cluster.memory import MemoryTemplateStore
from app.preview import Item
from app.translate import Facts, Policy
from tests.admission.reviews import SHARED, pod, request
from tests.preview.inputs import only, shown

STORED = jsonpatch.apply_patch(pod(SHARED), only(json.dumps(pod(SHARED))).report()["patch"])
CHANGED = pod({**SHARED, "nvidia.com/gpumem": "9k"})


def reviewed(obj: Any, **changes: Any) -> dict[str, Any]:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(obj, **changes)}


def reapplied(pod: dict[str, Any]) -> dict[str, Any]:
    """A converted pod into which a client puts the keys of its file again."""
    merged = json.loads(json.dumps(STORED))
    for one, written in zip(merged["spec"]["containers"], pod["spec"]["containers"], strict=True):
        one["resources"] |= written["resources"]
    return dict(merged)


class Records(list[Record]):
    def reviewed(self, record: Record) -> None:
        self.append(record)


REVIEWS = {
    "create": reviewed(pod(SHARED)),
    "re-apply": reviewed(reapplied(pod(SHARED)), operation="UPDATE", oldObject=STORED),
    "change": reviewed(reapplied(CHANGED), operation="UPDATE", oldObject=STORED),
    "not converted": reviewed(pod(SHARED), operation="UPDATE", oldObject=pod(SHARED)),
    "delete": reviewed(None, operation="DELETE", oldObject=STORED),
    "resize": reviewed(reapplied(pod(SHARED)), operation="UPDATE", subResource="resize", oldObject=STORED),
    "bind": reviewed({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}, subResource="binding"),
    "exec": reviewed({"apiVersion": "v1", "kind": "PodExecOptions"}, operation="CONNECT", subResource="exec"),
}


def item_of(review: dict[str, Any]) -> Item:
    return only(json.dumps(review))


@pytest.mark.parametrize("review", REVIEWS.values(), ids=REVIEWS)
async def test_a_review_is_previewed_as_the_webhook_answers_it(review: dict[str, Any]) -> None:
    records = Records()
    handler = AdmissionHandler(Policy(), Facts, MemoryTemplateStore(), records)
    await handler.handle(parse_review(json.dumps(review).encode()), 0)
    report = item_of(review).report()
    assert (report["outcome"], report["reasons"][0]["code"]) == (records[0].outcome, records[0].reason)
    assert len(report["patch"]) == records[0].operations


def test_S60_the_review_of_a_re_apply_shows_the_stored_pod() -> None:
    item = item_of(REVIEWS["re-apply"])
    assert item.pod == STORED
    assert item.report()["templates"] == []
    assert [row.rule for row in item.explanation] == ["S60"]


def test_other_operations_say_which_they_are() -> None:
    assert item_of(REVIEWS["delete"]).why() == ["only creating a pod converts it, and this is DELETE"]
    assert item_of(REVIEWS["resize"]).why() == ["only creating a pod converts it, and this is UPDATE of resize"]


def test_the_review_of_a_workload_shows_what_its_pods_become() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    deployment["spec"] = {"template": {"spec": pod(SHARED)["spec"]}}  # type: ignore[assignment]
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}
    review = reviewed(deployment, operation="UPDATE", oldObject=deployment, resource=resource)
    assert item_of(review).outcome == "converted"


def test_S60_updates_count_in_a_namespace_that_opted_out_again() -> None:
    labels = {"hami.io/dra-webhook": "disabled"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}}
    update, create = (
        shown(json.dumps(namespace), json.dumps(REVIEWS[name])).items[1].report() for name in ("re-apply", "create")
    )
    assert (update["outcome"], update["reasons"][0]["code"]) == ("converted", "reapplied")
    assert (create["outcome"], create["reasons"][0]["code"]) == ("untouched", "opted-out")


@pytest.mark.parametrize(
    ("review", "lacks"),
    [
        (reviewed(None, operation="DELETE"), "an AdmissionReview without request.object"),
        (reviewed(pod(SHARED), operation="UPDATE"), "an AdmissionReview of an UPDATE without request.oldObject"),
    ],
)
def test_a_review_that_lacks_its_object_is_invalid(review: dict[str, Any], lacks: str) -> None:
    item = item_of(review)
    assert item.outcome == "invalid"
    assert lacks in item.why()[0]
