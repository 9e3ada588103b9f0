"""Removes templates that nobody needs any more.

Why it cannot take a template from under a pod that is being admitted. The store answers only with a template whose
renew stamp is younger than a quarter of the grace period, or after writing a new one. The sweeper reads the template
first and the pods after it, and deletes only the very version that it read:

* the stamp is written before the deletion: the resourceVersion has changed, and the deletion fails (409);
* the stamp is written after the deletion: the store gets a 404 and creates the template again;
* no stamp is written since the old one is young enough: the sweeper sees the same young stamp and leaves it. By the
  time that it is too old, three quarters of the grace period have passed, and the pod has long been among those listed.

What remains is a store that cannot write stamps because its API server is away, and a sweeper whose is not; then
:mod:`app.cluster.restore` puts the template back.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.cluster import marks
from app.cluster.api import TEMPLATES, ApiError, Connection, Unreachable, namespaced
from app.cluster.lease import Lease
from app.cluster.observer import NO_OBSERVER, StoreObserver
from app.cluster.restore import templates_in_use
from app.translate.decision import MARK_LABEL

JSON = Any

LEASE_NAME = "hami-dra-webhook-sweeper"
_NOT_FOUND, _CONFLICT = 404, 409
_LEASE_ROUNDS = 3
"""Rounds that a holder may miss, by a slow list or a lost packet, before another replica takes over."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one round found, in numbers of templates."""

    marked: int
    """All with our mark, in use or not."""
    removed: int = 0
    in_use: int = 0
    """Old enough, and named by a pod."""
    overtaken: int = 0
    """Renewed, or deleted by somebody else, between reading and deleting."""


class Sweeper:
    """Deletes marked templates that no pod of their namespace names and whose grace period is over.

    Args:
        connection: to the API server.
        namespace: of the Lease that picks one replica.
        identity: of this replica, unique.
        grace_period: the one that the store was given.
        interval: pause between two rounds.
        clock: the current time.
        observer: hears of each removed template.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        namespace: str,
        identity: str,
        grace_period: timedelta = timedelta(hours=1),
        interval: timedelta = timedelta(minutes=5),
        clock: Callable[[], datetime] = marks.utc_now,
        observer: StoreObserver = NO_OBSERVER,
    ) -> None:
        self._connection = connection
        self._grace_period = grace_period
        self._interval = interval
        self._clock = clock
        self._observer = observer
        self._lease = Lease(
            connection, namespace, LEASE_NAME, identity=identity, duration=interval * _LEASE_ROUNDS, clock=clock
        )

    async def run(self) -> None:
        """Sweep in every round in which the Lease is ours, until cancelled; failures are logged and tried again."""
        held = False
        try:
            while True:
                try:
                    held = await self._lease.hold()
                    if held:
                        await self.sweep()
                except (ApiError, Unreachable) as error:
                    log.warning("sweep_failed", error=str(error))
                # Spread, so that replicas that started together don't race for the Lease in every round.
                await asyncio.sleep(self._interval.total_seconds() * random.uniform(0.9, 1.1))  # noqa: S311
        finally:
            if held:
                await self._give_up()

    async def sweep(self) -> Sweep:
        """One round over all namespaces; nobody checks the Lease here.

        Raises:
            ApiError: the templates cannot be listed.
            Unreachable: no usable answer.
        """
        marked, candidates = 0, defaultdict(list)
        async for page in self._connection.pages(TEMPLATES, query={"labelSelector": f"{MARK_LABEL}=true"}):
            for item in page.get("items") or ():
                marked += 1
                if self._clock() - marks.last_used(item) > self._grace_period:
                    kept = {field: item["metadata"][field] for field in ("namespace", "name", "uid", "resourceVersion")}
                    candidates[kept["namespace"]].append(kept)
        removed = in_use = overtaken = 0
        for namespace, items in candidates.items():
            try:
                named = await templates_in_use(self._connection, namespace)
                for metadata in items:
                    if metadata["name"] in named:
                        in_use += 1
                    elif await self._remove(metadata):
                        removed += 1
                    else:
                        overtaken += 1
            except ApiError as error:  # a policy may protect one namespace; the others are swept all the same
                log.warning("namespace_not_swept", namespace=namespace, error=error.message)
        result = Sweep(marked=marked, removed=removed, in_use=in_use, overtaken=overtaken)
        log.info("swept", marked=marked, removed=removed, in_use=in_use, overtaken=overtaken)
        return result

    async def _remove(self, metadata: JSON) -> bool:
        """Delete the very version that was read; False when it has changed or gone since."""
        preconditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        path = namespaced(TEMPLATES, metadata["namespace"], metadata["name"])
        try:
            await self._connection.request("delete", path, body={"preconditions": preconditions})
        except ApiError as error:
            if error.code in (_NOT_FOUND, _CONFLICT):
                return False
            raise
        self._observer.removed()
        return True

    async def _give_up(self) -> None:
        try:
            await self._lease.release()
        except (ApiError, Unreachable) as error:
            log.info("lease_not_released", error=str(error))
