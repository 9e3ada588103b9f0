"""The preview for people: what was read, which rule decided, what it becomes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.preview.explanation import Row
from app.preview.printable import printable
from app.preview.report import Item, Outcome, Preview
from app.preview.workloads import queued
from app.translate import Role

_STYLES: Final = {
    Outcome.CONVERTED: "green",
    Outcome.UNTOUCHED: "dim",
    Outcome.DENIED: "bold red",
    Outcome.INVALID: "bold red",
}
PLAIN_WIDTH: Final = 160
"""Columns where the output is no terminal: a file or a pager holds wide lines."""


def print_explanation(preview: Preview, console: Console) -> None:
    """Prints every item: its outcome, a row for each container and rule, reasons and warnings, and the sum."""
    for item in preview.items:
        console.print(_item(item))
    console.print(_summary(preview))


def explain_console(*, terminal: bool, coloured: bool) -> Console:
    """A console on stdout; wide where stdout is no terminal."""
    return Console(
        width=None if terminal else PLAIN_WIDTH,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        no_color=not coloured,
        highlight=False,
    )


def _item(item: Item) -> RenderableType:
    head = Text.assemble((item.outcome.value, _STYLES[item.outcome]), "  ", (printable(item.title), "bold"))
    where = ", ".join(part for part in (item.namespace and f"namespace {item.namespace}", item.source.name) if part)
    if where:
        head.append(printable(f"  ({where})"), "dim")
    parts: list[RenderableType] = [head]
    if item.explanation:
        parts.append(_indented(_table(item.explanation)))
    if item.matches is not None:
        parts += [_indented(Text(printable(sentence))) for sentence in item.matches.sentences()]
    if item.outcome is not Outcome.CONVERTED:
        parts += [_indented(Text(printable(f"because {why}"))) for why in item.why()]
    if item.stays:
        parts.append(_indented(Text(stays_because(item))))
    warnings = (printable(f"warning ({note.reason.rule}): {note.message}") for note in item.warnings)
    parts += [_indented(Text(warning, "yellow")) for warning in warnings]
    return Group(*parts, "")


def stays_because(item: Item) -> str:
    """Why an object is not rewritten although its pods convert."""
    if queued(item.manifest):
        return "the object stays as it is: Kueue counts its keys, the webhook converts its pods (S71)"
    return "the object stays as it is: its operator reads it, the webhook converts its pods (S71)"


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, 2))


def _table(rows: Iterable[Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("container", "read", "rule", "because", "becomes"):
        table.add_column(column, overflow="fold")
    for row in rows:
        setting = "" if row.setting is None else f" ({row.setting[0]}: {_shown(row.setting[1])})"
        cells = (_name(row) if row.first else "", "\n".join(row.read), row.rule, row.because + setting)
        table.add_row(*(Text(printable(cell, lines=True)) for cell in (*cells, "\n".join(row.becomes))))
    return table


def _shown(value: object) -> str:
    return json.dumps(value).strip('"')


def _name(row: Row) -> str:
    if row.container is None or row.role is None:
        return "the pod"
    return row.container if row.role is Role.CONTAINER else f"{row.container} ({row.role.value})"


def _summary(preview: Preview) -> Text:
    counts = preview.summary()
    return Text(", ".join(f"{count} {word}" for word, count in counts.items()))
