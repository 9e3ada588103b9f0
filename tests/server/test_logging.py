"""One JSON object per line, whoever logs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

_PROGRAM = """
import logging, sys, warnings
import structlog
from app.server.logs import configure_logging
from app.settings import Logging

configure_logging(Logging(level=sys.argv[1], format=sys.argv[2]))
log = structlog.get_logger("ours")
log.debug("quiet")
log.info("ours", text='a\\n"b"\\x1b', number=1, when=structlog)
try:
    {}["missing"]
except KeyError as error:
    log.error("failed", exc_info=error)
logging.getLogger("library").warning("theirs %s", "formatted")
logging.getLogger("uvicorn.error").info("about itself")
logging.getLogger("uvicorn.error").error("about a failure")
warnings.warn("deprecated")
"""


def output(level: str, kind: str) -> str:
    run = subprocess.run([sys.executable, "-c", _PROGRAM, level, kind], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in output("info", "json").splitlines()]


def test_every_line_is_json_with_event_level_and_time(lines: list[dict[str, Any]]) -> None:
    assert [(line["event"], line["level"]) for line in lines[:4]] == [
        ("ours", "info"),
        ("failed", "error"),
        ("theirs formatted", "warning"),
        ("about a failure", "error"),
    ]
    assert all(line["time"].endswith("Z") for line in lines)


def test_text_of_users_cannot_break_out_of_its_line(lines: list[dict[str, Any]]) -> None:
    assert lines[0]["text"] == 'a\n"b"\x1b'
    assert lines[0]["number"] == 1
    assert "module 'structlog'" in lines[0]["when"]


def test_a_failure_comes_with_its_traceback(lines: list[dict[str, Any]]) -> None:
    assert lines[1]["exception"].endswith("KeyError: 'missing'")


def test_warnings_of_libraries_are_lines_too(lines: list[dict[str, Any]]) -> None:
    assert "deprecated" in lines[4]["event"]
    assert (lines[4]["level"], lines[4]["logger"]) == ("warning", "py.warnings")


def test_the_level_holds_for_everybody() -> None:
    assert [json.loads(line)["event"] for line in output("error", "json").splitlines()] == ["failed", "about a failure"]
    assert '"quiet"' in output("debug", "json")


def test_console_lines_are_for_people_and_without_colours_in_a_file() -> None:
    text = output("info", "console")
    assert "[info     ] ours" in text
    assert "KeyError: 'missing'" in text
    assert "\x1b[" not in text
