"""The table and the page: what a person reads, and nothing that a cluster's texts could do to them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from app.check.scan.html import tag
from app.check.scan.render_html import render_html
from app.check.scan.render_table import print_report
from app.check.scan.report import ScanReport
from tests.scan.clusters import (
    GPU,
    READY,
    SHARE,
    container,
    controller,
    device_class,
    labelled,
    node,
    pod,
    scanned,
)

POLICY = {"annotations": {"hami.io/gpu-scheduler-policy": "binpack"}}
EVIL = "<script>alert(1)</script>\"'&[red]\x1b[2J\x9b\x7f\u202e\u2066"

TABLE = """\
not ready: 1 workload would be denied, 1 hazard blocks
https://cluster.example.org, Kubernetes 1.36; 5 workloads in 2 namespaces, pods: 3; settings: defaults

Workloads
  outcome                 workloads  meaning
  denied                          1  the webhook refuses their pods and says what to write instead
  foreign-scheduler               1  another scheduler places them, so they are left alone
  converts-with-warnings          1  their pods get claims, and something to know comes with it
  converts                        1  their pods get claims for the same devices
  no-gpu                          1  they ask for no device
  1 workload beside these ended and will not run again

Namespaces with GPU workloads
  namespace  opted in  denied  foreign-scheduler  converts-with-warnings  converts
  team       yes            1                  1                       1         1

Devices
  class                          still asked                                   offered                                               free                                                  fits
  hami-core-gpu.project-hami.io  3 devices, 0 whole, 24,000 MiB (3 pods)       4 devices, 4 untouched, 163,840 MiB, 400 % cores      4 devices, 4 untouched, 163,840 MiB, 400 % cores      in sum

Needs somebody
  outcome            workloads  because                                                                                            which
  denied                     1  nvidia.com/gpu is 99 in container main: a claim allocates at most 32 devices (too-many-devices)    team/Pod/huge
  foreign-scheduler          1  foreign scheduler volcano: its pods convert only when schedulers.convert names it (foreign-scheduler)  team/Pod/queued

Converts with warnings
  outcome                 workloads  because                                                                          which
  converts-with-warnings          1  hami.io/gpu-scheduler-policy: "binpack" has no effect with DRA (without-effect)  team/Pod/notebook

