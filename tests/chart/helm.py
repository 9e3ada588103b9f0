"""Runs the real helm on the chart, and finds objects in what it renders."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

JSON = Any

CHART = Path(__file__).parents[2] / "charts" / "hami-dra-webhook"
RELEASE, NAMESPACE = "gpu", "hami-dra-webhook"
FULL_NAME = "gpu-hami-dra-webhook"
CI = sorted(CHART.glob("ci/*-values.yaml"))
"""The sets of values that stand for the ways to install it."""


class HelmError(AssertionError):
    """helm refused; the text is what its user reads."""


@dataclass
class Rendered:
    """Objects of one rendering."""

    objects: list[JSON] = field(default_factory=list)

    def of(self, kind: str) -> list[JSON]:
        """All objects of a kind."""
        return [obj for obj in self.objects if obj["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> JSON:
        """The only object of a kind, hooks aside, or the one of that name."""
        found = [obj for obj in self.of(kind) if obj["metadata"]["name"] == name or (name is None and not hook_of(obj))]
        assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
        return found[0]

    def settings(self) -> JSON:
        """What the server reads, parsed."""
        return yaml.safe_load(self.one("ConfigMap", FULL_NAME)["data"]["config.yaml"])

    def webhooks(self) -> list[JSON]:
        """The two entries of the MutatingWebhookConfiguration."""
        entries: list[JSON] = self.one("MutatingWebhookConfiguration")["webhooks"]
        return entries


def hook_of(obj: JSON) -> str | None:
    """When helm makes this object, for a moment only: ``pre-delete``, ``test``; None: it is part of the release."""
    hook: str | None = (obj["metadata"].get("annotations") or {}).get("helm.sh/hook")
    return hook


@dataclass(frozen=True)
class Helm:
    """Helm with a home of its own, and with a kubeconfig where it shall reach a cluster."""

    program: Path
    home: Path
    kubeconfig: Path | None = None

    def __call__(self, *arguments: str | Path) -> str:
        """Run ``helm ARGUMENTS``; returns its standard output.

        Raises:
            HelmError: with what it said, when the code is not 0.
        """
        environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "KUBECONFIG": str(self.kubeconfig or "/dev/null"),
        }
        run = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, check=False, timeout=100, env=environment
        )
        if run.returncode != 0:
            raise HelmError(run.stderr)
        return run.stdout

    def template(
        self, values: Mapping[str, JSON] | Path | None = None, *, namespace: str = NAMESPACE, release: str = RELEASE
    ) -> Rendered:
        """Render the chart with the defaults and these values."""
        output = self("template", release, CHART, f"--namespace={namespace}", *self.options(values))
        return Rendered([obj for obj in yaml.safe_load_all(output) if obj])

    def options(self, values: Mapping[str, JSON] | Path | None) -> Iterable[str]:
        """The ``--values`` flag for values in a file or from a test."""
        if values is None:
            return []
        if not isinstance(values, Path):
            file = self.home / "values.yaml"
            file.write_text(yaml.safe_dump(dict(values)))
            values = file
        return [f"--values={values}"]
