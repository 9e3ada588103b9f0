"""Certificates, and one server for the tests that only ask it something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server.process import Certificates, ServerProcess, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    made.issue()
    return made


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[ServerProcess]:
    """A standalone server with default settings, shared by all tests."""
    with running(tmp_path_factory.mktemp("server"), certificates) as process:
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


@pytest.fixture
def own_certificates(tmp_path: Path) -> Certificates:
    """Certificates that a test may change."""
    made = Certificates(tmp_path)
    made.issue()
    return made
