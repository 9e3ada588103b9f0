"""One call for all who want the same at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Shares running calls by key. Nothing is kept of a call that has ended, success or not."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    async def join(self, key: Hashable, call: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """The result of the running call with this key, or of a new one; and whether this caller started it.

        A cancelled caller leaves the call running for the others. An exception of the call reaches all of its callers.
        """
        task = self._running.get(key)
        started = task is None or task.done()
        if task is None or task.done():
            task = asyncio.create_task(call())
            self._running[key] = task
            task.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(task), started

    async def close(self) -> None:
        """Cancel what runs, and wait for its end."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: Hashable, task: asyncio.Task[T]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # every caller may be gone, and asyncio complains about exceptions that nobody saw
