"""The signals that end the process, and what they mean for everybody who answers."""

from __future__ import annotations

import asyncio
import signal

from certs.source import Health

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Life:
    """The first signal begins the drain, the second one ends it."""

    def __init__(self) -> None:
        self._drain = asyncio.Event()
        self._abort = asyncio.Event()

    def listen(self) -> None:
        """Take over the signals of the running loop."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.end)

    def end(self) -> None:
        """Begin to drain; when called again, stop at once."""
        if self._drain.is_set():
            self._abort.set()
        self._drain.set()

    @property
    def draining(self) -> bool:
        """Whether the end has begun."""
        return self._drain.is_set()

    @property
    def aborted(self) -> bool:
        """Whether there was a second signal."""
        return self._abort.is_set()

    async def until_drain(self) -> None:
        """Wait for the first signal."""
        await self._drain.wait()

    async def until_abort(self) -> None:
        """Wait for the second signal."""
        await self._abort.wait()

    def health(self) -> Health:
        """Not ready from the first signal on, so that no new connection comes here."""
        return Health(not self.draining, "this replica is going away" if self.draining else "serving")
