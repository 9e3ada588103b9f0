"""Which translation answers a request for admission: the webhook and the preview of a review ask the same (S5, S60)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from app.translate.decision import Decision, Note, Outcome
from app.translate.facts import Facts
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.translate import translate
from app.translate.update import translate_update


class Request(Protocol):
    """What an AdmissionReview asks about a pod."""

    @property
    def operation(self) -> str:
        """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""

    @property
    def subresource(self) -> str:
        """``status``, ``resize`` and so on; empty for the pod itself."""

    @property
    def pod(self) -> Mapping[str, Any]:
        """Empty where the operation carries none."""

    @property
    def old(self) -> Mapping[str, Any]:
        """The pod as it is stored, on UPDATE."""


def translate_request(
    request: Request, facts: Facts, policy: Policy, *, avoid: frozenset[str] = frozenset()
) -> Decision:
    """Decides about one request; see :func:`app.translate.translate` for the arguments."""
    if request.subresource or request.operation not in {"CREATE", "UPDATE"}:
        # The webhook configuration asks for none of these, and there is nothing of ours to do in them.
        what = f"{request.operation} of {request.subresource}" if request.subresource else request.operation
        text = f"only creating a pod converts it, and this is {what}"
        return Decision(Outcome.UNTOUCHED, (Note(Reason.OTHER_OPERATION, text),))
    if request.operation == "UPDATE":
        return translate_update(request.pod, request.old, policy)
    return translate(request.pod, facts, policy, avoid=avoid)
