"""A server, a browser, and visits to the page; every visit proves that nothing went wrong or left the origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import chromium
from tests.browser.visit import Visit
from tests.server.process import Certificates, ServerProcess, running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", action="store_true", help="write docs/images anew (tests/browser only)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A standalone server; patient, since tests share the machine."""
    folder = tmp_path_factory.mktemp("page")
    certificates = Certificates(folder)
    certificates.issue()
    with running(folder, certificates, preview={"maxSeconds": 60}) as process:
        yield process


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: Browser, server: ServerProcess) -> Iterator[Callable[..., Visit]]:
    """Opens the page in a browser profile of its own; arguments are those of the profile."""
    visits: list[Visit] = []

    def opened(address: str = "", **profile: Any) -> Visit:
        visit = Visit(browser, address or f"{server.ops}/", **profile)
        visits.append(visit)
        return visit

    yield opened
    for visit in visits:
        visit.close()
    assert [problem for visit in visits for problem in visit.problems] == []


@pytest.fixture
def visit(open_page: Callable[..., Visit]) -> Visit:
    """The page, just opened."""
    return open_page()
