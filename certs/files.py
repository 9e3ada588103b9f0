"""A certificate from two files, as cert-manager, a mounted Secret or an administrator writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from certs.pair import CertificateError, CertificatePair, verified_pair
from certs.reasons import Kind, Reason, Renewals
from certs.source import Clock, Health, wall_clock

CHECK_EVERY_SECONDS = 5.0
"""Changed files are served within 10 s: one interval, plus one more when a check fell between the two writes."""


class FileSource:
    """Serves a pair of files and picks up changes.

    The contents are compared, not times or inodes: a mounted Secret changes through a symlink (``..data``), others
    write in place, and both must work. A pair that cannot be served leaves the old one serving.

    Args:
        cert_file: PEM, leaf first.
        key_file: PEM, without a passphrase.
        renewals: hears of each change.
        clock: gives the time.
        interval: seconds between two checks.
    """

    def __init__(
        self,
        cert_file: Path,
        key_file: Path,
        renewals: Renewals | None = None,
        *,
        clock: Clock = wall_clock,
        interval: float = CHECK_EVERY_SECONDS,
    ) -> None:
        self._cert_file = cert_file
        self._key_file = key_file
        self._renewals = renewals or Renewals()
        self._clock = clock
        self._interval = interval
        self._pair: CertificatePair | None = None
        self._problem = ""
        self._log = structlog.get_logger(__name__)

    async def start(self) -> None:
        """Read the files once, so that a bad pair fails the start and not the first connection.

        Raises:
            CertificateError: a file cannot be read, or the pair cannot be served.
        """
        self._pair = self._read()

    async def run(self, changed: Callable[[CertificatePair], None]) -> None:
        """Check the files until cancelled, and call ``changed`` with each new good pair."""
        while True:
            await asyncio.sleep(self._interval)
            if (pair := self.check()) is not None:
                changed(pair)

    def check(self) -> CertificatePair | None:
        """The new pair, when the files hold another one that can be served."""
        try:
            pair = self._read()
        except CertificateError as error:
            # Said once: a half-written pair is normal for one check, and a broken one stays for days.
            if str(error) != self._problem:
                self._log.warning("certificate_not_used", problems=error.problems)
            self._problem = str(error)
            return None
        self._problem = ""
        if pair == self._pair:
            return None
        self._pair = pair
        self._renewals.made(Kind.LEAF, Reason.FILES_CHANGED, not_after=pair.not_after.isoformat(), names=pair.names)
        return pair

    def current(self) -> CertificatePair:
        """The pair to serve now."""
        if self._pair is None:
            raise RuntimeError("the certificate source was not started")
        return self._pair

    def healthy(self) -> Health:
        """Good until the pair that is served expires; a successor that cannot be used is mentioned."""
        pair = self.current()
        expired = self._clock() >= pair.not_after
        text = f"{'expired at' if expired else 'valid until'} {pair.not_after:%Y-%m-%d %H:%M:%S} UTC"
        if self._problem:
            text += f"; the changed files are not used: {self._problem}"
        return Health(not expired, text)

    def _read(self) -> CertificatePair:
        contents, problems = [], []
        for file in (self._cert_file, self._key_file):
            try:
                contents.append(file.read_bytes())
            except OSError as error:
                problems.append(f"{file}: cannot be read: {error.strerror}")
        if problems:
            raise CertificateError(problems)
        chain, key = contents
        return verified_pair(chain, key, self._clock(), chain_name=str(self._cert_file), key_name=str(self._key_file))
