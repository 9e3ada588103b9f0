"""Builds every answer to a review; nothing else does.

What the API server makes of an answer: a patch without ``patchType`` or the other way round is a failed call; a
``status.details.causes`` hides the message from kubectl; a warning with a control character is dropped
(kubernetes/kubernetes ``admission/plugin/webhook/request``, ``endpoints/filters/warning.go``).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from app.admission.review import API_VERSION, KIND
from app.admission.text import one_line

JSON = Any
Response = dict[str, JSON]
"""An AdmissionReview with a response."""

MAX_WARNING_CHARACTERS = 120
"""Recommended by the API (``admission/v1`` types.go); beyond 256 the API server may cut."""
MAX_WARNINGS = 34
"""34 x 120 fits the 4,096 characters that the API server passes on for one request."""
MAX_MESSAGE_CHARACTERS = 4096
"""Denials quote the API server's own words, and end up in terminals and in events (which keep 1 kB)."""

_REASONS = {
    403: "Forbidden",
    422: "Invalid",
    500: "InternalError",
    503: "ServiceUnavailable",
}
"""``metav1.StatusReason`` of each code we answer with; kubectl's wording depends on it."""


def allowed(uid: str, *, warnings: Iterable[str] = (), audit: Mapping[str, str] | None = None) -> Response:
    """Admit the pod as it is."""
    return _response(uid, {"allowed": True}, warnings, audit)


def patched(
    uid: str,
    patch: Sequence[Mapping[str, JSON]],
    *,
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
) -> Response:
    """Admit the pod with an RFC 6902 patch; an empty patch admits it as it is."""
    if not patch:
        return allowed(uid, warnings=warnings, audit=audit)
    encoded = b64encode(orjson.dumps(patch, default=_plain)).decode()
    return _response(uid, {"allowed": True, "patchType": "JSONPatch", "patch": encoded}, warnings, audit)


def denied(
    uid: str,
    message: str,
    *,
    code: int = 403,
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
) -> Response:
    """Refuse the pod, for a reason that lies in the pod, the settings or the cluster.

    Args:
        uid: of the request.
        message: for the person who created the pod.
        code: 403, 422 for values that cannot be, 503 when trying again may help.
        warnings: see :func:`allowed`.
        audit: see :func:`allowed`.
    """
    status = {"code": code, "reason": _REASONS[code], "message": one_line(message, MAX_MESSAGE_CHARACTERS)}
    return _response(uid, {"allowed": False, "status": status}, warnings, audit)


def errored(uid: str, message: str, *, audit: Mapping[str, str] | None = None) -> Response:
    """Refuse the pod because the webhook failed; the message must hold nothing of its inside."""
    return denied(uid, message, code=500, audit=audit)


def render(response: Response) -> bytes:
    """The body of the HTTP answer."""
    return orjson.dumps(response)


def _response(
    uid: str, response: Response, warnings: Iterable[str], audit: Mapping[str, str] | None
) -> dict[str, JSON]:
    response["uid"] = uid
    if lines := _lines(warnings):
        response["warnings"] = lines
    if audit:
        response["auditAnnotations"] = audit
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _lines(warnings: Iterable[str]) -> list[str]:
    lines = list(dict.fromkeys(line for text in warnings if (line := one_line(text, MAX_WARNING_CHARACTERS))))
    if len(lines) > MAX_WARNINGS:
        more = len(lines) - MAX_WARNINGS + 1
        lines[MAX_WARNINGS - 1 :] = [
            f"{more} more warnings are not shown here; hami-dra-webhook preview shows all of them"
        ]
    return lines


def _plain(value: object) -> JSON:
    """Mappings and sequences of other types as JSON ones; a decision may share read-only parts."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a patch holds a {type(value).__name__}")
