"""Colours and progress: for people at a terminal, and for nobody else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app.cli import app
from app.cli.terminal import Color, coloured
from app.preview.diff import painted
from tests.preview.inputs import container, pod
from tests.preview.terminal import PROGRAM, on_terminal, read_until

ESCAPE = "\x1b["


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod()))
    return file


@pytest.fixture
def denied(tmp_path: Path) -> Path:
    file = tmp_path / "denied.yaml"
    file.write_text(yaml.safe_dump(pod(spec={"containers": [container(limits={"nvidia.com/gpu": 99})]})))
    return file


def piped(*arguments: str | Path) -> bytes:
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, check=True, env=environment).stdout


def test_a_diff_on_a_terminal_has_the_colours_of_git(manifest: Path) -> None:
    shown = on_terminal("preview", "-o", "diff", manifest)
    lines = shown.stdout.splitlines()
    assert f"\x1b[1m--- {manifest}\x1b[0m" in lines
    assert "\x1b[32m+      - name: main-gpu\x1b[0m" in lines
    assert "\x1b[31m-        nvidia.com/gpu: 1\x1b[0m" in lines
    assert any(re.fullmatch(r"\x1b\[36m@@ -\d+,\d+ \+\d+,\d+ @@\x1b\[0m", line) for line in lines)
    assert " kind: Pod" in lines, "what stays has no colour"


@pytest.mark.parametrize("output", ["diff", "explain"])
def test_a_pipe_gets_no_colours_unless_it_asks_for_them(manifest: Path, output: str) -> None:
    command = ("preview", "-o", output, manifest)
    plain, always = piped(*command).decode(), piped(*command, "--color", "always").decode()
    assert ESCAPE not in plain
    assert ESCAPE in always
    assert re.sub(r"\x1b\[[\d;]*m", "", always) == plain
    assert ESCAPE in on_terminal(*command).stdout


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, [True, True, False]),
        ({"NO_COLOR": "1"}, [False, True, False]),
        ({"NO_COLOR": ""}, [True, True, False]),
        ({"TERM": "dumb"}, [False, True, False]),
    ],
)
def test_no_color_and_never_turn_colours_off_and_always_turns_them_on(
    environment: dict[str, str], expected: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, Path(os.devnull).open("w") as file:
        assert [coloured(color, terminal) for color in Color] == expected
        assert [coloured(color, file) for color in Color] == [False, True, False]
    os.close(ours)


@pytest.mark.parametrize("output", ["yaml", "json", "patch"])
def test_what_programs_read_is_never_coloured(manifest: Path, output: str) -> None:
    result = CliRunner().invoke(app, ["preview", "-o", output, "--color", "always", str(manifest)], color=True)
    assert result.stdout
    assert ESCAPE not in result.stdout


def test_colours_may_be_forbidden_on_a_terminal(denied: Path) -> None:
    shown = on_terminal("preview", "--color", "never", denied)
    assert ESCAPE not in shown.stdout + shown.stderr


def test_the_first_word_of_an_error_stands_out(denied: Path) -> None:
    shown = on_terminal("preview", "-o", "json", denied)
    assert shown.stderr.startswith(f"\x1b[31m\x1b[1mdenied:\x1b[0m {denied}:11:9: Pod/p: nvidia.com/gpu is 99")


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("--- a\n+++ a\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n", ["1", "1", "36", "31", "32"]),
        ("--- a\n+++ a\n@@ -1,1 +1,2 @@\n @@ -1,1 +1,1 @@\n+@@\n", ["1", "1", "36", "", "32"]),
        ("--- a\n+++ a\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n", ["1", "1", "36", "31", "", "32"]),
        ("--- a\r\n", ["1"]),
    ],
)
def test_a_line_is_coloured_for_what_it_is_in_its_hunk(diff: str, expected: list[str]) -> None:
    lines = re.findall(r"[^\n]*\n", painted(diff))
    assert [match[1] if (match := re.match(r"\x1b\[(\d+)m", line)) else "" for line in lines] == expected
    assert re.sub(r"\x1b\[\d+m", "", "".join(lines)) == diff
    assert all(line.endswith(("\x1b[0m\n", "\x1b[0m\r\n")) for line in lines if ESCAPE in line)


def test_a_short_run_shows_no_progress(manifest: Path) -> None:
    assert on_terminal("preview", "-o", "yaml", manifest).stderr == ""


def test_a_long_run_shows_its_progress_and_takes_it_away(tmp_path: Path) -> None:
    """The first two files are pipes: the program waits for them for as long as the test wants."""
    for name in ("a.yaml", "b.yaml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(pod()))

    def keep_waiting(terminal: int) -> None:
        with (tmp_path / "a.yaml").open("w"):  # opens when the program does
            time.sleep(1.2)
        with (tmp_path / "b.yaml").open("w"):
            read_until(terminal, b"reading", b"1/3")

    shown = on_terminal("preview", "-o", "yaml", tmp_path, meanwhile=keep_waiting)
    assert shown.code == 0
    assert shown.stdout.startswith("apiVersion: resource.k8s.io/v1")
    assert shown.stderr.endswith(f"{ESCAPE}2K"), "the line of the bar is cleared"


def test_a_pipe_that_is_closed_ends_the_program_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(yaml.safe_dump_all([pod(f"p-{number}") for number in range(300)]))
    for output in ("yaml", "explain"):
        with subprocess.Popen(
            [*PROGRAM, "preview", "-o", output, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
