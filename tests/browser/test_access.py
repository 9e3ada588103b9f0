"""Everybody can use the page: with the keyboard alone, a screen reader, in the dark, and on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.test_converting import printed
from tests.browser.visit import ALL, WORKLOADS, Visit

TABS = ("Explanation", "Converted YAML", "Diff", "JSON")
BROKEN = f"{ALL}---\nkind: Pod\n\tname: x\n"


def serious(visit: Visit, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds of serious and critical faults; by all rules unless some are named."""
    options = {"runOnly": list(rules)} if rules else None
    violations = Axe().run(visit.page, options=options).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in violations
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "rules"), [("light", []), ("dark", ["color-contrast"])], ids=["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Callable[..., Visit], scheme: str, rules: list[str]) -> None:
    """Only colours differ in the dark."""
    visit = open_page(color_scheme=scheme)
    assert serious(visit, rules) == []
    visit.paste(BROKEN)
    visit.expect_status("7 workloads: 4 converted, 1 untouched, 1 denied, 1 invalid")
    for tab in TABS:
        visit.tab(tab)
        assert serious(visit, rules) == [], tab
    visit.tab("Explanation")
    for text in ("denied", "invalid"):
        visit.row(text).click()
        expect(visit.page.locator("#detail .callout.bad")).to_be_visible()
        assert serious(visit, rules) == [], text
    visit.page.get_by_role("button", name="Options").click()
    visit.page.locator("#options summary").first.click()
    assert serious(visit, rules) == []


def focused(visit: Visit) -> str:
    """The element that has the focus, by its role or tag and its text."""
    return str(
        visit.page.evaluate(
            "() => { const one = document.activeElement;"
            " return `${one.getAttribute('role') ?? one.tagName.toLowerCase()} ${one.id || one.textContent.trim()}`; }"
        )
    )


def press_until(visit: Visit, key: str, wanted: str) -> None:
    """Press a key until an element has the focus; each one on the way shows that it has it."""
    for _ in range(40):
        visit.page.keyboard.press(key)
        if focused(visit) == wanted:
            return
        visible = visit.page.evaluate(
            "() => { const one = document.activeElement; const style = getComputedStyle(one);"
            " return one === document.body || one.id === 'manifests' || style.outlineStyle !== 'none'; }"
        )
        assert visible, focused(visit)
    raise AssertionError(f"{wanted} is not reached; the focus is on {focused(visit)}")


def test_the_keyboard_alone_leads_from_the_start_to_copied_yaml(visit: Visit) -> None:
    visit.copy(WORKLOADS[1].read_text())
    visit.page.keyboard.press("Tab")
    assert focused(visit) == "a Skip to the editor"
    visit.page.keyboard.press("Enter")
    assert focused(visit) == "textarea manifests"
    visit.page.keyboard.press("Control+v")
    visit.page.keyboard.press("Control+Enter")
    visit.expect_status("1 workload: 1 converted")
    visit.page.keyboard.press("Escape")
    press_until(visit, "Tab", "tab tab-explanation")
    visit.page.keyboard.press("ArrowRight")
    assert focused(visit) == "tab tab-yaml"
    press_until(visit, "Tab", "button Copy YAML")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#toast")).to_have_text("YAML copied")
    assert visit.clipboard == printed("-o", "yaml", str(WORKLOADS[1]))


def test_the_editor_lets_the_tab_key_go_on(visit: Visit) -> None:
    """Who passes by goes on; who types indents, and leaves with Escape."""
    press_until(visit, "Tab", "textarea manifests")
    visit.page.keyboard.press("Tab")
    assert focused(visit) != "textarea manifests"
    expect(visit.editor).to_have_value("")
    visit.editor.focus()
    visit.page.keyboard.type("spec:\n")
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.type("a: 1\nb: 2")
    expect(visit.editor).to_have_value("spec:\n  a: 1\n  b: 2")
    visit.page.keyboard.press("Shift+Tab")
    expect(visit.editor).to_have_value("spec:\n  a: 1\nb: 2")
    visit.page.keyboard.press("Control+z")
    expect(visit.editor).to_have_value("spec:\n  a: 1\n  b: 2")
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("Tab")
    assert focused(visit) != "textarea manifests"


def test_arrow_keys_go_through_workloads_and_tabs(visit: Visit) -> None:
    visit.paste(ALL)
    visit.expect_status("6 workloads: 4 converted, 1 untouched, 1 denied")
    visit.rows.first.focus()
    visit.page.keyboard.press("ArrowDown")
    expect(visit.page.locator("#detail-title")).to_have_text("Job/finetune")
    visit.page.keyboard.press("End")
    expect(visit.page.locator("#detail-title")).to_have_text("Deployment/frontend")
    assert visit.page.locator('[role="option"][tabindex="0"]').count() == 1
    visit.page.get_by_role("tab", name="Explanation").focus()
    visit.page.keyboard.press("ArrowLeft")
    expect(visit.page.get_by_role("tab", name="JSON")).to_have_attribute("aria-selected", "true")
    expect(visit.page.get_by_role("tabpanel")).to_have_attribute("aria-labelledby", "tab-json")


def test_headings_and_landmarks_are_in_order(visit: Visit) -> None:
    visit.example("Training job")
    levels = visit.page.locator("h1, h2, h3, h4").evaluate_all(
        "(all) => all.filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert visit.page.get_by_role("main").count() == 1
    assert visit.page.get_by_role("banner").count() == 1


def background(visit: Visit) -> str:
    return str(visit.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


def test_the_scheme_is_that_of_the_system_until_somebody_chooses(open_page: Callable[..., Visit]) -> None:
    visit = open_page(color_scheme="dark")
    dark = background(visit)
    switch = visit.page.get_by_role("button", name="Dark theme")
    expect(switch).to_have_attribute("aria-pressed", "true")
    switch.click()
    light = background(visit)
    assert light != dark
    expect(switch).to_have_attribute("aria-pressed", "false")
    visit.page.reload()
    visit.page.wait_for_selector("html[data-ready]")
    assert background(visit) == light
    assert background(open_page(color_scheme="light")) == light


def test_nothing_moves_where_motion_is_unwanted(open_page: Callable[..., Visit]) -> None:
    visit = open_page(reduced_motion="reduce")
    animation = "() => getComputedStyle(document.querySelector('.spinner')).animationName"
    assert visit.page.evaluate(animation) == "none"
    assert open_page().page.evaluate(animation) == "turn"


SPACED = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }');
    document.adoptedStyleSheets.push(sheet);
}"""
"""The text spacing that readers may set (WCAG 1.4.12); fonts that are wider than ours need the same room."""


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("width", [390, 320])
def test_narrow_screens_scroll_in_one_direction(open_page: Callable[..., Visit], width: int, spaced: bool) -> None:
    visit = open_page(viewport={"width": width, "height": 800})
    if spaced:
        visit.page.evaluate(SPACED)
    over = "() => document.scrollingElement.scrollWidth - innerWidth"
    assert visit.page.evaluate(over) <= 0
    visit.paste(BROKEN)
    visit.expect_status("7 workloads: 4 converted, 1 untouched, 1 denied, 1 invalid")
    for tab in TABS:
        visit.tab(tab)
        assert visit.page.evaluate(over) <= 0, tab
    for text in ("denied", "invalid"):
        visit.row(text).click()
        assert visit.page.evaluate(over) <= 0, text
