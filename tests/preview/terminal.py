"""The program on a terminal of its own, as a person sees it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROGRAM = (sys.executable, "-m", "app")


@dataclass(frozen=True)
class Shown:
    """What a run left on stdout and stderr, with all escape sequences. A terminal ends lines as Windows does."""

    code: int
    stdout: str
    stderr: str


def on_terminal(
    *arguments: str | Path, environment: dict[str, str] | None = None, meanwhile: Callable[[int], None] | None = None
) -> Shown:
    """Runs the program with stdout and stderr on terminals.

    Args:
        arguments: of the program.
        environment: variables besides those of the test, without NO_COLOR and the like.
        meanwhile: called with the other end of the terminal that stderr is on, while the program runs.
    """
    own = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")}
    command = [*PROGRAM, *map(str, arguments)]
    (out, their_out), (err, their_err) = pty.openpty(), pty.openpty()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=their_out,
        stderr=their_err,
        env={**own, "TERM": "xterm", "COLUMNS": "200", **(environment or {})},
    ) as process:
        os.close(their_out)
        os.close(their_err)
        try:
            if meanwhile is not None:
                meanwhile(err)
            shown = _rest(out), _rest(err)
        except BaseException:
            process.kill()
            raise
        return Shown(process.wait(30), *shown)


def read_until(terminal: int, *words: bytes, seconds: float = 20) -> None:
    """Reads what a program writes on a terminal until it has written all the words."""
    seen = b""
    deadline = time.monotonic() + seconds
    while not all(word in seen for word in words):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"waited {seconds} s for {words}, and read {seen!r}"
        seen += os.read(terminal, 65536)


def _rest(terminal: int) -> str:
    """Everything until the program has closed its end."""
    data = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # Linux says so at the end of a terminal
            more = b""
        if not more:
            os.close(terminal)
            return data.decode()
        data += more
