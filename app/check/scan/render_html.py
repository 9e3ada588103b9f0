"""The report as one page for people who were not there: no script, no outside resource, light and dark, printable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Final

from app.check.scan import words
from app.check.scan.hazard import Hazard, Severity
from app.check.scan.html import Content, Html, document, join, tag
from app.check.scan.judge import Outcome
from app.check.scan.report import UNCHECKED, Gathered, NamespaceRow, ScanReport, shown_time

_TONES: Final = {
    Outcome.DENIED: "bad",
    Outcome.INVALID: "bad",
    Outcome.FOREIGN_SCHEDULER: "warn",
    Outcome.CONVERTS_WITH_WARNINGS: "warn",
    Outcome.CONVERTS: "good",
    Outcome.STAYS: "info",
    Outcome.ALREADY_DRA: "good",
    Outcome.NO_GPU: "",
}
_SEVERITIES: Final = {Severity.BLOCKS: "bad", Severity.WARNS: "warn", Severity.INFORMS: "info"}
_SHOWN_ROWS: Final = 500
"""Of one list: more is no reading for people, and the JSON has all."""
_SHOWN_FIRST: Final = 3


def render_html(report: ScanReport) -> str:
    """The whole page."""
    style = files("app.check.scan").joinpath("page.css").read_text(encoding="utf-8")
    return document(
        f"GPU workloads: {words.verdict(report)}",
        style,
        tag("header", *_head(report)),
        tag(
            "main",
            _section("Workloads", _tiles(report)),
            _section("Could not be read", _unread(report)),
            _section("Hazards", join(*map(_hazard, report.hazards))),
            _section("Needs somebody", _gathered("needs somebody", report.gathered(*words.NEEDS_SOMEBODY))),
            _section("Converts with warnings", _gathered("warnings", report.gathered(Outcome.CONVERTS_WITH_WARNINGS))),
            _section("Devices", _devices(report)),
            _section("Namespaces with GPU workloads", _namespaces(report)),
            _section("Never checked by a scan", tag("ul", *(tag("li", one) for one in UNCHECKED), cls="plain dim")),
        ),
        tag("footer", f"hami-dra-webhook scan, {shown_time(report.at)}. Words are explained in docs/scan.md."),
    )


def _head(report: ScanReport) -> Iterator[Html]:
    yield tag("h1", "What the webhook would make of the GPU workloads")
    yield tag("p", words.verdict(report).capitalize(), cls=f"verdict {'good' if report.ready else 'bad'}")
    yield tag("p", words.scope(report), cls="scope")


def _section(title: str, content: Html) -> Html:
    return tag("section", tag("h2", title), content) if content else Html()


def _tiles(report: ScanReport) -> Html:
    tiles = [
        tag(
            "div",
            tag("b", f"{count:,}"),
            tag("span", words.LABELS[outcome]),
            tag("p", words.MEANINGS[outcome]),
            cls=f"tile {_TONES[outcome]}",
        )
        for outcome, count in report.outcomes.items()
        if count
    ]
    ended = f"{words.counted(report.finished, 'workload')} beside these ended and will not run again."
    return join(tag("div", *tiles, cls="tiles"), tag("p", ended, cls="dim") if report.finished else None)


def _namespaces(report: ScanReport) -> Html:
    rows = [row for row in report.namespaces if row.asks_devices]
    shown = [one for one in Outcome if one is not Outcome.NO_GPU and any(row.outcomes[one] for row in rows)]
    if not rows:
        return Html()
    numbers = ((words.LABELS[one], "number") for one in shown)
    columns = [("namespace", ""), ("opted in", ""), *numbers, ("mix", "")]
    return _table("namespaces", columns, (_namespace(row, shown) for row in rows))


def _namespace(row: NamespaceRow, shown: Iterable[Outcome]) -> Iterator[Html]:
    yield tag("td", row.name, cls="name")
    yield tag("td", tag("span", words.opted_in(row.opted_in), cls="chip good" if row.opted_in else "chip"))
    present = [outcome for outcome in shown if row.outcomes[outcome]]
    for outcome in shown:
        count = row.outcomes[outcome]
        yield tag("td", f"{count:,}", cls=f"number {_TONES[outcome] if count else 'zero'}")
    parts = (tag("i", cls=_TONES[one], style=f"flex-grow:{row.outcomes[one]}") for one in present)
    yield tag("td", tag("div", *parts, cls="bar", aria_hidden="true"), cls="mix")


def _devices(report: ScanReport) -> Html:
    columns = [(name, "") for name in ("class", "still asked", "offered", "free", "fits")]

    def rows() -> Iterator[Iterable[Html]]:
        for one in report.supplies:
            kind = one.need.kind
            name = join(tag("code", kind.device_class), f" {kind.mig_profile}" if kind.mig_profile else None)
            cells = (words.asked(one), words.offered(one.offered), words.offered(one.free))
            fits = tag("td", words.fits(one), cls="short" if one.short else "")
            yield (tag("td", name), *(tag("td", cell) for cell in cells), fits)

    return _table("devices", columns, rows())


def _gathered(label: str, groups: Sequence[Gathered]) -> Html:
    if not groups:
        return Html()
    columns = [("outcome", ""), ("workloads", "number"), ("because", ""), ("which", "")]
    table = _table(label, columns, (_group(one) for one in groups[:_SHOWN_ROWS]))
    return join(table, _more(len(groups) - _SHOWN_ROWS, "rows: -o json has all"))


def _group(group: Gathered) -> Iterator[Html]:
    refs = [tag("p", one.ref.namespace, "/", one.ref.kind, "/", tag("b", one.ref.name)) for one in group.workloads]
    first, rest, left = refs[:_SHOWN_FIRST], refs[_SHOWN_FIRST:_SHOWN_ROWS], len(refs) - _SHOWN_ROWS
    yield tag("td", tag("span", words.LABELS[group.outcome], cls=f"chip {_TONES[group.outcome]}"))
    yield tag("td", f"{len(refs):,}", cls="number")
    yield tag("td", *(tag("p", message, " ", tag("code", reason.value, cls="dim")) for reason, message in group.said))
    more = tag("summary", f"and {len(refs) - len(first):,} more")
    yield tag("td", *first, tag("details", more, *rest, _more(left, "workloads")) if rest else None, cls="which")


def _hazard(hazard: Hazard) -> Html:
    check = hazard.check
    chip = tag("span", check.severity.value, cls=f"chip {_SEVERITIES[check.severity]}")
    objects = [tag("li", tag("code", one.object), f": {one.detail}" if one.detail else None) for one in hazard.found]
    first, rest, left = objects[:_SHOWN_FIRST], objects[_SHOWN_FIRST:_SHOWN_ROWS], len(objects) - _SHOWN_ROWS
    more = tag("summary", f"and {len(objects) - len(first):,} more")
    return tag(
        "article",
        tag("h3", chip, tag("span", check.sentence)),
        tag("ul", *first),
        tag("details", more, tag("ul", *rest), _more(left, "objects")) if rest else None,
        tag("p", tag("b", "Fix: "), check.fix, " ", tag("code", check.anchor, cls="dim")),
        cls="hazard",
    )


def _unread(report: ScanReport) -> Html:
    if not report.unread:
        return Html()

    def rows() -> Iterator[Iterable[Html]]:
        for gap, affects in report.unread:
            so = (tag("p", sentence) for sentence in affects)
            where = gap.namespace or "all"
            yield tag("td", tag("code", gap.resource)), tag("td", where), tag("td", gap.reason), tag("td", *so)

    return _table("unread", [(name, "") for name in ("what", "namespace", "why", "so")], rows())


def _more(number: int, word: str) -> Content:
    return tag("p", f"and {number:,} more {word}", cls="dim") if number > 0 else None


def _table(label: str, columns: Iterable[tuple[str, str]], rows: Iterable[Iterable[Html]]) -> Html:
    head = tag("thead", tag("tr", *(tag("th", name, scope="col", cls=cls) for name, cls in columns)))
    body = tag("tbody", *(tag("tr", *cells) for cells in rows))
    # Wide tables scroll by themselves, so the keyboard must be able to get there.
    return tag("div", tag("table", head, body), cls="scroll", tabindex="0", role="region", aria_label=label)
