"""The templates that are known to exist, kept true by a watch.

Which templates? The watch sees all of them, since the store also uses templates without our mark: those that
``preview -o yaml`` printed and somebody applied. A watch on our label would miss their deletion, and a time limit
would be wrong for as long as it lasts: a pod whose template is missing may wait 16 minutes. RBAC
cannot narrow a list by label either. Kept in memory are only templates with our mark and those that the store was
asked for, a few hundred bytes each; of all others an event is looked at and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from app.cluster import marks
from app.cluster.compare import same
from app.translate import Template
from app.translate.decision import SUMMARY_ANNOTATION

JSON = Any
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class Known:
    """One template that exists, whoever wrote it."""

    uid: str
    spec: bytes
    """The claim spec as the API server gives it, JSON."""
    summary: str
    marked: bool
    last_used: datetime
    seen: datetime
    """When the API server last told us about it."""
    round: int
    """The list during or after which that was."""
    accepted: bytes = b""
    """The last claim spec, as it was asked for, that was found to be the same as ``spec``."""
    renew_after: datetime | None = None
    """No earlier try to write the renew stamp: the last one failed."""

    def asks_for(self, spec: Mapping[str, JSON], content: bytes) -> bool:
        """It asks for the same; ``content`` is the spec as JSON, so that a repeated question costs one comparison."""
        if content != self.accepted:
            if not same(spec, orjson.loads(self.spec)):
                return False
            self.accepted = content
        return True


class KnownTemplates:
    """The known templates by namespace and name; the handler of their watch.

    Args:
        clock: the current time.
        on_lost: called with namespace and template when one with our mark is gone.
    """

    def __init__(self, clock: Callable[[], datetime], on_lost: Callable[[str, Template], None]) -> None:
        self._clock = clock
        self._on_lost = on_lost
        self._known: dict[Key, Known] = {}
        self._round = 0

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Key) -> Known | None:
        """The template, if it is known to exist."""
        return self._known.get(key)

    def learn(self, item: JSON) -> Known:
        """Remember an object that the API server has just shown."""
        metadata = item["metadata"]
        key = (metadata["namespace"], metadata["name"])
        known = Known(
            uid=metadata["uid"],
            spec=orjson.dumps(item["spec"]["spec"]),
            summary=_summary(item),
            marked=marks.is_marked(item),
            last_used=marks.last_used(item),
            seen=self._clock(),
            round=self._round,
        )
        before = self._known.get(key)
        if before is not None and before.spec == known.spec:
            known.accepted = before.accepted
        if before is not None and before.last_used == known.last_used:
            known.renew_after = before.renew_after
        self._known[key] = known
        return known

    def forget(self, key: Key) -> None:
        """The template does not exist, or no longer as it was known."""
        self._known.pop(key, None)

    def listing(self) -> None:
        """See :class:`app.cluster.watch.WatchHandler`."""
        self._round += 1

    def present(self, item: JSON) -> None:
        """See :class:`app.cluster.watch.WatchHandler`."""
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        if "deletionTimestamp" in item["metadata"]:
            self.forget(key)
        elif marks.is_marked(item) or key in self._known:
            self.learn(item)

    def deleted(self, item: JSON) -> None:
        """See :class:`app.cluster.watch.WatchHandler`."""
        metadata = item["metadata"]
        key = (metadata["namespace"], metadata["name"])
        known = self._known.get(key)
        if known is not None and known.uid != metadata["uid"]:
            return  # it was created again, and we know that from our own call before this event arrived
        self.forget(key)
        if marks.is_marked(item):
            self._on_lost(key[0], Template(key[1], item["spec"]["spec"], _summary(item)))

    def listed(self, keys: frozenset[Key]) -> None:
        """See :class:`app.cluster.watch.WatchHandler`."""
        # What our own calls have seen since the list began may be younger than the list; the watch tells.
        for key in [k for k, known in self._known.items() if k not in keys and known.round < self._round]:
            gone = self._known.pop(key)
            if gone.marked:
                self._on_lost(key[0], Template(key[1], orjson.loads(gone.spec), gone.summary))


def _summary(item: JSON) -> str:
    return str((item["metadata"].get("annotations") or {}).get(SUMMARY_ANNOTATION, ""))
