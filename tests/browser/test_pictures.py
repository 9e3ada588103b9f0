"""The pictures of docs/web-page.md: ``pytest tests/browser/test_pictures.py --screenshots`` takes them anew."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visit import ALL, ROOT, Visit

DOCUMENT = ROOT / "docs" / "web-page.md"
PICTURES = ROOT / "docs" / "images"
LARGEST = 300 * 1024  # bytes of one picture, since every clone has them all; fonts decide about a tenth
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def start(visit: Visit) -> None:
    expect(visit.page.locator("#start")).to_be_visible()


def explanation(visit: Visit) -> None:
    visit.paste(ALL)
    visit.row("Deployment/notebook").click()
    expect(visit.page.locator(".explain")).to_be_visible()


def diff(visit: Visit) -> None:
    explanation(visit)
    visit.tab("Diff")


def denied(visit: Visit) -> None:
    visit.paste(ALL)
    visit.row("Pod/render").click()
    expect(visit.page.locator(".callout.bad")).to_be_visible()


SCENES = {
    "page-start.png": (start, "light", WIDE),
    "page-explanation.png": (explanation, "light", WIDE),
    "page-diff-dark.png": (diff, "dark", WIDE),
    "page-denied.png": (denied, "light", WIDE),
    "page-narrow.png": (explanation, "light", NARROW),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_can_be_taken_and_is_small(
    open_page: Callable[..., Visit], request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> None:
    scene, scheme, viewport = SCENES[name]
    visit = open_page(color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    scene(visit)
    visit.page.evaluate("() => document.activeElement.blur()")
    taken = tmp_path / name
    visit.page.screenshot(path=taken, full_page=viewport is NARROW)
    assert taken.stat().st_size <= LARGEST
    if request.config.getoption("--screenshots", default=False):
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / name).write_bytes(taken.read_bytes())


@pytest.mark.parametrize("name", SCENES)
def test_the_picture_in_the_documentation_is_there(name: str) -> None:
    data = (PICTURES / name).read_bytes()
    width, _ = struct.unpack(">II", data[16:24])
    assert width == SCENES[name][2]["width"]
    assert len(data) <= LARGEST


def test_the_documentation_shows_exactly_these_pictures() -> None:
    assert set(re.findall(r"\]\(images/([^)]+)\)", DOCUMENT.read_text())) == set(SCENES)
