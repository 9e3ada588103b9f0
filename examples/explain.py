"""Prints what came of a workload: the server's answer, and what its templates ask according to the preview."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonpatch
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

JSON = Any
Templates = Mapping[str, list[JSON]]
"""Claims of the preview report, by name of their template."""
_COLOURS = {"converted": "green", "untouched": "blue", "denied": "red"}


def templates_of(manifests: Path, config: Path) -> Templates:
    """What the templates ask: the same translation, through ``preview -o json``.

    Raises:
        RuntimeError: the preview could not read its input; with what it said.
    """
    command = [sys.executable, "-m", "app", "preview", str(manifests), f"--config={config}", "-o", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):  # 1: something is denied, which the examples want to show
        raise RuntimeError(f"the preview failed: {run.stderr}")
    found: dict[str, list[JSON]] = {}
    for item in json.loads(run.stdout)["items"]:
        for container in item["containers"]:
            for claim in container["claims"]:
                found.setdefault(claim["template"], []).append(claim | {"container": container["name"]})
    return found


def explain(console: Console, title: str, review: JSON, response: JSON, templates: Templates) -> None:
    """Print one workload."""
    pod = review["request"]["object"]
    parts: list[Table | Text] = []
    if not response["allowed"]:
        outcome = "denied"
        parts.append(Text(response["status"]["message"]))
    elif "patch" not in response:
        outcome = "untouched"
        parts.append(Text("admitted as it is"))
    else:
        outcome = "converted"
        parts.append(_table(pod, _patched(pod, response), templates))
    parts += [Text(f"warning: {warning}", style="yellow") for warning in response.get("warnings", ())]
    colour = _COLOURS[outcome]
    namespace = pod["metadata"]["namespace"]
    heading = f"{namespace} {title}: [bold {colour}]{outcome}[/]"
    console.print(Panel(Group(*parts), title=heading, title_align="left", expand=False))


def _patched(pod: JSON, response: JSON) -> JSON:
    return jsonpatch.apply_patch(pod, json.loads(base64.b64decode(response["patch"])))


def _table(pod: JSON, patched: JSON, templates: Templates) -> Table:
    table = Table(box=None, pad_edge=False, expand=False)
    for column in ("container", "asked", "becomes", "by rule"):
        table.add_column(column, overflow="fold")
    table.add_column("template", no_wrap=True)
    names = {entry["name"]: entry["resourceClaimTemplateName"] for entry in patched["spec"].get("resourceClaims", ())}
    before = {container["name"]: container for container in _containers(pod)}
    for container in _containers(patched):
        for claim in container.get("resources", {}).get("claims", ()):
            template = names[claim["name"]]
            asked = templates[template][0]
            keys = _removed(before[container["name"]], container)
            table.add_row(container["name"], keys, _asks(asked), ", ".join(asked["rules"]), template)
    old, new = pod["spec"].get("schedulerName"), patched["spec"].get("schedulerName")
    if old != new:
        table.add_row("(pod)", f"schedulerName: {old}", f"schedulerName: {new}", "S4", "")
    return table


def _containers(pod: JSON) -> list[JSON]:
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


def _removed(before: JSON, after: JSON) -> str:
    """The legacy keys that the patch took away."""
    left = after.get("resources", {}).get("limits", {})
    limits = before["resources"]["limits"]
    return "\n".join(f"{key}: {value}" for key, value in limits.items() if key not in left)


def _asks(claim: JSON) -> str:
    """A claim in words. Cores of 0 are no limit on the cores (S22), and not worth a word."""
    if claim["migProfile"] is not None:
        return f"{claim['devices']} x MIG {claim['migProfile']}"
    if claim["memoryPercentage"] is not None:
        memory = f"{claim['memoryPercentage']} % of the memory"
    else:
        memory = "all memory" if claim["memoryMiB"] is None else f"{claim['memoryMiB']} MiB"
    cores = f", {claim['cores']} % of the cores" if claim["cores"] else ""
    cards = "1 card" if claim["devices"] == 1 else f"{claim['devices']} different cards"
    return f"{cards}: {memory}{cores}{', nobody beside it' if claim['exclusive'] else ''}"
