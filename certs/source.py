"""Where the listener gets its certificate from: one small interface, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from certs.pair import CertificatePair

Clock = Callable[[], datetime]
"""Gives the time as an aware UTC datetime; injected, so that tests of renewal take no time."""


def wall_clock() -> datetime:
    """The time of the machine, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether clients can connect with the current certificate, and a sentence about it."""

    ok: bool
    text: str


class CertificateSource(Protocol):
    """Gives the pair to serve, and keeps it fresh."""

    async def start(self) -> None:
        """Get the first pair.

        Raises:
            certs.pair.CertificateError: there is none that can be served.
        """

    async def run(self, changed: Callable[[CertificatePair], None]) -> None:
        """Keep the pair fresh until cancelled; ``changed`` is called with each new pair that passed verification."""

    def current(self) -> CertificatePair:
        """The pair to serve now; :meth:`start` has been called."""

    def healthy(self) -> Health:
        """Good as long as the current pair is valid, whatever became of its successor."""
