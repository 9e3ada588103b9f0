"""Counts and logs what the webhook listener answered."""

from __future__ import annotations

import structlog

from app.admission import BadReview, Record
from app.admission.text import one_line
from app.server.metrics import Metrics

BAD_CALL = "bad-call"
"""Outcome of a call that is no review of a pod; its reason is the HTTP status."""
_MAX_LOGGED_CHARACTERS = 300


class Recorder:
    """The observer of the admission handler: one metric and one log line for each review."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._log = structlog.get_logger("review")

    def reviewed(self, record: Record) -> None:
        """Count and log an answered review."""
        self._metrics.reviewed(record.outcome, record.reason, record.seconds)
        line: dict[str, object] = {
            "uid": record.uid,
            "operation": record.operation,
            "namespace": record.namespace,
            "name": record.name,
            "owner_kind": record.owner_kind,
            "outcome": record.outcome,
            "reason": record.reason,
            "operations": record.operations,
            "ms": round(record.seconds * 1000, 3),
        }
        if record.generate_name is not None:
            line["generate_name"] = record.generate_name
        if record.dry_run:
            line["dry_run"] = True
        if record.warnings:
            line["warnings"] = record.warnings
        if record.error is None:
            self._log.info("review", **line)
        else:
            self._log.error("review", **line, exc_info=record.error)

    def bad_call(self, error: BadReview, seconds: float) -> None:
        """Count and log a call that is no review."""
        self._metrics.reviewed(BAD_CALL, str(error.status), seconds)
        self._log.warning(
            "bad_call",
            status=error.status,
            uid=None if error.uid is None else one_line(error.uid, len(error.uid)),
            message=one_line(error.message, _MAX_LOGGED_CHARACTERS),
        )
