"""The envelope of a review: what is refused as a bad call, and what passes untouched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.admission import BadReview, parse_review
from tests.admission.reviews import SHARED, UID, envelope, pod, request, review

POD = pod(SHARED)


def refusal(body: bytes) -> BadReview:
    with pytest.raises(BadReview) as caught:
        parse_review(body)
    assert caught.value.status == 400
    return caught.value


def test_a_review_keeps_its_pod_as_it_came() -> None:
    odd = {**POD, "unknownField": {"x": [1, 2.5, None]}}
    parsed = parse_review(review(odd, dryRun=True))
    assert parsed.pod == odd
    assert (parsed.uid, parsed.operation, parsed.namespace, parsed.dry_run) == (UID, "CREATE", "team-a", True)


def test_the_namespace_is_that_of_the_request_since_a_pod_may_leave_it_out() -> None:
    body = review({"metadata": {"namespace": "other"}}, namespace="team-b")
    assert parse_review(body).namespace == "team-b"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is empty; send an AdmissionReview as JSON"),
        (b"hello", "the body is not JSON: "),
        (b'{"a": ', "the body is not JSON: "),
        (b'{"a": NaN}', "the body is not JSON: "),
        (b'{"a": Infinity}', "the body is not JSON: "),
        (b'{"a": "\xff"}', "the body is not JSON: "),
        (b'{"a": "\\ud800"}', "the body is not JSON: "),
        (b"\xef\xbb\xbf{}", "the body is not JSON: "),
        (b"[" * 100_000, "the body is not JSON: "),
        (b"[" * 5000 + b"]" * 5000, "the body is not JSON: "),
        (b"\x00\x01\x02", "the body is not JSON: "),
        (b"null", "the body must be a JSON object, and is null"),
        (b"[]", "the body must be a JSON object, and is a list"),
        (b'"x"', 'the body must be a JSON object, and is "x"'),
        (b"{}", "apiVersion null, kind null; this webhook speaks apiVersion admission.k8s.io/v1, kind AdmissionReview"),
        (envelope(..., apiVersion="v1"), 'apiVersion "v1", kind "AdmissionReview"; this webhook speaks'),
        (envelope(...), "request must be a JSON object, and is null"),
        (envelope(None), "request must be a JSON object, and is null"),
        (envelope([]), "request must be a JSON object, and is a list"),
        (envelope({}), "request.uid must be text of 1 to 253 characters; null"),
        (review(POD, uid=...), "request.uid must be text of 1 to 253 characters; null"),
        (review(POD, uid=""), 'request.uid must be text of 1 to 253 characters; ""'),
        (review(POD, uid=7), "request.uid must be text of 1 to 253 characters; 7"),
        (review(POD, uid="x" * 254), "request.uid must be text of 1 to 253 characters"),
    ],
    ids=range(24),
)
def test_a_broken_envelope_is_a_bad_call(body: bytes, message: str) -> None:
    error = refusal(body)
    assert message in error.message
    assert error.uid is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (envelope(request(POD), apiVersion="admission.k8s.io/v1beta1"), 'apiVersion "admission.k8s.io/v1beta1", kind'),
        (envelope(request(POD), kind="Pod"), 'apiVersion "admission.k8s.io/v1", kind "Pod"; this webhook speaks'),
        (envelope(request(POD), apiVersion=...), "apiVersion null, kind"),
        (review(POD, resource=...), "request.resource is null; only pods are served here"),
        (review(POD, resource="pods"), 'request.resource is "pods"; only pods'),
        (review(POD, resource={"group": "apps", "version": "v1", "resource": "deployments"}), "only pods are served"),
        (
            review(POD, resource={"group": "metrics.k8s.io", "version": "v1", "resource": "pods"}),
            "only pods are served",
        ),
        (review(POD, namespace=...), "request.namespace is null; pods have a namespace, a DNS label"),
        (review(POD, namespace="../kube-system"), 'request.namespace is "../kube-system"; pods have'),
        (review(POD, namespace="a\n"), "request.namespace is"),
        (review(POD, operation=...), "request.operation is null"),
        (review(POD, operation="PATCH"), 'request.operation is "PATCH"'),
        (review(POD, operation={}), "request.operation is an object"),
        (review(POD, resource={"group": {}, "resource": ["pods"]}), "only pods are served"),
        (review(POD, subResource=[1]), "request.subResource a list"),
        (review(None), "request.object must be a JSON object, and is null"),
        (review(...), "request.object must be a JSON object, and is null"),
        (review("pod"), 'request.object must be a JSON object, and is "pod"'),
        (review([]), "request.object must be a JSON object, and is a list"),
        (review(POD, operation="UPDATE"), "request.oldObject must be a JSON object, and is null"),
    ],
    ids=range(20),
)
def test_the_uid_of_a_bad_call_is_echoed_where_it_can_be_read(body: bytes, message: str) -> None:
    error = refusal(body)
    assert message in error.message
    assert error.uid == UID


def test_user_text_in_a_message_is_short_and_on_one_line() -> None:
    message = refusal(review(POD, namespace="x\n\x1b[31m" + "y" * 10_000)).message
    assert len(message) < 200
    assert message.isprintable()


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_operations_without_a_pod_are_no_bad_calls(operation: str) -> None:
    assert parse_review(review(None, operation=operation, oldObject=POD)).pod == {}


def test_a_subresource_may_hold_any_object() -> None:
    assert parse_review(review({"kind": "Binding"}, subResource="binding")).pod == {}


def test_fields_that_do_not_matter_may_be_anything() -> None:
    odd: dict[str, Any] = {"userInfo": 7, "options": "x", "kind": None, "dryRun": "yes", "newField": [[]], "name": 3}
    assert parse_review(json.dumps(json.loads(review(POD, **odd))).encode()).dry_run is False
