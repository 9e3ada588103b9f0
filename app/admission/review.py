"""Reads the envelope of an ``admission.k8s.io/v1`` AdmissionReview; the pod inside stays a mapping.

Only what the answer depends on is looked at. Everything else passes, whatever it holds: the API server has newer
fields than this program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.admission.text import shown

JSON = Any

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
MAX_UID_CHARACTERS = 253
"""Kubernetes sends UUIDs of 36; a bound keeps a forged one out of logs and headers."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""DNS label: what a namespace can be, and nothing that could leave its place in the path of an API call."""


class BadReview(ValueError):  # noqa: N818 - the name says what is bad
    """A call that is no review of a pod: the caller is wrong, not the user's pod.

    Attributes:
        status: HTTP status, always 4xx.
        message: what was read and what to send instead.
        uid: of the request, where it could be read.
    """

    def __init__(self, message: str, *, uid: str | None = None, status: int = 400) -> None:
        self.message = message
        self.uid = uid
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Review:
    """One request for admission."""

    uid: str
    operation: str
    """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""
    namespace: str
    subresource: str
    """``status``, ``resize`` and so on; empty for the pod itself."""
    dry_run: bool
    pod: Mapping[str, JSON]
    """Empty where the operation carries none (DELETE)."""
    old: Mapping[str, JSON]
    """The pod as it is stored, on UPDATE; else empty."""


def parse_review(body: bytes) -> Review:
    """The review in a request body.

    Raises:
        BadReview: not JSON (also NaN, lone surrogates, nesting beyond 1,024), not a v1 AdmissionReview, or not about
            pods. The uid is passed on as soon as it can be read.
    """
    review = _mapping(_json(body), "the body", None)
    request = review.get("request")
    uid = request.get("uid") if isinstance(request, dict) else None
    uid = uid if isinstance(uid, str) and 0 < len(uid) <= MAX_UID_CHARACTERS else None
    if review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        read = f"apiVersion {shown(review.get('apiVersion'))}, kind {shown(review.get('kind'))}"
        raise BadReview(f"{read}; this webhook speaks apiVersion {API_VERSION}, kind {KIND}", uid=uid)
    request = _mapping(request, "request", uid)
    if uid is None:
        raise BadReview(
            f"request.uid must be text of 1 to {MAX_UID_CHARACTERS} characters; {shown(request.get('uid'))}"
        )
    return _request(request, uid)


def _request(request: Mapping[str, JSON], uid: str) -> Review:
    resource = request.get("resource")
    named = resource if isinstance(resource, dict) else {}
    if named.get("resource") != "pods" or named.get("group"):
        message = (
            f"request.resource is {shown(resource)}; only pods are served here: check the rules of the configuration"
        )
        raise BadReview(message, uid=uid)
    namespace = request.get("namespace")
    if not isinstance(namespace, str) or _NAMESPACE.fullmatch(namespace) is None:
        raise BadReview(f"request.namespace is {shown(namespace)}; pods have a namespace, a DNS label", uid=uid)
    operation, subresource = request.get("operation"), request.get("subResource") or ""
    if not isinstance(operation, str) or operation not in OPERATIONS or not isinstance(subresource, str):
        read = f"request.operation is {shown(operation)}, request.subResource {shown(subresource)}"
        raise BadReview(f"{read}; known operations are {', '.join(OPERATIONS)}", uid=uid)
    pod: Mapping[str, JSON] = {}
    old: Mapping[str, JSON] = {}
    if not subresource and operation in {"CREATE", "UPDATE"}:
        pod = _mapping(request.get("object"), "request.object", uid)
    if not subresource and operation == "UPDATE":
        old = _mapping(request.get("oldObject"), "request.oldObject", uid)
    return Review(uid, operation, namespace, subresource, request.get("dryRun") is True, pod, old)


def _json(body: bytes) -> JSON:
    if not body:
        raise BadReview("the body is empty; send an AdmissionReview as JSON")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        where = f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise BadReview(
            f"the body is not JSON: {where}; it starts with {shown(body[:40].decode(errors='replace'))}"
        ) from None


def _mapping(value: JSON, where: str, uid: str | None) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise BadReview(f"{where} must be a JSON object, and is {shown(value)}", uid=uid)
    return value
