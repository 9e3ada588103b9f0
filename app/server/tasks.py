"""Tasks that run beside the listeners, and whether one of them has died."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from certs.source import Health


class BackgroundTasks:
    """Starts tasks by name and notices when one fails: a certificate that nobody renews must not go unseen."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._vital: set[str] = set()
        self._dead: dict[str, str] = {}
        self._log = structlog.get_logger(__name__)

    def start(self, name: str, work: Coroutine[Any, Any, None], *, vital: bool = True) -> asyncio.Task[None]:
        """Run something until it ends or :meth:`close` is called.

        Args:
            name: for the health report and the log.
            work: what to run.
            vital: reviews suffer when it dies, so the process should be started anew. Housekeeping is not: a fault in
                it must not take down all replicas.
        """
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks[name] = task
        if vital:
            self._vital.add(name)
        return task

    def health(self) -> Health:
        """Good unless a vital task has died of an error; the text tells of all."""
        died = [f"{name} died: {error}" for name, error in self._dead.items()]
        return Health(ok=self._vital.isdisjoint(self._dead), text="; ".join(died) or ", ".join(self._tasks) or "none")

    async def close(self) -> None:
        """Cancel what still runs and wait for it."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._dead[task.get_name()] = f"{type(error).__name__}: {error}"
            self._log.error("task_died", task=task.get_name(), exc_info=error)
