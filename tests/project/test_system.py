"""Programs beside Python: what is missing is named, with the command that brings it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import system

ROOT = Path(__file__).parents[2]


def run(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """``python -m tests.system`` where PATH is one folder, so that apt-get is not there, either."""
    command = [sys.executable, "-m", "tests.system", *arguments]
    return subprocess.run(command, env={"PATH": str(path)}, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_missing_program_is_named_with_its_purpose_and_the_command_that_brings_it(tmp_path: Path) -> None:
    ended = run("browser", path=tmp_path)
    command = "apt-get install chromium" if os.geteuid() == 0 else "sudo apt-get install chromium"
    said = "chromium or chromium-browser or google-chrome is missing, which shows the preview page"
    assert (ended.returncode, ended.stderr) == (1, f"error: {said}: {command}\n")


@pytest.mark.parametrize("name", system.BROWSERS)
def test_any_browser_will_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch(mode=0o755)
    ended = run("browser", path=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_only_root_is_asked_for_what_builds_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert system.wanted() == ("browser", "image", "patch")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert system.wanted() == ("browser", "patch")
    with pytest.raises(system.MissingError, match="needs root: sudo make test-image"):
        system.ensure(["image"])


def test_an_unknown_suite_is_refused(tmp_path: Path) -> None:
    ended = run("webserver", path=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "error: unknown webserver; choose from browser, image, patch\n")
