"""The image, built for real: ``make test-image``. Every test in this folder carries the mark ``image``.

No registry and no daemon: mmdebstrap makes the base from Debian packages (kept in the cache folder), buildah builds on
it in a chroot. Both need root.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import system
from tests.image.build import Builder
from tests.image.container import Container

_HERE = Path(__file__).parent
_BUILD_SECONDS = 900
"""Debian packages, Python packages, and a copy of the file system for each step."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.image)
            item.add_marker(pytest.mark.timeout(_BUILD_SECONDS))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get what is missing, or say so, before the first test."""
    if session.config.option.collectonly or not any(_HERE in item.path.parents for item in session.items):
        return
    try:
        system.ensure(["image"])
    except system.MissingError as error:
        raise pytest.UsageError(*error.problems) from error


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """The built image."""
    made = Builder(tmp_path_factory.mktemp("buildah"))
    try:
        made.build()
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="session")
def root(builder: Builder) -> Path:
    """The file system of a container, mounted."""
    return builder.mount()


@pytest.fixture
def container(root: Path, tmp_path: Path) -> Iterator[Container]:
    """Starts the server of the image; it is ended afterwards."""
    made = Container(root, tmp_path)
    yield made
    made.end()
