"""List and watch: keeps a handler up to date with one kind of object, for ever.

Lists in pages, watches from the list's resource version, goes on after a break where it stopped, and lists again when
the server has forgotten that place (410). The client library has no asyncio informer.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import Any, Protocol

import structlog

from app.cluster.api import ApiError, Connection, Unreachable

JSON = Any

_GONE = 410
_REFUSALS = frozenset({401, 403, 404})
"""Answers that stay the same until somebody changes the cluster; others pass, as an outage does."""
_PAGE = 500
_FIRST_BACKOFF_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 30.0

log = structlog.get_logger(__name__)


class WatchHandler(Protocol):
    """Hears about objects. The methods must not raise and must not wait."""

    def listing(self) -> None:
        """A list begins; its objects follow, one :meth:`present` each, and then :meth:`listed`."""

    def present(self, item: JSON) -> None:
        """The object exists: it was listed, added or changed."""

    def deleted(self, item: JSON) -> None:
        """The object was deleted; ``item`` is its last state."""

    def listed(self, keys: frozenset[tuple[str, str]]) -> None:
        """A list is complete: what is not among these (namespace, name) pairs is gone."""


class ListWatch:
    """Runs one list and watch.

    Args:
        connection: to the API server.
        path: of the collection, as in ``/apis/resource.k8s.io/v1/resourceclaimtemplates``.
        handler: hears about the objects.
    """

    def __init__(self, connection: Connection, path: str, handler: WatchHandler) -> None:
        self._connection = connection
        self._path = path
        self._handler = handler
        self._version: str | None = None
        self._backoff = _FIRST_BACKOFF_SECONDS
        self.synced = asyncio.Event()
        """Set after the first complete list, and then for good."""
        self.refused = False
        """The API server answers and refuses (no permission, no such API): what is known is no longer kept true."""

    async def run(self) -> None:
        """List and watch until cancelled; every failure is logged and tried again."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                if self._version is None:
                    await self._list()
                await self._watch(self._version or "")
            except ApiError as error:
                self._version = None
                if error.code == _GONE:
                    log.info("watch_expired", path=self._path)
                else:
                    self.refused = error.code in _REFUSALS
                    log.warning("watch_refused", path=self._path, code=error.code, error=error.message)
            except Unreachable as error:
                log.warning("watch_lost", path=self._path, error=str(error))
            await self._pause(loop.time() - began)

    async def _list(self) -> None:
        self._handler.listing()
        keys = set()
        version = ""
        async with aclosing(self._connection.pages(self._path, limit=_PAGE)) as pages:
            async for page in pages:
                version = page["metadata"]["resourceVersion"]
                for item in page.get("items") or ():
                    keys.add((item["metadata"].get("namespace", ""), item["metadata"]["name"]))
                    self._handler.present(item)
        self._handler.listed(frozenset(keys))
        self._version = version
        self.refused = False
        self._backoff = _FIRST_BACKOFF_SECONDS
        self.synced.set()

    async def _watch(self, version: str) -> None:
        async with aclosing(self._connection.watch(self._path, version)) as events:
            async for event in events:
                item = event["object"]
                if event["type"] == "DELETED":
                    self._handler.deleted(item)
                elif event["type"] != "BOOKMARK":
                    self._handler.present(item)
                self._version = item["metadata"]["resourceVersion"]

    async def _pause(self, lasted: float) -> None:
        """Wait before going on: not at all after a long watch, and longer each time after short ones.

        Spread, so that replicas don't come back in step.
        """
        if lasted > _MAX_BACKOFF_SECONDS:
            self._backoff = _FIRST_BACKOFF_SECONDS
            return
        await asyncio.sleep(self._backoff * random.uniform(0.5, 1.0))  # noqa: S311  spreads load, hides nothing
        self._backoff = min(self._backoff * 2, _MAX_BACKOFF_SECONDS)
