"""The page of ``scan --html`` in a browser: for everybody, and from one file.

``pytest tests/browser/test_scan_report.py --screenshots`` takes the picture of docs/scan.md anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from app.check.scan.render_html import render_html
from tests.scan.clusters import GPU, MEMORY, SHARE, cards, claim, controller, device_class, labelled, node, pod, scanned
from tests.scan.hazard_cases import nvidia, quota

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "scan-report.png"
LARGEST = 200 * 1024  # bytes, since every clone has it
NOTEBOOK = {"annotations": {"hami.io/gpu-scheduler-policy": "binpack"}}


def moved(namespace: str, *objects: dict[str, object]) -> list[dict[str, object]]:
    """The objects in another namespace."""
    return [{**one, "metadata": {**one["metadata"], "namespace": namespace}} for one in objects]  # type: ignore[dict-item]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report with a little of everything."""
    objects = [labelled("ml-serving", {"hami.io/dra-webhook": "enabled"}), labelled("ml-training", {})]
    objects += moved(
        "ml-serving",
        controller("Deployment", "summarise", SHARE, replicas=4),
        controller("Deployment", "web", replicas=3),
        pod("notebook", SHARE, metadata=NOTEBOOK),
    )
    objects += moved(
        "ml-training",
        controller("StatefulSet", "train", {GPU: 2}, replicas=1),
        controller("Deployment", "huge", {GPU: 99}, replicas=1),
        pod("bytes", {GPU: 1, MEMORY: "16Gi"}),
        pod("queued", SHARE, schedulerName="volcano"),
        *(pod(f"sweep-{number}", SHARE, metadata=NOTEBOOK) for number in range(8)),
        quota("gpus", {"requests.nvidia.com/gpu": "4"}),
    )
    objects += [nvidia(deviceMemoryScaling=1.5), claim("held", "card-1", {"memory": "8000Mi", "cores": "30"})]
    machines = (device_class(), cards(8), node(gpu="80"))
    file = tmp_path_factory.mktemp("scan") / "report.html"
    file.write_text(render_html(scanned(*objects, devices=machines, unread=["webhooks"])))
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, address: str, scheme: Literal["light", "dark"]) -> None:
    with browser.new_context(color_scheme=scheme, bypass_csp=True) as context:  # axe is a script, the page allows none
        page = context.new_page()
        page.goto(address)
        for more in page.locator("summary").all():
            more.click()
        found = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]] == []


def test_nothing_else_is_loaded_and_nothing_is_wrong(browser: Browser, address: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        requests: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.goto(address)
    assert (requests, problems) == ([address], [])


def test_a_narrow_screen_never_scrolls_sideways(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.goto(address)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_the_picture_of_the_documentation_can_be_taken_and_is_small(
    browser: Browser, address: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    taken = tmp_path / PICTURE.name
    with browser.new_context(viewport={"width": 1280, "height": 1180}) as context:
        page = context.new_page()
        page.goto(address)
        page.screenshot(path=taken)
    assert taken.stat().st_size <= LARGEST
    if request.config.getoption("--screenshots", default=False):
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(taken.read_bytes())


def test_the_documentation_shows_the_picture() -> None:
    assert PICTURE.stat().st_size <= LARGEST
    assert f"](images/{PICTURE.name})" in (ROOT / "docs" / "scan.md").read_text()
