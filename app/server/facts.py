"""Holds what is known of the cluster, for whoever reads it and whoever finds out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from app.translate import Facts, forget
from app.translate.feature_gates import GATES
from certs.source import Health

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 15.0
INCOMPLETE_PAUSE_SECONDS = 60.0
REFRESH_SECONDS = 120.0
"""How old facts may become: a driver that is installed after the webhook must not need its restart. Lists of a large
cluster are some megabytes, so not much more often."""


class Reading(Protocol):
    """What one look at the cluster found."""

    @property
    def facts(self) -> Facts:
        """What is known now."""

    @property
    def problems(self) -> Sequence[str]:
        """What could not be found out, and why; a sentence each. Empty when everything is known."""

    @property
    def offers(self) -> bytes | None:
        """Slices and classes as they are, packed; None while unknown."""


class FactsHolder:
    """The newest facts. Nothing is known until the first :meth:`update`.

    Args:
        clock: seconds on a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._facts = Facts()
        self._offers: bytes | None = None
        self._updated: float | None = None
        self._problems: tuple[str, ...] = ("the cluster was not read yet",)
        self._first = asyncio.Event()

    def current(self) -> Facts:
        """The facts to translate with now."""
        return self._facts

    def offers(self) -> bytes | None:
        """The slices and classes behind the facts, packed; None while unknown. Equal ones are the same object."""
        return self._offers

    def update(self, facts: Facts, problems: Sequence[str] = (), offers: bytes | None = None) -> None:
        """Replace the facts; each review uses those that were there when it began.

        Facts that say the same as before leave the old object, which keys the caches of the translation.
        """
        if _content(facts) != _content(self._facts):
            self._facts = facts
            forget()
        if offers != self._offers:
            self._offers = offers
        self._problems = tuple(problems)
        self._updated = self._clock()
        self._first.set()

    async def until_known(self) -> None:
        """Return after the first update."""
        await self._first.wait()

    def failed(self, problems: Sequence[str]) -> None:
        """The cluster could not be read; what was known stays."""
        self._problems = tuple(problems)

    def age_seconds(self) -> float:
        """Seconds since the last update; NaN before the first."""
        return float("nan") if self._updated is None else self._clock() - self._updated

    def health(self) -> Health:
        """Good from the first update on: a later outage makes no replica better than this one."""
        return Health(self._updated is not None, "; ".join((*self._known(), *self._problems)))

    def _known(self) -> list[str]:
        facts = self._facts
        if not _is_anything_known(facts):
            return []
        version = "unknown" if facts.server_version is None else ".".join(map(str, facts.server_version))
        classes = "unknown" if facts.device_classes is None else len(facts.device_classes)
        devices = "unknown" if facts.devices is None else len(facts.devices)
        known = [f"Kubernetes {version}, device classes: {classes}, devices: {devices}"]
        known += [
            f"the API server drops {field} (feature gate {GATES[field].name})" for field in sorted(facts.dropped_fields)
        ]
        return known


async def follow(
    read: Callable[[], Awaitable[Reading]], holder: FactsHolder, *, first_pause: float = FIRST_PAUSE_SECONDS
) -> None:
    """Read the cluster until nothing is missing, and from then on now and again, for ever.

    A later look that finds less, as in an outage, changes nothing of what is known.
    """
    await read_until_complete(read, holder, first_pause=first_pause)
    log = structlog.get_logger(__name__)
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        try:
            reading = await read()
        except Exception as error:  # noqa: BLE001 - an object of an odd shape must not end the reading for good
            problems: tuple[str, ...] = (f"the cluster cannot be read: {type(error).__name__}: {error}",)
        else:
            problems = tuple(reading.problems)
        if problems:
            holder.failed(problems)
            log.warning("facts_not_renewed", problems=problems)
            continue
        before = holder.current()
        holder.update(reading.facts, offers=reading.offers)
        if holder.current() is not before:
            log.info("facts_changed", known=holder.health().text)


async def read_until_complete(
    read: Callable[[], Awaitable[Reading]], holder: FactsHolder, *, first_pause: float = FIRST_PAUSE_SECONDS
) -> None:
    """Read the cluster until nothing is missing.

    While nothing is known (the API server does not answer) the pauses double up to 15 s. Where only a part is missing
    (a permission, an API that is off) that part stays unknown, and is asked for once a minute.
    """
    log = structlog.get_logger(__name__)
    pause = first_pause
    said: tuple[str, ...] = ()
    while True:
        failure: Exception | None = None
        problems: tuple[str, ...] = ()
        try:
            reading = await read()
        except Exception as error:  # noqa: BLE001 - an object of an odd shape must not end the reading for good
            failure = error
            problems = (f"the cluster cannot be read: {type(error).__name__}: {error}",)
            holder.failed(problems)
        else:
            problems = tuple(reading.problems)
            if _is_anything_known(reading.facts):
                holder.update(reading.facts, problems, reading.offers)
                pause = INCOMPLETE_PAUSE_SECONDS
            else:
                holder.failed(problems)
        if problems and problems != said:
            log.warning("facts_incomplete", problems=problems, exc_info=failure)
        if not problems:
            log.info("facts_read", known=holder.health().text)
            return
        said = problems
        await asyncio.sleep(pause)
        pause = min(pause * 2, MAX_PAUSE_SECONDS) if pause < MAX_PAUSE_SECONDS else pause


def _content(facts: Facts) -> tuple[object, ...]:
    return facts.server_version, facts.device_classes, facts.devices, facts.dropped_fields


def _is_anything_known(facts: Facts) -> bool:
    return any(part is not None for part in (facts.server_version, facts.device_classes, facts.devices))
