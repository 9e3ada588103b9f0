"""A certificate that is made and kept in memory: for a server without a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from certs.issue import Issuer, Leaf
from certs.pair import CertificatePair
from certs.reasons import Kind, Reason, Renewals
from certs.shared import CHECK_EVERY
from certs.source import Clock, Health, wall_clock


class LocalSource:
    """A CA and a leaf that nobody else knows; clients have to be told not to verify.

    Args:
        issuer: makes both.
        renewals: hears of each.
        clock: gives the time.
        interval: between two looks at the clock.
    """

    def __init__(
        self,
        issuer: Issuer,
        renewals: Renewals,
        *,
        clock: Clock = wall_clock,
        interval: timedelta = CHECK_EVERY,
    ) -> None:
        self._issuer = issuer
        self._renewals = renewals
        self._clock = clock
        self._interval = interval
        self._leaf: Leaf | None = None

    async def start(self) -> None:
        """Make the first leaf."""
        self._leaf = self._issuer.leaf(self._issuer.authority())

    async def run(self, changed: Callable[[CertificatePair], None]) -> None:
        """Renew in time, until cancelled."""
        while True:
            await asyncio.sleep(self._interval.total_seconds())
            if (pair := self.check()) is not None:
                changed(pair)

    def check(self) -> CertificatePair | None:
        """A new pair, with a CA of its own, when it is time."""
        leaf, now = self._current_leaf(), self._clock()
        if leaf.pair.not_before <= now < leaf.renew_at:
            return None
        self._leaf = self._issuer.leaf(self._issuer.authority())
        pair = self._leaf.pair
        reason = Reason.DUE if now >= leaf.renew_at else Reason.CLOCK_WENT_BACK
        self._renewals.made(Kind.LEAF, reason, not_after=pair.not_after.isoformat(), names=pair.names)
        return pair

    def current(self) -> CertificatePair:
        """The pair to serve now."""
        return self._current_leaf().pair

    def healthy(self) -> Health:
        """Good until it expires."""
        pair = self.current()
        expired = self._clock() >= pair.not_after
        word = "expired at" if expired else "self-signed in memory, valid until"
        return Health(not expired, f"{word} {pair.not_after:%Y-%m-%d %H:%M:%S} UTC")

    def _current_leaf(self) -> Leaf:
        if self._leaf is None:
            raise RuntimeError("the certificate source was not started")
        return self._leaf
