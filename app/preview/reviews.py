"""AdmissionReviews, as an audit log or a debugging webhook holds them: the object in one is what people mean."""

from __future__ import annotations

from typing import Any

from app.preview.errors import Code, ManifestError
from app.translate.containers import mapping


def is_review(value: Any) -> bool:
    """The value is an AdmissionReview."""
    group = str(mapping(value).get("apiVersion")).partition("/")[0]
    return mapping(value).get("kind") == "AdmissionReview" and group == "admission.k8s.io"


def reviewed(review: Any) -> dict[str, Any]:
    """The object of a review, in the namespace of its request.

    Raises:
        ManifestError: there is no object in it.
    """
    request = mapping(review.get("request"))
    found = request.get("object")
    if not isinstance(found, dict):
        hint = "a review of a deletion has none"
        raise ManifestError(Code.NOT_A_MANIFEST, "an AdmissionReview without request.object", hint=hint)
    metadata, namespace = mapping(found.get("metadata")), request.get("namespace")
    if not namespace or metadata.get("namespace"):
        return found
    return {**found, "metadata": {**metadata, "namespace": namespace}}
