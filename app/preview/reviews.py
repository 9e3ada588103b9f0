"""AdmissionReviews, as an audit log or a debugging webhook holds them: the object in one is what people mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.preview.errors import Code, ManifestError
from app.translate.containers import mapping


@dataclass(frozen=True, slots=True)
class Requested:
    """What a review asks about a pod; a :class:`app.translate.Request`."""

    operation: str
    subresource: str
    pod: Mapping[str, Any]
    old: Mapping[str, Any]


def is_review(value: Any) -> bool:
    """The value is an AdmissionReview."""
    group = str(mapping(value).get("apiVersion")).partition("/")[0]
    return mapping(value).get("kind") == "AdmissionReview" and group == "admission.k8s.io"


def reviewed(review: Any) -> tuple[dict[str, Any], Requested | None]:
    """The object of a review (the old one, where it is deleted), in the namespace of its request; what is asked of it.

    Reviews of other objects than pods ask nothing: the webhook sees the pods that come of them.

    Raises:
        ManifestError: there is no object in it.
    """
    request = mapping(review.get("request"))
    operation, subresource = str(request.get("operation") or "CREATE"), str(request.get("subResource") or "")
    old = mapping(request.get("oldObject"))
    found = request.get("object") or old
    if not found or not isinstance(found, dict):
        hint = "the object stands there, that of a deletion in request.oldObject"
        raise ManifestError(Code.NOT_A_MANIFEST, "an AdmissionReview without request.object", hint=hint)
    about_pod = _is_pod(request, found)
    if about_pod and operation == "UPDATE" and not subresource and not old:
        hint = "an update is judged by the pod that is stored"
        raise ManifestError(Code.NOT_A_MANIFEST, "an AdmissionReview of an UPDATE without request.oldObject", hint=hint)
    metadata, namespace = mapping(found.get("metadata")), request.get("namespace")
    if namespace and not metadata.get("namespace"):
        found = {**found, "metadata": {**metadata, "namespace": namespace}}
    return found, Requested(operation, subresource, found, old) if about_pod else None


def _is_pod(request: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    resource = mapping(request.get("resource"))
    if resource:
        return resource.get("resource") == "pods" and not resource.get("group")
    return found.get("kind") == "Pod"
