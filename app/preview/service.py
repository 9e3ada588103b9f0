"""Previews for the server: one worker process, a short queue before it, and an end when nobody asks any more."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import structlog

from app.preview.errors import Code, RequestError
from app.preview.explanation import spelled
from app.preview.jobs import INTERNAL_ERROR, OUT_OF_MEMORY, SPLIT, TOO_MUCH_MEMORY, Job, Known
from app.preview.wanted import Wanted
from app.preview.worker import Answer, Worker, WorkerEndedError
from app.settings import Previews
from app.translate import Facts, Policy, TranslationSettings

MAX_PLACES: Final = 4
"""Requests at once, from the first byte to the last: each may hold a body or an answer in memory."""
IDLE_SECONDS: Final = 300.0
"""An idle worker gives its memory back after this."""
RETRY_SECONDS: Final = 1
_NO_MEMORY: Final = (
    OUT_OF_MEMORY, *(-number for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)),
)  # fmt: skip
"""Exit codes of a process that gets no memory, from the kernel or for a library that cannot go on."""


class ClusterKnowledge(Protocol):
    """What is known of the cluster; objects that say the same are the same."""

    def current(self) -> Facts:
        """What decisions depend on."""

    def offers(self) -> bytes | None:
        """Slices and classes, packed; None while unknown."""


class PreviewService:
    """Answers previews without making a review wait.

    Args:
        settings: limits.
        policy: settings and driver profiles of the webhook.
        cluster: what is known of it now.
        own_namespace: of the webhook, where it is known.
    """

    def __init__(
        self, settings: Previews, policy: Policy, cluster: ClusterKnowledge, own_namespace: str | None
    ) -> None:
        # The worker needs to know nothing of the server.
        self.policy = Policy(TranslationSettings.model_validate(spelled(policy)), policy.profiles)
        self._cluster = cluster
        self._own_namespace = own_namespace
        self._max_seconds = settings.max_seconds
        self._worker = Worker(settings.max_seconds, settings.max_memory_mib)
        self._known: Known | None = None
        self._turn = asyncio.Lock()
        self._places = 0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[int | None] | None = None
        self._log = structlog.get_logger("preview")

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place for one request.

        Raises:
            RequestError: ``busy``, all are taken.
        """
        if self._places >= MAX_PLACES:
            message = f"{MAX_PLACES} previews are being made already"
            headers = {"Retry-After": str(RETRY_SECONDS)}
            raise RequestError(Code.BUSY, message, hint="try again in a second", headers=headers)
        self._places += 1
        try:
            yield
        finally:
            self._places -= 1

    async def answer(self, body: bytes, wanted: Wanted) -> Answer:
        """What becomes of a body.

        Raises:
            RequestError: ``took-too-long``, ``too-much-memory``, ``internal-error``.
        """
        async with self._turn:
            self._stay()
            try:
                answer = await self._worker.work(Job(body, wanted), self._what_is_known())
            except TimeoutError:
                message = f"the preview takes more than {self._max_seconds:g} s (setting preview.maxSeconds)"
                raise RequestError(Code.TOOK_TOO_LONG, message, hint=SPLIT) from None
            except WorkerEndedError as error:
                self._log.warning("preview_worker_ended", exit_code=error.code)
                if error.code in _NO_MEMORY:
                    raise RequestError(Code.TOO_MUCH_MEMORY, TOO_MUCH_MEMORY, hint=SPLIT) from None
                raise RequestError(Code.INTERNAL_ERROR, INTERNAL_ERROR) from None
            finally:
                self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rest)
        if answer.fault is not None:
            self._log.error("preview_failed", fault=answer.fault)
        return answer

    async def close(self) -> None:
        """End the worker."""
        self._stay()
        await self._worker.end()

    def _what_is_known(self) -> Known:
        facts, offers = self._cluster.current(), self._cluster.offers()
        if self._known is None or self._known.facts is not facts or self._known.offers is not offers:
            self._known = Known(self.policy, facts, self._own_namespace, offers)
        return self._known

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _rest(self) -> None:
        self._ending = asyncio.create_task(self._worker.end())
