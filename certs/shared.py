"""The self-signed mode: a CA that all replicas share, and a leaf of its own in the memory of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final, TypeVar

import structlog

from certs.api import ApiProblem, NotDone
from certs.authority import Authority, serial_text
from certs.bundle import Registered, WebhookConfiguration
from certs.clock import ServerClock
from certs.issue import Issuer, Leaf
from certs.keeper import AuthorityKeeper
from certs.pair import CertificatePair
from certs.reasons import Kind, Reason, Renewals
from certs.source import Clock, Health, wall_clock
from certs.trust import Trust

T = TypeVar("T")

CHECK_EVERY: Final = timedelta(seconds=60)
_FIRST_PAUSE_SECONDS: Final = 0.5
"""Before something that failed is tried again; doubled each time, up to the time between two checks."""
_PROPAGATION: Final = 2
"""A new CA signs leaves after half an interval: at the next check, but not when one is repeated after a failure."""


class SharedSource:
    """Serves leaves of the CA in the Secret, and keeps Secret and caBundle right.

    A replica changes to a leaf of another CA on its own, once that CA was in the caBundle at two checks in a row. A CA
    leaves the caBundle only when the last leaf that it signed has expired. So a change of the CA needs no replica to
    know of another one.

    Args:
        keeper: of the CA in the Secret.
        configuration: whose caBundle is kept.
        issuer: makes the leaves.
        server_clock: tells how far our clock is off.
        renewals: hears of each renewal.
        clock: gives the time; the wall clock is compared with at each check, since timers stand still while a machine
            sleeps.
        interval: between two checks.
    """

    def __init__(
        self,
        keeper: AuthorityKeeper,
        configuration: WebhookConfiguration,
        issuer: Issuer,
        server_clock: ServerClock,
        renewals: Renewals,
        *,
        clock: Clock = wall_clock,
        interval: timedelta = CHECK_EVERY,
    ) -> None:
        self._keeper = keeper
        self._configuration = configuration
        self._issuer = issuer
        self._server_clock = server_clock
        self._renewals = renewals
        self._clock = clock
        self._interval = interval
        self._trust: Trust | None = None
        self._leaf: Leaf | None = None
        self._temporary = True
        self._trusted_since: tuple[Authority, datetime] | None = None
        self._published = False
        self._problems: tuple[str, ...] = ("the Secret with the CA was not read yet",)
        self._log = structlog.get_logger(__name__)

    async def start(self) -> None:
        """Make a leaf that nobody trusts, so that the listener can begin; the cluster may not be there yet."""
        self._leaf = self._issuer.leaf(self._issuer.authority())

    async def run(self, changed: Callable[[CertificatePair], None]) -> None:
        """Check until cancelled; after a failure sooner than otherwise."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            if (pair := await self.check()) is not None:
                changed(pair)
            interval = self._interval.total_seconds()
            pause = min(pause * 2, interval) if self._problems else _FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause if self._problems else interval)

    async def check(self) -> CertificatePair | None:
        """Look at everything once: clock, caBundle, Secret, leaf. Returns the new pair when there is one."""
        problems: list[str] = []
        await self._server_clock.compare()
        # Read before the Secret: a write is bound to the version read here, so that no replica with an old view of the
        # Secret takes from the bundle what another one has just added.
        registered = await self._attempt(self._configuration.read(), problems)
        trusted = frozenset() if registered is None else registered.trusted
        settling = self._keeper.settle(trusted, clock_problem=self._server_clock.problem)
        trust = await self._attempt(settling, problems)
        if trust is not None:
            self._trust = trust
            if registered is not None:
                await self._attempt(self._publish(registered, trust), problems)
        if problems and tuple(problems) != self._problems:
            self._log.warning("certificates_incomplete", problems=problems)
        self._problems = tuple(problems)
        return self._renew()

    def current(self) -> CertificatePair:
        """The pair to serve now."""
        return self._current_leaf().pair

    def healthy(self) -> Health:
        """Good while the leaf of a shared CA is valid by the API server's clock."""
        pair, now = self.current(), self._clock() - self._server_clock.ahead
        good = self._trust is not None and pair.not_before <= now < pair.not_after
        if self._trust is None:
            text = "there is no CA yet"
        else:
            text = f"{'valid until' if now < pair.not_after else 'expired at'} {pair.not_after:%Y-%m-%d %H:%M:%S} UTC"
        return Health(good, "; ".join(filter(None, (text, self._server_clock.note, *self._problems))))

    def trusted(self) -> Health:
        """Good from the moment the caBundle fitted for the first time.

        Later faults are repaired at the next check, and a replica that is not ready would not make them any better.
        """
        if self._published:
            return Health(ok=True, text="; ".join(self._problems) or f"{self._configuration.title} trusts our CA")
        return Health(ok=False, text="; ".join(self._problems) or f"{self._configuration.title} was not read yet")

    async def _publish(self, registered: Registered, trust: Trust) -> None:
        """Have the API servers trust what they should, and remember since when they have trusted the CA that signs."""
        if trust.signer.certificate not in registered.trusted:
            self._trusted_since = None
        if not registered.holds(trust.bundle):
            if not await self._configuration.write(registered, trust.bundle):
                raise NotDone(f"{self._configuration.title} was changed at the same time; trying again")
            self._renewals.made(
                Kind.CA_BUNDLE,
                Reason.NOT_TRUSTED,
                configuration=self._configuration.title,
                serials=[serial_text(certificate) for certificate in trust.certificates],
            )
        self._published = True
        known, now = self._trusted_since, self._clock()
        if known is None or known[0] != trust.signer or known[1] > now:
            self._trusted_since = (trust.signer, now)

    def _renew(self) -> CertificatePair | None:
        wanted = self._wanted()
        if wanted is None:
            return None
        authority, reason = wanted
        self._leaf, self._temporary = self._issuer.leaf(authority), False
        pair = self._leaf.pair
        self._renewals.made(
            Kind.LEAF,
            reason,
            not_after=pair.not_after.isoformat(),
            names=pair.names,
            ca=serial_text(authority.certificate),
        )
        return pair

    def _wanted(self) -> tuple[Authority, Reason] | None:
        """Which CA should sign a new leaf now, and why; None while the current one is fine."""
        leaf, trust, now = self._current_leaf(), self._trust, self._clock()
        if trust is None or now >= trust.signer.not_after:
            return None
        if leaf.authority.certificate not in trust.certificates:
            # Nobody waits for a better moment: API servers stop trusting this leaf, or never did.
            return trust.signer, Reason.FIRST if self._temporary else Reason.CA_CHANGED
        if leaf.authority != trust.signer and self._trusted_long_enough(trust.signer, now):
            return trust.signer, Reason.CA_CHANGED
        # Whatever has become of the leaf, the old CA signs the next one until API servers surely trust the new one.
        authority = leaf.authority if now < leaf.authority.not_after else trust.signer
        if now >= leaf.pair.not_after:
            return authority, Reason.EXPIRED
        if now < leaf.pair.not_before:
            return authority, Reason.CLOCK_WENT_BACK
        if now >= leaf.renew_at:
            return authority, Reason.DUE
        return None

    def _trusted_long_enough(self, authority: Authority, now: datetime) -> bool:
        since = self._trusted_since
        return since is not None and since[0] == authority and now - since[1] >= self._interval / _PROPAGATION

    def _current_leaf(self) -> Leaf:
        if self._leaf is None:
            raise RuntimeError("the certificate source was not started")
        return self._leaf

    async def _attempt(self, call: Awaitable[T], problems: list[str]) -> T | None:
        try:
            return await call
        except (ApiProblem, NotDone) as problem:
            problems.append(str(problem))
        except Exception as error:  # noqa: BLE001 - an answer of an odd shape must not end the renewals for good
            problems.append(f"an answer of the API server cannot be read: {type(error).__name__}: {error}")
        return None
