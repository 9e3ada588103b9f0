"""The report for a terminal: the answer first, then numbers, then what needs somebody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.check.scan import words
from app.check.scan.hazard import Hazard, Severity
from app.check.scan.judge import Outcome
from app.check.scan.report import UNCHECKED, Gathered, ScanReport
from app.preview.printable import printable

_SHOWN_ROWS: Final = 40
"""Of one list; the JSON has all."""
_SHOWN_WORKLOADS: Final = 3
_SHOWN_OBJECTS: Final = 5
_OUTCOMES: Final = {
    Outcome.DENIED: "bold red",
    Outcome.INVALID: "bold red",
    Outcome.FOREIGN_SCHEDULER: "yellow",
    Outcome.CONVERTS_WITH_WARNINGS: "yellow",
    Outcome.CONVERTS: "green",
    Outcome.STAYS: "cyan",
    Outcome.ALREADY_DRA: "green",
    Outcome.NO_GPU: "dim",
}
_SEVERITIES: Final = {Severity.BLOCKS: "bold red", Severity.WARNS: "yellow", Severity.INFORMS: "cyan"}


def print_report(report: ScanReport, console: Console) -> None:
    """Prints the whole report."""
    console.print(_text(words.verdict(report), "bold green" if report.ready else "bold red"))
    console.print(_text(words.scope(report), "dim"))
    for title, parts in (
        ("Workloads", _outcomes(report)),
        ("Namespaces with GPU workloads", _namespaces(report)),
        ("Devices", _devices(report)),
        ("Needs somebody", _gathered(report.gathered(*words.NEEDS_SOMEBODY))),
        ("Converts with warnings", _gathered(report.gathered(Outcome.CONVERTS_WITH_WARNINGS))),
        ("Hazards", _hazards(report.hazards)),
        ("Could not be read", _unread(report)),
        ("Never checked by a scan", [_text(f"- {sentence}", "dim") for sentence in UNCHECKED]),
    ):
        shown = list(parts)
        if shown:
            console.print(_text(f"\n{title}", "bold"))
            for part in shown:
                console.print(Padding(part, (0, 0, 0, 2)))


def _text(value: str, style: str = "") -> Text:
    """Text of a cluster: no markup, and nothing that a terminal would obey."""
    return Text(printable(value, lines=True), style)


def _row(table: Table, *cells: str | Text) -> None:
    table.add_row(*(cell if isinstance(cell, Text) else _text(cell) for cell in cells))


def _table(*columns: str, right: frozenset[int] = frozenset()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if index in right else "left")
    return table


def _outcomes(report: ScanReport) -> Iterator[RenderableType]:
    table = _table("outcome", "workloads", "meaning", right=frozenset({1}))
    for outcome, count in report.outcomes.items():
        if count:
            _row(table, _text(outcome.value, _OUTCOMES[outcome]), f"{count:,}", words.MEANINGS[outcome])
    yield table
    if report.finished:
        yield _text(f"{words.counted(report.finished, 'workload')} beside these ended and will not run again", "dim")


def _namespaces(report: ScanReport) -> Iterator[RenderableType]:
    rows = [row for row in report.namespaces if row.asks_devices]
    shown = [one for one in Outcome if one is not Outcome.NO_GPU and any(row.outcomes[one] for row in rows)]
    if not rows:
        return
    table = _table("namespace", "opted in", *(one.value for one in shown), right=frozenset(range(2, 2 + len(shown))))
    for row in rows[:_SHOWN_ROWS]:
        numbers = (_text(f"{row.outcomes[one]:,}", _OUTCOMES[one] if row.outcomes[one] else "dim") for one in shown)
        _row(table, row.name, words.opted_in(row.opted_in), *numbers)
    yield table
    yield from _more(len(rows) - _SHOWN_ROWS, "namespaces")


def _devices(report: ScanReport) -> Iterator[RenderableType]:
    table = _table("class", "still asked", "offered", "free", "fits")
    for one in report.supplies:
        kind = one.need.kind
        name = kind.device_class if kind.mig_profile is None else f"{kind.device_class} {kind.mig_profile}"
        fits = _text(words.fits(one), "red" if one.short else "")
        _row(table, name, words.asked(one), words.offered(one.offered), words.offered(one.free), fits)
    yield table


def _gathered(groups: list[Gathered]) -> Iterator[RenderableType]:
    if not groups:
        return
    table = _table("outcome", "workloads", "because", "which", right=frozenset({1}))
    for group in groups[:_SHOWN_ROWS]:
        because = "\n".join(f"{message} ({reason.value})" for reason, message in group.said)
        which = [str(one.ref) for one in group.workloads[:_SHOWN_WORKLOADS]]
        left = len(group.workloads) - len(which)
        more = [f"and {left:,} more"] if left else []
        _row(
            table,
            _text(group.outcome.value, _OUTCOMES[group.outcome]),
            f"{len(group.workloads):,}",
            because,
            "\n".join(which + more),
        )
    yield table
    yield from _more(len(groups) - _SHOWN_ROWS, "rows")


def _hazards(hazards: Iterable[Hazard]) -> Iterator[RenderableType]:
    for hazard in hazards:
        check = hazard.check
        yield Text.assemble((check.severity.value, _SEVERITIES[check.severity]), "  ", (check.code, "bold"))
        yield Padding(_text(check.sentence), (0, 0, 0, 2))
        for found in hazard.found[:_SHOWN_OBJECTS]:
            yield Padding(_text(f"- {found.object}{f': {found.detail}' if found.detail else ''}"), (0, 0, 0, 2))
        if len(hazard.found) > _SHOWN_OBJECTS:
            yield Padding(_text(f"and {len(hazard.found) - _SHOWN_OBJECTS:,} more", "dim"), (0, 0, 0, 2))
        yield Padding(_text(f"fix: {check.fix} ({check.anchor})", "dim"), (0, 0, 1, 2))


def _unread(report: ScanReport) -> Iterator[RenderableType]:
    if not report.cluster.gaps:
        return
    table = _table("what", "namespace", "why", "so")
    for unread in report.unread:
        so = "\n".join(unread.affects)
        _row(table, unread.gap.resource, unread.gap.namespace or "all", unread.gap.reason, so)
    yield table


def _more(number: int, word: str) -> Iterator[Text]:
    if number > 0:
        yield _text(f"and {number:,} more {word}: -o json has all", "dim")
