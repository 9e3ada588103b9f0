"""Every answer has the form that an API server takes."""

from __future__ import annotations

import base64
from types import MappingProxyType

import orjson
import pytest

from app.admission import respond


def test_an_answer_echoes_the_uid_in_a_v1_review() -> None:
    review = orjson.loads(respond.render(respond.allowed("u-1")))
    expected = {"allowed": True, "uid": "u-1"}
    assert review == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": expected}


def test_a_patch_comes_with_its_type_and_an_empty_one_with_neither() -> None:
    operations = [{"op": "add", "path": "/metadata/labels", "value": MappingProxyType({"a": "ü"})}]
    response = respond.patched("u", operations)["response"]
    assert response["patchType"] == "JSONPatch"
    decoded = orjson.loads(base64.b64decode(response["patch"]))
    assert decoded == [{"op": "add", "path": "/metadata/labels", "value": {"a": "ü"}}]
    assert respond.patched("u", [])["response"] == {"allowed": True, "uid": "u"}


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (422, "Invalid"), (503, "ServiceUnavailable")])
def test_a_denial_has_a_code_and_the_reason_that_kubectl_knows(code: int, reason: str) -> None:
    response = respond.denied("u", "no", code=code)["response"]
    assert response == {
        "allowed": False,
        "uid": "u",
        "status": {"code": code, "reason": reason, "message": "no"},
    }


def test_an_error_is_a_500_inside_the_review() -> None:
    assert respond.errored("u", "failed")["response"]["status"]["code"] == 500


def test_a_message_is_one_line_of_bounded_length() -> None:
    message = respond.denied("u", "a\n\tb\x00c" + "x" * 10_000)["response"]["status"]["message"]
    assert message.startswith("a b cxxx")
    assert len(message) == respond.MAX_MESSAGE_CHARACTERS


def test_warnings_lose_what_would_have_them_dropped() -> None:
    texts = ["tab\there", "two\nlines", "", "\n", "twice", "twice", "long " * 100]
    lines = respond.allowed("u", warnings=texts)["response"]["warnings"]
    assert lines[:3] == ["tab here", "two lines", "twice"]
    assert len(lines) == 4
    assert len(lines[3]) == 120
    assert lines[3].endswith("…")


def test_all_warnings_together_fit_what_an_api_server_passes_on() -> None:
    lines = respond.allowed("u", warnings=[f"{i} " + "x" * 200 for i in range(100)])["response"]["warnings"]
    assert sum(map(len, lines)) <= 4096
    assert lines[-1] == "67 more warnings are not shown here; hami-dra-webhook preview shows all of them"


def test_audit_annotations_are_passed_on() -> None:
    response = respond.denied("u", "no", audit={"outcome": "denied"})["response"]
    assert response["auditAnnotations"] == {"outcome": "denied"}
