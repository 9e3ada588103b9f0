"""Starts programs with their output in files, and stops each by its process id, come what may."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PORTS = range(20000, 30000)
"""Below the range from which the kernel serves outgoing connections where it has its defaults."""
_held: dict[int, socket.socket] = {}
_WATCHDOG = """
import os, pathlib, shutil, signal, sys
sys.stdin.buffer.read()
folder = pathlib.Path(sys.argv[1])
for file in folder.glob("*.pid"):
    try:
        os.kill(int(file.read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        pass
shutil.rmtree(folder, ignore_errors=True)
"""


class ProcessError(Exception):
    """A program did not start or stop as it should; the message ends with the last lines of its output."""


def free_port() -> int:
    """A loopback port for a server that is started later, perhaps more than once.

    It belongs to these tests until they end: a socket is bound to it and does not listen. That lets the server listen
    on it (as any server, it sets SO_REUSEADDR), and keeps it from a second caller, other programs and the kernel's own
    choice for an outgoing connection.
    """
    while True:
        port = secrets.choice(_PORTS)
        if port in _held:
            continue
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        _held[port] = holder
        return port


class Processes:
    """The programs of one test bed, by name; their output is in ``folder/<name>.log``.

    A watchdog outlives a test run that is killed: when this process is gone it ends what is left, and removes
    ``folder``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-c", _WATCHDOG, str(folder)], stdin=subprocess.PIPE, start_new_session=True
        )

    def start(self, name: str, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> int:
        """Start a program, output appended to its log; returns its process id.

        Raises:
            ProcessError: one of that name is running.
        """
        if self.running(name):
            raise ProcessError(f"{name} is already running")
        with self._log_file(name).open("ab") as log:
            # A session of its own: Ctrl-C reaches the tests, which then stop their servers in order.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                cwd=self.folder,
                start_new_session=True,
            )
        self._running[name] = process
        (self.folder / f"{name}.pid").write_text(str(process.pid))
        return process.pid

    def running(self, name: str) -> bool:
        """Whether it was started and has not ended."""
        return name in self._running and self._running[name].poll() is None

    def stop(self, name: str, *, kill: bool = False, timeout: float = 30) -> int:
        """End a program with SIGTERM (``kill``: SIGKILL); returns its exit code, negative for a signal.

        Raises:
            ProcessError: it ignored SIGTERM for ``timeout`` seconds; it is killed then.
        """
        process = self._running[name]
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise ProcessError(f"{name} did not end within {timeout} s of SIGTERM\n{self.tail(name)}") from error
        finally:
            del self._running[name]
            (self.folder / f"{name}.pid").unlink(missing_ok=True)
        return code

    def pid(self, name: str) -> int:
        """Process id of a started program."""
        return self._running[name].pid

    def log(self, name: str) -> str:
        """Everything it wrote, over all its starts."""
        file = self._log_file(name)
        return file.read_text(errors="replace") if file.exists() else ""

    def tail(self, name: str, lines: int = 15) -> str:
        """The last lines it wrote, for messages."""
        return f"last lines of {name}:\n" + "\n".join(self.log(name).splitlines()[-lines:])

    def close(self) -> None:
        """End everything, last started first, and the watchdog."""
        for name in reversed(list(self._running)):
            self.stop(name, kill=True)
        self._watchdog.communicate()

    def _log_file(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def gone(pid: int) -> bool:
    """Whether a process has ended; who has to collect it may never do so, as the first process of many containers."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may also go between open and read
        return True


def python_environment() -> dict[str, str]:
    """Variables for a Python program under test: this environment, output unbuffered."""
    return {**os.environ, "PYTHONUNBUFFERED": "1"}
