"""The template store of a cluster: a template exists before its pod is admitted (docs/templates.md, S62)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import orjson
import structlog

from app.cluster import compare, gates, marks
from app.cluster.api import MERGE_PATCH, TEMPLATES, ApiError, Connection, Unreachable, namespaced
from app.cluster.drops import DroppedFields
from app.cluster.flight import SingleFlight
from app.cluster.known import Key, Known, KnownTemplates
from app.cluster.observer import NO_OBSERVER, StoreObserver
from app.cluster.restore import Restorer
from app.cluster.store import StoreUnavailable, TemplateError, TemplateNameTaken, TemplateRefused
from app.cluster.watch import ListWatch
from app.translate import Template

JSON = Any

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _INVALID, _TOO_MANY, _SERVER_ERROR = 401, 403, 404, 409, 422, 429, 500
_RENEW_FRACTION = 4
"""The stamp is renewed at a quarter of the grace period: a pod has the other three quarters to get from our answer into
the API server, for which that one allows a minute, and the clocks of replicas may differ by as much."""
_RENEW_AGAIN = timedelta(seconds=30)
"""Pause after a stamp that could not be written, so that an outage does not slow down every pod."""
_UNWATCHED = timedelta(minutes=1)
"""How long a template counts as existing while the API server refuses the watch."""
_TRIES = 3
"""Rounds of create and read, when a template appears and vanishes under our hands or quotas collide."""

log = structlog.get_logger(__name__)


class ApiTemplateStore:
    """Writes templates through the API server and remembers them; :meth:`start` it before use and :meth:`close` it.

    A known template costs no call. Concurrent calls for one template share one. With the API server away, known
    templates go on. What keeps the memory true is told in :mod:`app.cluster.known`.

    Args:
        connection: to the API server; stays open when the store is closed.
        grace_period: what the sweeper grants an unused template; at least some minutes, or a pod that is being
            admitted is not safe from it.
        request_timeout: for everything that one :meth:`ensure` asks of the API server.
        clock: the current time.
        observer: each :meth:`ensure` counts as created, reused or failed.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        grace_period: timedelta = timedelta(hours=1),
        request_timeout: timedelta = timedelta(seconds=2),
        clock: Callable[[], datetime] = marks.utc_now,
        observer: StoreObserver = NO_OBSERVER,
    ) -> None:
        self._connection = connection
        self._renew_age = grace_period / _RENEW_FRACTION
        self._request_seconds = request_timeout.total_seconds()
        self._clock = clock
        self._observer = observer
        self._restorer = Restorer(connection, self.write, observer)
        self._known = KnownTemplates(clock, self._restorer.lost)
        self._watch = ListWatch(connection, TEMPLATES, self._known)
        self._flights: SingleFlight[bool] = SingleFlight()
        self._drops = DroppedFields(clock)
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to watch; returns at once, and :meth:`ensure` works from now on."""
        self._watching = asyncio.create_task(self._watch.run())

    async def wait_synced(self) -> None:
        """Return when the templates of the cluster have been listed once."""
        await self._watch.synced.wait()

    @property
    def synced(self) -> bool:
        """The templates of the cluster have been listed once."""
        return self._watch.synced.is_set()

    def knows(self, namespace: str, name: str) -> bool:
        """A template of this name is known to exist, whatever it asks."""
        return self._known.get((namespace, name)) is not None

    @property
    def known(self) -> int:
        """How many templates are remembered."""
        return len(self._known)

    async def close(self) -> None:
        """Stop watching, and end what runs."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._restorer.close()
        await self._flights.close()

    async def ensure(self, namespace: str, template: Template, *, dry_run: bool = False) -> None:
        """See :meth:`app.cluster.store.TemplateStore.ensure`; a dry run makes no API call at all."""
        await self.write(namespace, template, dry_run=dry_run)

    async def write(self, namespace: str, template: Template, *, dry_run: bool = False) -> bool:
        """As :meth:`ensure`; True when this call had the template written."""
        try:
            created = await self._ensure(namespace, template, dry_run=dry_run)
        except TemplateError as error:
            self._observer.failed(error.reason)
            raise
        if created:
            self._observer.created()
        elif not dry_run:
            self._observer.reused()
        return created

    async def _ensure(self, namespace: str, template: Template, *, dry_run: bool) -> bool:
        """True when this call had the template written."""
        key = (namespace, template.name)
        content = orjson.dumps(template.spec, default=dict)
        known = self._known.get(key)
        if known is not None and self._watch.refused and self._clock() - known.seen > _UNWATCHED:
            self._known.forget(key)
            known = None
        if known is None:
            self._drops.check(template.spec)
        elif not known.asks_for(template.spec, content):
            raise TemplateNameTaken(template.name)
        if dry_run or (known is not None and not self._needs_renewal(known)):
            return False
        created, started = await self._flights.join((key, content), lambda: self._settle(key, template, content))
        return created and started

    async def _settle(self, key: Key, template: Template, content: bytes) -> bool:
        """Make the template exist, with a fresh stamp; True when it was written now."""
        deadline = asyncio.get_running_loop().time() + self._request_seconds
        trouble = ""
        for _ in range(_TRIES):
            known, created = self._known.get(key), False
            if known is None:
                try:
                    known, created = await self._create(key, template, deadline)
                except Unreachable as error:
                    raise StoreUnavailable(str(error)) from error
                except _Again as error:
                    trouble = str(error)
                    continue
            if not known.asks_for(template.spec, content):
                raise TemplateNameTaken(template.name)
            if created or not self._needs_renewal(known) or await self._renew(key, known, deadline):
                return created
            trouble = "it was deleted while it was being used"
        raise StoreUnavailable(f"ResourceClaimTemplate {template.name} could not be written: {trouble}")

    async def _create(self, key: Key, template: Template, deadline: float) -> tuple[Known, bool]:
        """Write the template, or read the one that is there; True when it was written."""
        namespace, name = key
        body = template.body(namespace, marked=True)
        body["metadata"]["annotations"][marks.RENEWED_ANNOTATION] = marks.stamp(self._clock())
        try:
            received = await self._call("create", namespaced(TEMPLATES, namespace), deadline, body=body)
        except ApiError as error:
            # An exhausted quota is reported before the name is looked at (seen on Kubernetes 1.36).
            existing = await self._existing(key, template, error, deadline)
            if existing is None:
                raise self._refusal(template, error) from error
            if "deletionTimestamp" in existing["metadata"]:
                raise TemplateNameTaken(
                    name
                ) from error  # it still has the name, and will be gone when the pod needs it
            return self._known.learn(existing), False
        stored = received["spec"]["spec"]
        if not compare.same(template.spec, stored):
            await self._take_back(received, deadline)
            lost = compare.dropped(template.spec, stored)
            if lost:
                raise self._drops.learn(lost)
            raise TemplateRefused(
                f"ResourceClaimTemplate {name} was changed on its way into the API server, by another admission "
                "webhook or policy, and would ask for something else",
                _CONFLICT,
            )
        return self._known.learn(received), True

    async def _existing(self, key: Key, template: Template, error: ApiError, deadline: float) -> JSON | None:
        """The template that may be behind a refusal, if there is one."""
        if error.code not in (_FORBIDDEN, _CONFLICT):
            return None
        try:
            return await self._call("get", namespaced(TEMPLATES, *key), deadline)
        except ApiError as unread:
            if error.code == _CONFLICT and unread.code != _NOT_FOUND:
                raise self._refusal(template, unread) from unread
            return None

    async def _renew(self, key: Key, known: Known, deadline: float) -> bool:
        """Write the renew stamp; False when the template is gone. Any other failure must not stop the pod."""
        patch = {
            # The UID is a precondition: a template that was deleted and made again is looked at again.
            "metadata": {
                "uid": known.uid,
                "annotations": {marks.RENEWED_ANNOTATION: marks.stamp(self._clock())},
            }
        }
        path = namespaced(TEMPLATES, *key)
        try:
            received = await self._call("patch", path, deadline, body=patch, content_type=MERGE_PATCH)
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and error.code in (_NOT_FOUND, _CONFLICT):
                self._known.forget(key)
                return False
            known = self._known.get(key) or known  # the watch may have replaced it meanwhile
            known.renew_after = self._clock() + _RENEW_AGAIN
            log.warning("template_stamp_not_renewed", namespace=key[0], template=key[1], error=str(error))
            return True
        if "deletionTimestamp" in received["metadata"]:
            self._known.forget(key)
            return False
        self._known.learn(received)
        self._observer.renewed()
        return True

    async def _take_back(self, received: JSON, deadline: float) -> None:
        """Delete a template that is not what was asked for; should that fail, the sweeper will: nobody uses it."""
        metadata = received["metadata"]
        path = namespaced(TEMPLATES, metadata["namespace"], metadata["name"])
        try:
            await self._call("delete", path, deadline, body={"preconditions": {"uid": metadata["uid"]}})
        except (ApiError, Unreachable) as error:
            log.warning("template_not_taken_back", template=metadata["name"], error=str(error))

    def _refusal(self, template: Template, error: ApiError) -> Exception:
        if error.code == _INVALID and (lost := gates.refused(template.spec, error.message)):
            return self._drops.learn(lost)
        if error.code == _CONFLICT:
            return _Again(error.message)
        if error.code == _TOO_MANY or error.code >= _SERVER_ERROR:
            return StoreUnavailable(error.message)
        if error.code == _NOT_FOUND and not error.reason:
            return TemplateRefused("this cluster does not serve resource.k8s.io/v1: Kubernetes ≥ 1.34 is needed", 404)
        if error.code == _UNAUTHORIZED:
            return TemplateRefused(
                f"the API server does not know the webhook's credentials: {error.message}", error.code
            )
        return TemplateRefused(error.message, error.code)

    def _needs_renewal(self, known: Known) -> bool:
        now = self._clock()
        if not known.marked or now - known.last_used <= self._renew_age:
            return False
        return known.renew_after is None or now >= known.renew_after

    async def _call(self, verb: str, path: str, deadline: float, **arguments: Any) -> JSON:
        """One API call within what is left of the time."""
        left = deadline - asyncio.get_running_loop().time()
        return await self._connection.request(verb, path, seconds=max(left, 0.0), **arguments)


class _Again(Exception):  # noqa: N818  not an error: the next round may find the template
    """The name was taken a moment ago and is free now, or two quota updates collided."""
