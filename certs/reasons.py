"""Why something was made, renewed or written: one word for metrics and logs, one sentence for people."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

import structlog


class Kind(StrEnum):
    """What was made, renewed or written."""

    LEAF = "leaf"
    """The certificate that this replica serves."""
    CA = "ca"
    """The CA in the Secret."""
    CA_BUNDLE = "ca-bundle"
    """What the API servers trust: the caBundle of the webhook configuration."""


class Reason(StrEnum):
    """Why; each is described in ``docs/certificates.md``."""

    FIRST = "first"
    DUE = "due"
    EXPIRED = "expired"
    REQUESTED = "requested"
    SECRET_GONE = "secret-gone"  # noqa: S105 - a word, no password
    SECRET_BROKEN = "secret-broken"  # noqa: S105 - a word, no password
    OVERLAP_ENDED = "overlap-ended"
    CA_CHANGED = "ca-changed"
    CLOCK_WENT_BACK = "clock-went-back"
    FILES_CHANGED = "files-changed"
    NOT_TRUSTED = "not-trusted"

    @property
    def sentence(self) -> str:
        """The reason for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Reason.FIRST: "there was none",
    Reason.DUE: "two thirds of its life are over",
    Reason.EXPIRED: "it has expired",
    Reason.REQUESTED: "somebody asked for it",
    Reason.SECRET_GONE: "the Secret was removed, and what it held is put back",
    Reason.SECRET_BROKEN: "what the Secret holds cannot be used",
    Reason.OVERLAP_ENDED: "the last leaf of the old CA has expired",
    Reason.CA_CHANGED: "the CA has changed",
    Reason.CLOCK_WENT_BACK: "the clock went back to before its beginning",
    Reason.FILES_CHANGED: "its files have changed",
    Reason.NOT_TRUSTED: "the webhook configuration does not hold what the API servers need",
}

Count = Callable[[Kind, Reason], None]
"""Counts one renewal; must be quick and must not raise."""


def count_nothing(_kind: Kind, _reason: Reason) -> None:
    """For callers without metrics."""


class Renewals:
    """Tells of every renewal: one log line and one count.

    Args:
        count: the metric behind it.
    """

    def __init__(self, count: Count = count_nothing) -> None:
        self._count = count
        self._log = structlog.get_logger("certs")

    def made(self, kind: Kind, reason: Reason, **fields: Any) -> None:
        """Something was made, renewed or written; ``fields`` go into the log line."""
        self._count(kind, reason)
        self._log.info("certificate_changed", what=kind.value, reason=reason.value, why=reason.sentence, **fields)
