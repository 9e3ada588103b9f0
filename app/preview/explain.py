"""The preview for people: what was read, which rule decided, what it becomes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.preview.report import Item, Outcome, Preview
from app.preview.rules import RULES
from app.preview.workloads import queued
from app.translate import Claim, Policy, Role
from app.translate.containers import mapping

_STYLES: Final = {
    Outcome.CONVERTED: "green",
    Outcome.UNTOUCHED: "dim",
    Outcome.DENIED: "bold red",
    Outcome.INVALID: "bold red",
}
_PLAIN_WIDTH: Final = 160
"""Columns where the output is no terminal: a file or a pager holds wide lines."""


def print_explanation(preview: Preview, policy: Policy, console: Console) -> None:
    """Prints every item: its outcome, a row for each container and rule, reasons and warnings, and the sum."""
    for item in preview.items:
        console.print(_item(item, policy))
    console.print(_summary(preview))


def explain_console(*, terminal: bool) -> Console:
    """A console on stdout; without colours and wide where stdout is no terminal."""
    return Console(soft_wrap=False) if terminal else Console(width=_PLAIN_WIDTH, no_color=True, highlight=False)


def _item(item: Item, policy: Policy) -> RenderableType:
    head = Text.assemble((item.outcome.value, _STYLES[item.outcome]), "  ", (item.title, "bold"))
    where = ", ".join(part for part in (item.namespace and f"namespace {item.namespace}", item.source.name) if part)
    if where:
        head.append(f"  ({where})", "dim")
    parts: list[RenderableType] = [head]
    if item.decision is not None and item.decision.claims:
        parts.append(_indented(_table(item, item.decision.claims, policy)))
    elif item.outcome is Outcome.CONVERTED:
        parts.append(_indented(Text("the keys are removed and no device is claimed (S34)")))
    if item.outcome is not Outcome.CONVERTED:
        parts += [_indented(Text(f"because {why}")) for why in item.why()]
    if item.stays:
        parts.append(_indented(Text(stays_because(item))))
    parts += [_indented(Text(f"warning ({note.reason.rule}): {note.message}", "yellow")) for note in item.warnings]
    return Group(*parts, "")


def stays_because(item: Item) -> str:
    """Why an object is not rewritten although its pods convert."""
    if queued(item.manifest):
        return "the object stays as it is: Kueue counts its keys, the webhook converts its pods (S71)"
    return "the object stays as it is: its operator reads it, the webhook converts its pods (S71)"


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, 2))


def _table(item: Item, claims: tuple[Claim, ...], policy: Policy) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("container", "read", "rule", "because", "becomes"):
        table.add_column(column, overflow="fold")
    annotations = mapping(mapping(mapping(item.found and item.found.pod).get("metadata")).get("annotations"))
    for claim in claims:
        keys = [f"{key}: {value}" for key, value in claim.read.items()]
        by_keys = [name for name in claim.rules if not RULES[name].annotations]
        read = dict(zip(by_keys, _spread(keys, len(by_keys)), strict=True))
        becomes = _spread(list(_becomes(claim)), len(claim.rules))
        for index, name in enumerate(claim.rules):
            rule = RULES[name]
            lines = read.get(name) or [f"{one}: {annotations[one]}" for one in rule.annotations if one in annotations]
            setting = f" ({rule.setting}: {_value(policy, rule.setting)})" if rule.setting else ""
            cells = (_name(claim) if index == 0 else "", "\n".join(lines), name, rule.sentence + setting)
            table.add_row(*(Text(cell) for cell in (*cells, "\n".join(becomes[index]))))
    return table


def _spread(lines: list[str], rows: int) -> list[list[str]]:
    """Lines over rows, one each; the last row takes what is left."""
    return [*([line] for line in lines[: rows - 1]), lines[rows - 1 :], *([] for _ in range(rows - 1 - len(lines)))]


def _value(policy: Policy, setting: str) -> str:
    """The value of a setting, as a settings file would spell it."""
    value: Any = policy.settings.model_dump(mode="json", by_alias=True)
    for part in setting.split("."):
        value = value[part]
    return json.dumps(value).strip('"')


def _name(claim: Claim) -> str:
    return claim.container if claim.role is Role.CONTAINER else f"{claim.container} ({claim.role.value})"


def _becomes(claim: Claim) -> Iterator[str]:
    kind = "MIG device" if claim.mig_profile is not None or "mig" in claim.device_class else "card"
    devices = f"{claim.devices} {kind}{'' if claim.devices == 1 else 's'}"
    details = []
    if claim.mig_profile is not None:
        details.append(f"profile {claim.mig_profile}")
    elif claim.memory_mib is not None:
        details.append(f"{claim.memory_mib} MiB")
    elif claim.memory_percentage is not None:
        details.append(f"{claim.memory_percentage} % of its memory")
    else:
        details.append("all memory")
    if claim.cores is not None:
        details.append(f"cores {claim.cores}")
    if claim.exclusive:
        details.append("for itself")
    yield f"{devices}: {', '.join(details)}"
    yield f"class {claim.device_class}"
    if claim.shares_claim_of is not None:
        yield f"claim {claim.claim} of {claim.shares_claim_of}"
    else:
        yield f"claim {claim.claim} from {claim.template}"


def _summary(preview: Preview) -> Text:
    counts = preview.report()["summary"]
    return Text(", ".join(f"{count} {word}" for word, count in counts.items()))
