"""All findings, as a stable document and as lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from app.check.health.finding import Finding, State
from app.preview.printable import printable

JSON = Any

_STYLES: Final = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red", State.UNKNOWN: "cyan"}
_STATE_WIDTH: Final = max(map(len, State))


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found, under its name."""

    name: str
    finding: Finding

    @property
    def doc(self) -> str:
        """Where the documentation explains it."""
        return f"docs/check.md#{self.name}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The whole answer."""

    namespace: str
    """Of the installation."""
    results: Sequence[Result]

    @property
    def failed(self) -> bool:
        """Whether something does not work."""
        return any(result.finding.state is State.FAIL for result in self.results)

    def summary(self) -> dict[str, int]:
        """How many checks are in which state."""
        counts = Counter(result.finding.state for result in self.results)
        return {state.value: counts[state] for state in State}

    def to_json(self) -> JSON:
        """The stable document: members may be added, none is renamed or removed."""
        return {
            "apiVersion": "hami.io/v1alpha1",
            "kind": "CheckReport",
            "namespace": self.namespace,
            "summary": self.summary(),
            "checks": [
                {
                    "name": one.name,
                    "state": one.finding.state.value,
                    "found": one.finding.found,
                    "reason": one.finding.reason,
                    "fix": one.finding.fix,
                    "doc": one.doc,
                }
                for one in self.results
            ],
        }


def print_report(report: CheckReport, console: Console) -> None:
    """A line for each check; below it, where something is wrong, why, what to do, and where it is explained."""
    width = max(len(one.name) for one in report.results)
    for one in report.results:
        finding = one.finding
        head = Text.assemble((f"{finding.state.value:{_STATE_WIDTH}}", _STYLES[finding.state]), f"  {one.name:{width}}")
        console.print(Text.assemble(head, f"  {printable(finding.found, lines=True)}"), soft_wrap=True)
        if finding.state is State.OK:
            continue
        for word, text in (("why", finding.reason), ("fix", finding.fix), ("see", one.doc)):
            if text:
                indented = Text.assemble(" " * (_STATE_WIDTH + 2), (f"{word}: ", "dim"), printable(text, lines=True))
                console.print(indented, soft_wrap=True)
    console.print(Text(", ".join(f"{count} {word}" for word, count in report.summary().items())), soft_wrap=True)