Hazards
  blocks  cards-offered-twice
    The device plugin and a DRA driver offer the cards of a node, so one card is given to two pods.
    - Node/gpu-1: nvidia.com/gpu: 40, 4 devices of hami-core-gpu.project-hami.io
    fix: Take the device plugin off the node before its driver starts, for example with a node label that both select. (docs/scan.md#cards-offered-twice)

Never checked by a scan
  - What images set by themselves, such as NVIDIA_VISIBLE_DEVICES: images are not pulled.
  - Whether the API server keeps every field of a claim: `check` probes it, a scan creates nothing.
  - Pods of custom kinds that have no pod now: their objects are not read.
  - Whether CPU, memory, taints and affinities leave room for pods on the nodes with devices.
"""  # noqa: E501 - as wide as a file or a pager shows it


def example(**options: Any) -> ScanReport:
    """A little of everything."""
    return scanned(
        labelled("team", {"hami.io/dra-webhook": "enabled"}),
        labelled("empty", {}),
        controller("Deployment", "web", SHARE, replicas=2),
        controller("Job", "done", SHARE, status={"conditions": [{"type": "Complete", "status": "True"}]}),
        pod("huge", {GPU: 99}),
        pod("queued", SHARE, schedulerName="volcano"),
        pod("notebook", SHARE, metadata=POLICY),
        controller("Deployment", "site", replicas=1),
        devices=(*READY[:2], node(gpu="40")),
        **options,
    )


def table(report: ScanReport) -> str:
    text = StringIO()
    print_report(report, Console(file=text, width=200, no_color=True, highlight=False))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def test_the_table_says_the_answer_first_then_numbers_then_what_needs_somebody() -> None:
    squeezed = [re.sub(r" {2,}", "  ", line) for line in table(example()).splitlines() if line]
    assert squeezed == [re.sub(r" {2,}", "  ", line) for line in TABLE.splitlines() if line]


def test_what_could_not_be_read_stands_in_table_and_page() -> None:
    report = scanned(pod("p", SHARE), unread=["slices", "pods", "claims"])
    for text in (table(report), render_html(report)):
        assert "offered devices and card sizes are unknown" in text
        assert "only templates of workloads are counted" in text
        assert "unknown" in text
    assert table(scanned(unread=["nodes"])).startswith("ready, as far as could be read\n")


def test_long_lists_are_cut_and_counted() -> None:
    many = scanned(*(pod(f"p-{number:03}", {GPU: 99}) for number in range(50)), devices=READY)
    assert "and 47 more" in table(many)
    assert "and 47 more" in render_html(many)
    assert render_html(many).count("Pod/<b>p-") == 50


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    return elements


def hostile() -> ScanReport:
    """Texts of a cluster that would like to be markup."""
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": EVIL}]
    return scanned(
        pod("p", containers=[container(SHARE, name=EVIL, env=env)], metadata={"namespace": EVIL}),
        pod("q", SHARE, schedulerName=EVIL),
        device_class(EVIL, extended=GPU),
    )


def test_nothing_of_a_cluster_becomes_markup() -> None:
    elements = parsed(render_html(hostile()))
    assert "script" not in {name for name, _ in elements.found}
    assert any("<script>alert(1)</script>\"'&" in text for text in elements.texts)
    assert all(not name.startswith("on") for _, attributes in elements.found for name in attributes)


def test_nothing_of_a_cluster_commands_a_terminal() -> None:
    text = table(hostile())
    assert set("\x1b\x9b\x7f\u202e\u2066").isdisjoint(text)
    assert r"[red]\x1b[2J\x9b\x7f\u202e\u2066" in text.replace("\n", "")


def test_the_page_needs_nothing_but_itself() -> None:
    page = render_html(example())
    elements = parsed(page)
    names = {name for name, _ in elements.found}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form", "a"})
    assert "url(" not in page
    assert "@import" not in page
    policy = [attributes["content"] for name, attributes in elements.found if attributes.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_the_page_can_be_read_aloud_in_the_dark_and_on_paper() -> None:
    page = render_html(example())
    elements = parsed(page)
    assert ("html", {"lang": "en"}) in elements.found
    assert [name for name, _ in elements.found if name in ("h1", "main", "header", "footer")] == [
        "header", "h1", "main", "footer",
    ]  # fmt: skip
    assert all(attributes.get("scope") == "col" for name, attributes in elements.found if name == "th")
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_page_shows_the_same_numbers_as_the_table() -> None:
    text = " ".join(" ".join(parsed(render_html(example())).texts).split())
    for expected in (
        "Not ready: 1 workload would be denied, 1 hazard blocks",
        "1 denied the webhook refuses their pods",
        "3 devices, 0 whole, 24,000 MiB (3 pods)",
        "4 devices, 4 untouched, 163,840 MiB, 400 % cores",
        "Node/gpu-1 : nvidia.com/gpu: 40, 4 devices of hami-core-gpu.project-hami.io",
        "2026-11-30T10:00:00Z",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("built", "html"),
    [
        (tag("p", "1 < 2"), "<p>1 &lt; 2</p>"),
        (tag("p", tag("b", "&"), None, " x"), "<p><b>&amp;</b> x</p>"),
        (tag("td", "a", cls='x" onclick="y'), '<td class="x&quot; onclick=&quot;y">a</td>'),
        (tag("div", cls="", aria_hidden="true"), '<div aria-hidden="true"></div>'),
        (tag("meta", charset="utf-8"), '<meta charset="utf-8">'),
    ],
)
def test_every_text_and_attribute_is_escaped(built: str, html: str) -> None:
    assert built == html
