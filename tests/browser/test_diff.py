"""The diff shows what goes and comes, side by side or one below the other."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.browser.test_converting import printed
from tests.browser.visit import WORKLOADS, Visit

NOTEBOOK = WORKLOADS[0]


def lines(panel: Locator, kind: str) -> list[str]:
    """The lines of one kind, without the words for screen readers."""
    script = "(cells) => cells.map((cell) => [...cell.childNodes].slice(1).map((one) => one.textContent).join(''))"
    return list(panel.locator(f"td.{kind}:not(.num)").evaluate_all(script))


def expected() -> tuple[list[str], list[str]]:
    """Lines that go and that come, from what the command line prints."""
    after = printed("-o", "yaml", str(NOTEBOOK)).split("---\n")[1]
    found = list(difflib.ndiff(NOTEBOOK.read_text().splitlines(), after.splitlines()))
    return [one[2:] for one in found if one[0] == "-"], [one[2:] for one in found if one[0] == "+"]


def test_lines_stand_side_by_side_with_the_words_that_differ(visit: Visit) -> None:
    visit.example("Shared notebook")
    panel = visit.tab("Diff")
    gone, come = expected()
    assert (lines(panel, "del"), lines(panel, "add")) == (gone, come)
    row = panel.locator("tr", has=visit.page.locator("mark", has_text="hami-scheduler"))
    assert row.locator("mark").all_inner_texts() == ["hami-scheduler", "default-scheduler"]
    expect(panel).to_contain_text("5 lines out, 9 in")
    expect(panel.locator("pre.added")).to_contain_text("kind: ResourceClaimTemplate")


def test_unchanged_lines_are_put_away_and_come_back(visit: Visit) -> None:
    visit.example("Shared notebook")
    panel = visit.tab("Diff")
    before = panel.locator("tbody tr").count()
    panel.get_by_role("button", name="Show 10 unchanged lines").click()
    expect(panel.locator("tbody tr")).to_have_count(before + 9)
    expect(panel.locator("tbody tr").first).to_contain_text("# A notebook that shares a card")


def test_the_editor_can_make_room(visit: Visit) -> None:
    visit.example("Memory in bytes")
    button = visit.page.get_by_role("button", name="Hide editor")
    button.click()
    expect(visit.editor).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "true")
    visit.page.get_by_role("button", name="line 15, column 11").click()
    expect(visit.editor).to_be_focused()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_narrow_screens_have_one_column(open_page: Callable[..., Visit]) -> None:
    visit = open_page(viewport={"width": 390, "height": 844})
    visit.example("Shared notebook")
    panel = visit.tab("Diff")
    expect(panel.locator("col")).to_have_count(3)
    assert (lines(panel, "del"), lines(panel, "add")) == expected()


def test_json_is_compared_as_yaml(visit: Visit) -> None:
    visit.paste(
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, '
        '"spec": {"containers": [{"name": "c", "image": "example.org/a:1", "resources": {"limits": '
        '{"nvidia.com/gpu": "1"}}}]}}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}]}'
    )
    visit.expect_status("2 workloads: 1 converted, 1 untouched")
    panel = visit.tab("Diff")
    assert lines(panel, "del") == ["      limits:", '        nvidia.com/gpu: "1"']
    assert "      claims:" in lines(panel, "add")
