"""Starts the worker process, hands it work, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from typing import Final

import orjson

from app.preview import frames
from app.preview.jobs import MAX_ANSWER_BYTES, Job, Known

_START_SECONDS: Final = 30
"""A worker starts and learns the devices of a large cluster in a second or two; an overloaded node takes its time."""
_MAX_HEAD_BYTES: Final = 64 * 1024


class WorkerEndedError(Exception):
    """The worker process ended before it answered; ``code`` is its exit code, negative for a signal."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"the worker ended with {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker made of a request."""

    status: int
    media_type: str
    pieces: list[bytes]
    """The body."""
    compressed: bool = False
    fault: str | None = None
    """What went wrong in the worker, for the log."""


class Worker:
    """One worker process, started when there is work.

    Args:
        max_seconds: time for one request, without the start of the process.
        max_memory_mib: memory for one request.
    """

    def __init__(self, max_seconds: float, max_memory_mib: int) -> None:
        self._max_seconds = max_seconds
        self._arguments = (str(max_seconds), str(max_memory_mib))
        self._process: Process | None = None
        self._told: Known | None = None

    @property
    def pid(self) -> int | None:
        """Of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    async def work(self, job: Job, known: Known) -> Answer:
        """The answer to one request. One at a time.

        Raises:
            TimeoutError: it took too long. The process is gone then, as after every other failure.
            WorkerEndedError: the process ended.
        """
        try:
            process = await self._started(known)
            async with asyncio.timeout(self._max_seconds):
                return await self._exchange(process, job)
        except (EOFError, ConnectionError):
            raise WorkerEndedError(await self._ended()) from None
        except BaseException:
            await self.end()  # also when the caller went away: what comes next on the pipe would be the old answer
            raise

    async def _ended(self) -> int | None:
        """The exit code of a process that is ending by itself."""
        process = self._process
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                return None if process is None else await process.wait()
        return await self.end()

    async def end(self) -> int | None:
        """End the process, if there is one; gives its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return await process.wait()

    async def _started(self, known: Known) -> Process:
        """A process that knows this; a new one where facts have changed, so that each has its full limits."""
        if known is not self._told:
            await self.end()
        if self._process is None or self._process.returncode is not None:
            command = (sys.executable, "-m", "app.preview.work", *self._arguments)
            self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
            async with asyncio.timeout(_START_SECONDS):
                for message in known.messages():
                    await frames.send(_writer(self._process), pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
                    await asyncio.sleep(0)
                await frames.receive(_reader(self._process), _MAX_HEAD_BYTES)
            self._told = known
        return self._process

    async def _exchange(self, process: Process, job: Job) -> Answer:
        reader = _reader(process)
        await frames.send(_writer(process), pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
        head: frames.Head = orjson.loads(b"".join(await frames.receive(reader, _MAX_HEAD_BYTES)))
        pieces = await frames.receive(reader, MAX_ANSWER_BYTES)
        if head["last"]:
            await self.end()
        return Answer(head["status"], head["mediaType"], pieces, head["compressed"], head["fault"])


def _writer(process: Process) -> asyncio.StreamWriter:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    return process.stdin


def _reader(process: Process) -> asyncio.StreamReader:
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    return process.stdout
