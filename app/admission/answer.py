"""What came of a review, between the decision and the response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.admission import respond
from app.admission.failures import Failure, status_code
from app.translate import Decision, Note, Outcome, Reason

ERROR_OUTCOME = "error"
"""Outcome word of a review that the webhook failed on; all others are those of :class:`Outcome`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one review."""

    outcome: str
    reason: Reason
    warnings: tuple[Note, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    message: str = ""
    """Of a refusal, for the person who created the pod."""
    code: int = 0
    """``status.code`` of a refusal; 0 = admitted."""
    error: Exception | None = None
    """What the webhook failed on; for the log only."""

    def response(self, uid: str) -> respond.Response:
        """The response that says so."""
        audit = {"outcome": str(self.outcome), "reason": str(self.reason)}
        if self.error is not None:
            return respond.errored(uid, self.message, audit=audit)
        warnings = [note.message for note in self.warnings]
        if self.code:
            return respond.denied(uid, self.message, code=self.code, warnings=warnings, audit=audit)
        return respond.patched(uid, self.patch, warnings=warnings, audit=audit)


def decided(decision: Decision) -> Answer:
    """The answer that a decision asks for, once its templates exist."""
    if decision.outcome is not Outcome.DENIED:
        return Answer(decision.outcome, decision.reason, decision.warnings, decision.patch)
    message = "; ".join(_sentence(note) for note in decision.reasons)
    return Answer(decision.outcome, decision.reason, decision.warnings, (), message, status_code(decision.reason))


def refused(failure: Failure, warnings: tuple[Note, ...] = ()) -> Answer:
    """The answer for a pod whose templates cannot be had."""
    return Answer(Outcome.DENIED, failure.reason, warnings, (), failure.message, failure.code)


def failed(uid: str, error: Exception) -> Answer:
    """The answer when the webhook itself failed."""
    message = f"the webhook failed on this pod; its log has the details under uid {uid}"
    return Answer(ERROR_OUTCOME, Reason.INTERNAL_ERROR, message=message, code=500, error=error)


def _sentence(note: Note) -> str:
    where = f"{note.path}: " if note.path and note.path not in note.message else ""
    return f"{where}{note.message} ({note.reason})"
