"""A clock, an API server, and replicas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.certs.kit import Clock, MemoryApi, Replica


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def api(clock: Clock) -> MemoryApi:
    """An API server whose configuration has no caBundle yet."""
    return MemoryApi(clock)


@pytest.fixture
def start(api: MemoryApi, clock: Clock) -> Callable[[], Awaitable[Replica]]:
    """Starts replicas that share the API server and its clock."""
    return lambda: Replica(api, clock).start()
