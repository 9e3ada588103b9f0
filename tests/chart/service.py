"""What a Service is to the API server: an address whose new connections go to replicas that are ready."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from tests.chart.replica import Replica

_PROBE_SECONDS = 2
"""The chart's readiness probe; one failure takes a replica out."""


class Service:
    """A TCP balancer in a thread. It never looks into the connections, and never cuts one."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.replicas = list(replicas)
        """The pods of the Deployment; a new one gets connections once it is ready."""
        self._ready: list[Replica] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = 0

    @property
    def url(self) -> str:
        """Where API servers send reviews."""
        assert self._server is not None
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mutate"

    def endpoints(self) -> int:
        """How many replicas get connections."""
        return len(self._ready)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._keep(asyncio.create_task(self._probe()))

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()

    async def _probe(self) -> None:
        while True:
            self._ready = [replica for replica in self.replicas if await asyncio.to_thread(replica.ready)]
            await asyncio.sleep(_PROBE_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._turn += 1
        start = self._turn % max(1, len(self._ready))
        for endpoint in self._ready[start:] + self._ready[:start]:
            with suppress(OSError):  # a kubelet reports a dead container at once, so nobody waits for its probe
                other = await asyncio.open_connection("127.0.0.1", endpoint.port)
                self._keep(asyncio.create_task(_pump(reader, other[1])))
                self._keep(asyncio.create_task(_pump(other[0], writer)))
                return
        writer.transport.abort()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes one way until the end, and pass the end on."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # either side went away; so does the other one now
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
