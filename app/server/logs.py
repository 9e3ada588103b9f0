"""Logging: one JSON line per event on stdout, also for libraries that use the standard logging."""

from __future__ import annotations

import asyncio
import atexit
import logging
import sys
from typing import Any, BinaryIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from app.settings import Logging

_QUIET_LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "asyncio", "kubernetes", "aiohttp")
"""Their information is about themselves; warnings and errors pass."""


_FLUSH_SECONDS = 0.05
"""How long a line may wait for others; nobody who reads a log notices."""


class LineWriter:
    """Writes the lines of a twentieth of a second together; without an event loop, at once.

    A write is a system call and costs several times what the line itself costs.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        atexit.register(self.flush)

    def msg(self, line: bytes) -> None:
        """Write one line, now or soon."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write([line])
            return
        if not self._lines:
            loop.call_later(_FLUSH_SECONDS, self.flush)
        self._lines.append(line)

    debug = info = warning = error = critical = msg

    def flush(self) -> None:
        """Write what waits."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._write(lines)

    def _write(self, lines: list[bytes]) -> None:
        self._stream.write(b"\n".join((*lines, b"")))
        self._stream.flush()


def configure_logging(settings: Logging) -> None:
    """Set up structlog and the standard logging of this process; called once, before anything logs."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
    ]
    lines = LineWriter(sys.stdout.buffer)
    renderer = _json if settings.format == "json" else _Console()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, _decoded],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def _json(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    return orjson.dumps(event, default=str)


def _decoded(_logger: WrappedLogger, _method: str, line: Any) -> str:
    return str(line, "utf-8")


class _Console:
    """Text for people, as bytes like the JSON lines."""

    def __init__(self) -> None:
        self._renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stdout.isatty(), timestamp_key="time", exception_formatter=structlog.dev.plain_traceback
        )

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> bytes:
        return self._renderer(logger, method, event).encode(errors="replace")
