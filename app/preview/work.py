"""The worker process: reads requests from stdin, writes answers to stdout, and is bounded in every way.

It is a process of its own, since reading megabytes of YAML in a thread of the server would make reviews wait.
Nothing that it reads gets anywhere but into its answer: it logs nothing and can write no file.
"""

from __future__ import annotations

import gc
import math
import os
import pickle
import resource
import signal
import sys
from typing import BinaryIO, Final

import orjson

from app.inventory.selectors import load_cel
from app.preview import frames
from app.preview.answer import answer, inventory
from app.preview.errors import Code, RequestError, fault_of
from app.preview.frames import Head
from app.preview.jobs import INTERNAL_ERROR, OUT_OF_MEMORY, SPLIT, TOO_MUCH_MEMORY, Job, Known
from app.preview.wanted import MEDIA_TYPES, Output
from app.translate import Device

NICENESS: Final = 10
"""Reviews come first."""
GROWTH_BYTES: Final = 64 * 1024 * 1024
"""A worker that has grown by so much ends after its answer: Python gives little back."""
_GRACE_SECONDS: Final = 2
"""What a worker whose server has vanished may work beyond its time."""
_LOOK_SECONDS: Final = 0.05
"""Processor time between two looks at the memory; some megabytes can be filled in it."""
_SLACK_BYTES: Final = 64 * 1024 * 1024
"""Address space that the kernel allows beyond the limit: what is never touched counts there, too."""
_JSON: Final = MEDIA_TYPES[Output.JSON]
_STATM: Final = "/proc/self/statm"


def main() -> None:
    """Learn what all previews share, then serve until stdin ends."""
    max_seconds, max_memory_mib = float(sys.argv[1]), int(sys.argv[2])
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    known = learnt(requests)
    statm = os.open(_STATM, os.O_RDONLY)
    bound(statm, max_memory_mib)
    frames.write(answers, frames.READY)
    grown = _pages(statm)[1] + GROWTH_BYTES // resource.getpagesize()
    while (message := frames.read(requests)) is not None:
        signal.alarm(math.ceil(max_seconds) + _GRACE_SECONDS)  # its default action ends the process
        signal.setitimer(signal.ITIMER_PROF, _LOOK_SECONDS, _LOOK_SECONDS)
        head, body = worked(pickle.loads(message), known)  # noqa: S301 - the server wrote it
        signal.setitimer(signal.ITIMER_PROF, 0)
        del message
        head["last"] |= _pages(statm)[1] > grown
        frames.write(answers, orjson.dumps(head))
        frames.write(answers, body)
        if head["last"]:
            return
        del head, body
        gc.collect()
        signal.alarm(0)


def learnt(requests: BinaryIO) -> Known:
    """What all previews share: devices in any number of messages, then the rest."""
    os.nice(NICENESS)
    devices: list[Device] = []
    while (message := frames.read(requests)) is not None:
        part: Known | tuple[Device, ...] = pickle.loads(message)  # noqa: S301 - the server wrote it
        if isinstance(part, Known):
            if inventory(part.offers) is not None:  # remembered: what all previews share counts for none of them
                load_cel()
            return part.with_devices(devices)
        devices += part
    sys.exit(0)  # the server is gone


def bound(statm: int, max_memory_mib: int) -> None:
    """Bound this process: no core dumps, no files, and only so much more memory than it has now."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the server ends us
    more = (max_memory_mib << 20) // resource.getpagesize()
    size, resident = _pages(statm)

    def look(_number: int, _frame: object) -> None:
        if _pages(statm)[1] > resident + more:
            raise MemoryError

    # Python goes on for minutes beside the limit of the kernel, one failing system call for each object.
    signal.signal(signal.SIGPROF, look)
    limit = (size + more) * resource.getpagesize() + _SLACK_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    gc.collect()
    gc.freeze()
    gc.disable()  # a preview makes no cycles, and collecting doubles its time


def worked(job: Job, known: Known) -> tuple[Head, bytes]:
    """The answer to one request, whatever happens."""
    fault: str | None = None
    refused: RequestError | None = None
    try:
        made, fault = answer(job.body, job.wanted, known)
    except RequestError as error:
        refused = error
    except MemoryError:
        pass  # what is said of it needs memory itself, which is there as soon as this block is left
    except Exception as error:  # noqa: BLE001 - a fault of ours must reach its reader as an answer, not as silence
        fault = fault_of(error)
        refused = RequestError(Code.INTERNAL_ERROR, INTERNAL_ERROR)
    else:
        asked = job.wanted
        return Head(status=200, mediaType=asked.media_type, compressed=asked.gzip, last=False, fault=fault), made
    if refused is None:
        refused = RequestError(Code.TOO_MUCH_MEMORY, TOO_MUCH_MEMORY, hint=SPLIT)
    last = refused.code is Code.TOO_MUCH_MEMORY
    head = Head(status=refused.status, mediaType=_JSON, compressed=False, last=last, fault=fault)
    return head, orjson.dumps(refused.body)


def _pages(statm: int) -> tuple[int, int]:
    """Address space and resident memory of this process."""
    size, resident = os.pread(statm, 64, 0).split()[:2]
    return int(size), int(resident)


if __name__ == "__main__":
    try:
        main()
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
