"""What a template of ours carries besides its spec: the mark and the renew stamp.

The mark (a label) says that the webhook wrote the template and may remove it. The renew stamp (an annotation) says when
a pod was last given it; the sweeper leaves a fresh one alone, and writing it changes the resourceVersion that the
sweeper's deletion insists on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.translate.decision import MARK_LABEL

JSON = Any

RENEWED_ANNOTATION = "hami.io/dra-webhook-renewed"
"""RFC 3339, UTC, whole seconds."""


def utc_now() -> datetime:
    """The wall clock; stores and sweepers take another one in tests."""
    return datetime.now(UTC)


def stamp(now: datetime) -> str:
    """A point in time as the annotation holds it: ``2026-01-31T12:00:00Z``."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_marked(item: Mapping[str, JSON]) -> bool:
    """The webhook wrote this object and may remove it."""
    return bool((item["metadata"].get("labels") or {}).get(MARK_LABEL) == "true")


def last_used(item: Mapping[str, JSON]) -> datetime:
    """When a pod was last given this template: the renew stamp, or the creation where there is no readable stamp."""
    metadata = item["metadata"]
    written = (metadata.get("annotations") or {}).get(RENEWED_ANNOTATION, "")
    try:
        return _parse(written)
    except ValueError:
        return _parse(metadata["creationTimestamp"])


def _parse(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
