"""Remembers for a while which fields an API server drops, so that not every pod pays for finding out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from app.cluster import gates
from app.cluster.store import TemplateFieldDropped
from app.translate.feature_gates import explain

JSON = Any

_MEMORY = timedelta(minutes=1)
"""Short, since one API server of several may be ahead in an upgrade, and switching a gate on must soon show."""


class DroppedFields:
    """Fields that a create call lost lately, by their place in the spec without indices.

    Args:
        clock: the current time.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._until: dict[str, datetime] = {}

    def learn(self, paths: Iterable[str]) -> TemplateFieldDropped:
        """Remember the loss of these paths, and return what to tell the user."""
        paths = tuple(paths)
        until = self._clock() + _MEMORY
        self._until.update({gates.pattern_of(path): until for path in paths})
        return TemplateFieldDropped(paths, explain(paths))

    def check(self, spec: Mapping[str, JSON]) -> None:
        """Pass when nothing in the spec is known to be dropped.

        Raises:
            TemplateFieldDropped: with the paths of this spec that would not survive.
        """
        if not self._until:
            return
        now = self._clock()
        self._until = {pattern: until for pattern, until in self._until.items() if until > now}
        lost = tuple(path for path in gates.fields(spec) if gates.pattern_of(path) in self._until)
        if lost:
            raise TemplateFieldDropped(lost, explain(lost))
