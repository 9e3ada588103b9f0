"""How far this machine's clock is off, as seen from the API server, who will judge our certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from certs.api import Api, ApiProblem
from certs.authority import SKEW_ALLOWANCE
from certs.source import Clock, wall_clock

WORTH_SAYING: Final = timedelta(minutes=5)
TOO_FAR: Final = SKEW_ALLOWANCE / 2
"""Beyond this no CA is made: other replicas may be off the other way."""
_PATH: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
"""Everybody may create one (``system:basic-user``); nothing is stored, and the answer says when it was made."""


class ServerClock:
    """Compares the two clocks.

    Args:
        api: to the API server.
        clock: the one of this machine.
    """

    def __init__(self, api: Api, clock: Clock = wall_clock) -> None:
        self._api = api
        self._clock = clock
        self.ahead = timedelta()
        """How far this machine is ahead of the API server; negative when it is behind. Zero while unknown."""
        self._log = structlog.get_logger(__name__)

    async def compare(self) -> None:
        """Look again. An API server that does not tell leaves what was known."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        try:
            review = await self._api.request("create", _PATH, body=body)
            ahead = self._clock() - _time(review["metadata"]["creationTimestamp"])
        except (ApiProblem, KeyError, TypeError, ValueError):
            return
        if abs(ahead) >= WORTH_SAYING and abs(ahead - self.ahead) >= WORTH_SAYING:
            self._log.warning("clock_off", seconds=round(ahead.total_seconds()), problem=_sentence(ahead))
        self.ahead = ahead

    @property
    def note(self) -> str:
        """A sentence when the clock is off by so much that somebody should look; else empty."""
        return _sentence(self.ahead) if abs(self.ahead) >= WORTH_SAYING else ""

    @property
    def problem(self) -> str:
        """Why no CA should be made here; empty when one may."""
        return self.note if abs(self.ahead) >= TOO_FAR else ""


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _sentence(ahead: timedelta) -> str:
    direction = "ahead of" if ahead > timedelta() else "behind"
    return (
        f"this machine's clock is {timedelta(seconds=round(abs(ahead).total_seconds()))} {direction} the API server's"
    )
