"""The real kubectl, as people use it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = Any


class KubectlError(AssertionError):
    """kubectl ended with another code than 0, and ``check`` was on."""


@dataclass(frozen=True, slots=True)
class Result:
    """What kubectl said."""

    code: int
    stdout: str
    stderr: str

    @property
    def warnings(self) -> list[str]:
        """Texts of the ``Warning:`` lines."""
        return [line.removeprefix("Warning: ") for line in self.stderr.splitlines() if line.startswith("Warning: ")]


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl with one kubeconfig, in one namespace."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def __call__(self, *arguments: str, stdin: str | None = None, check: bool = False, timeout: float = 60) -> Result:
        """Run ``kubectl ARGUMENTS``.

        Raises:
            KubectlError: with ``check``, when the code is not 0.
        """
        run = subprocess.run(
            [self.program, f"--namespace={self.namespace}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent), "PATH": "/usr/bin:/bin"},
        )
        result = Result(run.returncode, run.stdout, run.stderr)
        if check and result.code != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: code {result.code}\n{result.stdout}{result.stderr}")
        return result

    def apply(self, *objects: JSON | str, options: tuple[str, ...] = (), check: bool = True) -> Result:
        """``kubectl apply -f -`` of objects or of YAML text."""
        return self("apply", "-f", "-", *options, stdin=manifest(*objects), check=check)

    def create(self, *objects: JSON | str, options: tuple[str, ...] = (), check: bool = True) -> Result:
        """``kubectl create -f -`` of objects or of YAML text."""
        return self("create", "-f", "-", *options, stdin=manifest(*objects), check=check)

    def json(self, *arguments: str) -> JSON:
        """The parsed output of ``kubectl ARGUMENTS -o json``."""
        return json.loads(self(*arguments, "-o", "json", check=True).stdout)


def manifest(*objects: JSON | str) -> str:
    """Objects (JSON is YAML) and YAML texts as one multi-document manifest."""
    return "\n---\n".join(obj if isinstance(obj, str) else json.dumps(obj) for obj in objects)
