"""Gets the programs that the tests need and Python's package index does not have: Debian packages.

``python -m tests.system [browser] [image] [patch]`` installs what is missing with apt-get, as root; otherwise it says
for each program what is missing and how to get it, and ends with code 1. Without arguments it looks at what ``make
test`` runs, which leaves out the tests of the image for everybody but root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Program:
    """Something on PATH, and the Debian package that brings it."""

    suite: str
    """The tests that need it, by their marker."""
    names: tuple[str, ...]
    """Any of them will do."""
    package: str
    purpose: str

    def found(self) -> str | None:
        """Its path; None where it is missing."""
        return next(filter(None, map(shutil.which, self.names)), None)


PROGRAMS = (
    Program("browser", BROWSERS, "chromium", "shows the preview page"),
    Program("image", ("buildah",), "buildah", "builds the image without a daemon"),
    Program("image", ("mmdebstrap",), "mmdebstrap", "makes the base of the image without a registry"),
    Program("image", ("unshare",), "util-linux", "gives the server of the image mounts of its own"),
    Program("image", ("chroot",), "coreutils", "starts the server of the image on its own root"),
    Program("patch", ("patch",), "patch", "applies the diffs of previews"),
)
SUITES = tuple(dict.fromkeys(program.suite for program in PROGRAMS))


class MissingError(Exception):
    """What is missing cannot be installed; ``problems`` holds one sentence for each program."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


def browser() -> str | None:
    """The browser of the tests: the variable ``CHROMIUM``, else the first that is on PATH."""
    return os.environ.get("CHROMIUM") or next(one for one in PROGRAMS if one.suite == "browser").found()


def missing(suites: Iterable[str]) -> list[Program]:
    """The programs of these suites that are not there."""
    chosen = (program for program in PROGRAMS if program.suite in suites)
    return [one for one in chosen if not (browser() if one.suite == "browser" else one.found())]


def wanted() -> tuple[str, ...]:
    """The suites that ``make test`` runs: a chroot, in which the image is built and started, needs root."""
    return SUITES if os.geteuid() == 0 else tuple(suite for suite in SUITES if suite != "image")


def ensure(suites: Sequence[str]) -> None:
    """Install what is missing.

    Raises:
        MissingError: it cannot be installed here, apt-get failed, or only root could use it.
    """
    if "image" in suites and os.geteuid() != 0:
        raise MissingError(["the image is built and started in a chroot, which needs root: sudo make test-image"])
    lacking = missing(suites)
    if not lacking:
        return
    packages = [one.package for one in lacking]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {', '.join(packages)} …", file=sys.stderr, flush=True)  # noqa: T201
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *packages)
        lacking = missing(suites)
    if lacking:
        raise MissingError([_sentence(one) for one in lacking])


def _sentence(program: Program) -> str:
    names = " or ".join(program.names)
    prefix = "" if os.geteuid() == 0 else "sudo "
    return f"{names} is missing, which {program.purpose}: {prefix}apt-get install {program.package}"


def _apt(*arguments: str) -> None:
    command = ["apt-get", "--quiet", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode != 0:
        last = "\n".join((run.stdout + run.stderr).splitlines()[-15:])
        raise MissingError([f"{shlex.join(command)} failed:\n{last}"])


def main(arguments: Sequence[str]) -> str | int:
    """The command line; returns what ``sys.exit`` takes."""
    if unknown := [one for one in arguments if one not in SUITES]:
        return f"error: unknown {', '.join(unknown)}; choose from {', '.join(SUITES)}"
    try:
        ensure(arguments or wanted())
    except MissingError as error:
        return "\n".join(f"error: {problem}" for problem in error.problems)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
