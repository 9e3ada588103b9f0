"""Keeps the CA in the Secret: makes it, replaces it in time, and heals what somebody broke."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import structlog
from cryptography import x509

from certs.api import NotDone
from certs.authority import SKEW_ALLOWANCE, is_ours, serial_text
from certs.issue import Issuer
from certs.reasons import Kind, Reason, Renewals
from certs.source import Clock, wall_clock
from certs.store import SecretStore, Stored
from certs.trust import Trust

_ATTEMPTS = 5
"""Each lost race means that somebody else has written; more in a row than replicas means something else."""


class AuthorityKeeper:
    """Every replica has one; they agree by preconditions, without a leader.

    What is found, and what happens:

    ====================================================  =====================================================
    no Secret                                             put back from memory, else a new CA
    an empty Secret                                       filled: charts create one to grant rights by name
    a Secret without our label                            left alone, reported
    half a pair, not PEM, no CA, wrong key                put back from memory, else a new CA
    expired CA                                            a new CA; nobody can rely on the old one
    two thirds of the life are over                       a new CA; the old one stays trusted
    ====================================================  =====================================================

    Args:
        store: the Secret.
        issuer: makes new CAs.
        renewals: hears of each; None where the caller tells of it, as a command does.
        clock: gives the time.
    """

    def __init__(
        self, store: SecretStore, issuer: Issuer, renewals: Renewals | None = None, *, clock: Clock = wall_clock
    ) -> None:
        self._store = store
        self._issuer = issuer
        self._renewals = renewals
        self._clock = clock
        self._known: Trust | None = None
        self._log = structlog.get_logger(__name__)

    async def settle(self, trusted: Collection[x509.Certificate] = (), *, clock_problem: str = "") -> Trust:
        """What the Secret holds, after it was put in order.

        Args:
            trusted: what API servers trust now; our CAs among it stay trusted when the Secret tells nothing of them.
            clock_problem: why no CA may be made here now; empty when one may.

        Raises:
            NotDone: the Secret belongs to somebody else, or no CA may be made.
            ApiProblem: the API server refuses or does not answer.
        """
        for _ in range(_ATTEMPTS):
            stored = await self._store.read()
            wanted, reason = self._wanted(stored, trusted, clock_is_right=not clock_problem)
            if reason is None:
                self._known = wanted
                return wanted
            if clock_problem and (stored is None or stored.trust is None or stored.trust.signer != wanted.signer):
                raise NotDone(f"{self._store.title}: needs a new CA ({reason.sentence}), but {clock_problem}")
            if stored is not None and stored.problems:
                self._log.warning("ca_secret_broken", problems=stored.problems)
            if await self._write(stored, wanted):
                return self._written(wanted, reason)
        raise NotDone(f"{self._store.title} is changed by others all the time; trying again later")

    async def rotate(self, *, drop_old: bool = False, clock_problem: str = "") -> Trust:
        """Replace the CA now.

        Args:
            drop_old: no longer trust the old one, whose key has leaked; until every replica has noticed, API servers
                cannot call all of them.
            clock_problem: why no CA may be made here now; empty when one may.

        Raises:
            NotDone: the Secret belongs to somebody else, or holds no CA; or our clock is off.
            ApiProblem: the API server refuses or does not answer.
        """
        if clock_problem:
            raise NotDone(f"{self._store.title}: gets no new CA from here, since {clock_problem}; set the clock first")
        stored = await self._store.read()
        if stored is None or stored.trust is None:
            raise NotDone(f"{self._store.why_unusable(stored)}; a running webhook makes a CA by itself")
        new = Trust(self._issuer.authority()) if drop_old else self._successor(stored.trust)
        if not await self._store.replace(stored, new):
            raise NotDone(f"{self._store.title} was changed by somebody else just now; look at it again")
        return self._written(new, Reason.REQUESTED)

    def _wanted(
        self, stored: Stored | None, trusted: Collection[x509.Certificate], *, clock_is_right: bool
    ) -> tuple[Trust, Reason | None]:
        """What the Secret should hold, and why that is not what it holds.

        A clock that is far off ends no overlap: the leaves of others may still need the old CAs.
        """
        now = self._clock()
        trust = None if stored is None else stored.trust
        if trust is None:
            gone = Reason.SECRET_GONE if stored is None or not stored.problems else Reason.SECRET_BROKEN
            if self._known is not None and now < self._known.signer.not_after:
                return self._known, gone
            reason = Reason.FIRST if gone is Reason.SECRET_GONE else gone
            old = tuple(one for one in trusted if is_ours(one) and now < one.not_valid_after_utc)
            return Trust(self._issuer.authority(), old, self._until() if old else None), reason
        if now >= trust.signer.not_after:
            return Trust(self._issuer.authority()), Reason.EXPIRED
        if now >= trust.signer.renew_at:
            return self._successor(trust), Reason.DUE
        if clock_is_right and trust.old_until is not None and now >= trust.old_until:
            return Trust(trust.signer), Reason.OVERLAP_ENDED
        return trust, None

    def _successor(self, trust: Trust) -> Trust:
        return trust.succeeded_by(self._issuer.authority(), self._until())

    def _until(self) -> datetime:
        """When no leaf of an old CA can be served any more, by the clock of any replica."""
        return self._clock() + self._issuer.leaf_life + SKEW_ALLOWANCE

    async def _write(self, stored: Stored | None, trust: Trust) -> bool:
        return await (self._store.create(trust) if stored is None else self._store.replace(stored, trust))

    def _written(self, trust: Trust, reason: Reason) -> Trust:
        self._known = trust
        if self._renewals is not None:
            serial, not_after = serial_text(trust.signer.certificate), trust.signer.not_after.isoformat()
            self._renewals.made(Kind.CA, reason, serial=serial, not_after=not_after, old=len(trust.old))
        return trust
