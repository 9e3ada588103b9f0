"""Starts the image's server as a kubelet would: as its user, on a read-only root, with an empty ``/tmp``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import trustme

from tests.cluster.testbed.processes import free_port

_START = """
set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/etc/hami-dra-webhook"
mount --bind "$SETTINGS" "$root/etc/hami-dra-webhook"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o size=16m,mode=1777 tmpfs "$root/tmp"
exec chroot --userspec=65532:65532 "$root" /usr/bin/env -i PATH="$IMAGE_PATH" "$@"
"""
"""Run in a mount namespace of its own, which ends with the process."""
PATH = "/opt/hami-dra-webhook/bin:/usr/local/bin:/usr/bin:/bin"


class Container:
    """One process of the image.

    Args:
        root: its file system.
        folder: for the certificate, which is mounted.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.port, self.ops_port = free_port(), free_port()
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("127.0.0.1")
        certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        certificate.private_key_pem.write_to_path(folder / "tls.key")
        folder.chmod(0o755)
        (folder / "tls.key").chmod(0o644)

    def serve(self) -> float:
        """Start the server; returns the seconds until it was ready."""
        began = time.monotonic()
        self._process = self._start(
            "hami-dra-webhook",
            "serve",
            "--standalone",
            "--tls-cert=/etc/hami-dra-webhook/tls.crt",
            "--tls-key=/etc/hami-dra-webhook/tls.key",
            "--host=127.0.0.1",
            f"--port={self.port}",
            "--ops-host=127.0.0.1",
            f"--ops-port={self.ops_port}",
        )
        while not self._ready():
            if self._process.poll() is not None:
                raise AssertionError(f"the server ended:\n{self._process.communicate()[0]}")
            assert time.monotonic() - began < 60, "the server did not become ready"
            time.sleep(0.02)
        return time.monotonic() - began

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command in the container; returns its code and what it printed."""
        process = self._start(*command)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    @property
    def pid(self) -> int:
        """Process id of the server."""
        assert self._process is not None
        return self._process.pid

    def status(self, field: str) -> str:
        """A field of ``/proc/PID/status``."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:"))

    def cpu_seconds(self) -> float:
        """Time of a processor that the server has used so far."""
        times = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(timeout=60)

    def end(self) -> None:
        """SIGKILL, if it still runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.ops_port}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def _start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", _START, "sh", str(self._root), *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.environ["PATH"], "SETTINGS": str(self._folder), "IMAGE_PATH": PATH},
        )
