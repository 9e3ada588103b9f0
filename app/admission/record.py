"""What is told about a review: enough to find the pod and to count, nothing of what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.admission.answer import Answer
from app.admission.review import Review
from app.admission.text import name_of, one_line
from app.translate import Reason


@dataclass(frozen=True, slots=True)
class Record:
    """One answered review. All text is safe to print."""

    uid: str
    operation: str
    namespace: str
    name: str | None
    generate_name: str | None
    owner_kind: str | None
    """Kind of the controller that made the pod."""
    dry_run: bool
    outcome: str
    reason: Reason
    warnings: tuple[str, ...]
    """Reason words."""
    operations: int
    """Number of patch operations."""
    seconds: float
    error: Exception | None


def record(review: Review, answer: Answer, seconds: float) -> Record:
    """The record of a review and its answer."""
    metadata = review.pod.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Record(
        uid=one_line(review.uid, len(review.uid)),
        operation=review.operation,
        namespace=review.namespace,
        name=name_of(metadata.get("name")),
        generate_name=name_of(metadata.get("generateName")),
        owner_kind=_owner_kind(metadata),
        dry_run=review.dry_run,
        outcome=answer.outcome,
        reason=answer.reason,
        warnings=tuple(note.reason for note in answer.warnings),
        operations=len(answer.patch),
        seconds=seconds,
        error=answer.error,
    )


def _owner_kind(metadata: Mapping[str, Any]) -> str | None:
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            return name_of(owner.get("kind"))
    return None
