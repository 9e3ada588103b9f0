"""What is wrong is said with its line, and one click leads there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.visit import WORKLOADS, Visit
from tests.server.process import Certificates, running

GOOD = WORKLOADS[0].read_text()


@pytest.mark.parametrize(
    ("text", "message", "place", "line"),
    [
        ("kind: Pod\nmetadata:\n\tname: x\n", "a tab in the indentation", "line 3, column 1", "\tname: x"),
        ("kind: Pod\nspec: {}\nspec: {}\n", "spec", "line 3, column 1", "spec: {}"),
        ("kind: Pod\nname: {{ .x }}\n", "{{ opens a template that is not rendered", "line 2", "name: {{ .x }}"),
        ("kind: Pod\n", "apiVersion missing", "line 1", "kind: Pod"),
    ],
    ids=["tab", "duplicate key", "template", "no manifest"],
)
def test_an_unreadable_document_is_placed(visit: Visit, text: str, message: str, place: str, line: str) -> None:
    visit.paste(f"{GOOD}---\n{text}")
    visit.expect_status("2 workloads: 1 converted, 1 invalid")
    visit.row("invalid").click()
    panel = visit.page.get_by_role("tabpanel")
    expect(panel).to_contain_text(message)
    number, *column = (int(one) for one in re.findall(r"\d+", place))
    there = GOOD.count("\n") + 1 + number
    button = panel.get_by_role("button", name=f"line {there}")
    expect(button).to_contain_text(f"column {column[0]}" if column else f"line {there}")
    expect(visit.page.locator(".gutter .bad")).to_have_text(str(there))
    button.click()
    expect(visit.editor).to_be_focused()
    assert line.endswith(visit.selected_line())
    assert visit.selected_line()


def test_a_refused_value_is_marked_where_it_stands(visit: Visit) -> None:
    visit.example("Memory in bytes")
    expect(visit.page.locator(".paint .bad")).to_have_text("          nvidia.com/gpumem: 16Gi")
    panel = visit.page.get_by_role("tabpanel")
    expect(panel).to_contain_text("the unit is MiB, write 16384")
    panel.get_by_role("button", name="line 15").click()
    assert visit.selected_line() == "nvidia.com/gpumem: 16Gi"


def test_marks_go_when_the_mistake_is_gone(visit: Visit) -> None:
    visit.example("Memory in bytes")
    visit.paste(WORKLOADS[4].read_text().replace("16Gi", "16384"))
    visit.expect_status("1 workload: 1 converted")
    expect(visit.page.locator(".gutter .bad")).to_have_count(0)


def test_comments_alone_are_said_to_be_nothing(visit: Visit) -> None:
    visit.paste("# only a comment\n")
    expect(visit.page.get_by_role("alert")).to_contain_text("No document holds anything.")


def test_what_is_too_large_for_the_server_is_not_sent(visit: Visit) -> None:
    sent: list[str] = []
    visit.page.context.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    visit.paste(f"# {'x' * 60}\n" * (7 * 1024 * 1024 // 60))
    expect(visit.page.get_by_role("alert")).to_contain_text("The text has more than 7 MiB.", timeout=20_000)
    assert sent == []


def test_an_option_that_cannot_be_used_is_said(visit: Visit) -> None:
    visit.forgiven = re.compile("status of 400")
    visit.paste(GOOD)
    visit.page.get_by_role("button", name="Options").click()
    visit.page.get_by_label("defaultMemory").fill("much")
    visit.page.get_by_label("defaultMemory").press("Enter")
    expect(visit.page.get_by_role("alert")).to_contain_text("defaultMemory")
    visit.page.get_by_label("defaultMemory").fill("4000")
    visit.page.get_by_label("defaultMemory").press("Enter")
    visit.expect_status("1 workload: 1 converted")


def test_a_busy_server_is_asked_again(visit: Visit) -> None:
    visit.forgiven = re.compile("status of 503")
    answers = iter([True, False])

    def answer(route: Route) -> None:
        if next(answers):
            body = '{"error": {"code": "busy", "message": "other previews are being made"}}'
            route.fulfill(status=503, headers={"Retry-After": "2"}, content_type="application/json", body=body)
        else:
            route.continue_()

    visit.page.context.route("**/preview?*", answer)
    visit.paste(GOOD)
    expect(visit.page.locator("#progress")).to_have_text("The server is busy, next try in 2 s")
    visit.expect_status("1 workload: 1 converted")
    expect(visit.page.locator("#progress")).to_be_hidden()


def test_an_answer_of_something_in_between_is_named_as_such(visit: Visit) -> None:
    visit.forgiven = re.compile("status of 502")
    visit.page.context.route(
        "**/preview?*", lambda route: route.fulfill(status=502, content_type="text/html", body="<h1>Bad Gateway</h1>")
    )
    visit.paste(GOOD)
    expect(visit.page.get_by_role("alert")).to_contain_text("The answer is 502 Bad Gateway, not one of the preview.")


def test_a_server_that_is_gone_is_named_and_asked_again(open_page: Callable[..., Visit], tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    certificates.issue()
    with running(tmp_path, certificates) as process:
        visit = open_page(f"{process.ops}/")
    visit.forgiven = re.compile("ERR_CONNECTION_REFUSED")
    visit.paste(GOOD)
    expect(visit.page.get_by_role("alert")).to_contain_text("The server does not answer.")


def test_only_the_newest_text_is_shown(visit: Visit) -> None:
    """An answer that comes late belongs to a text that is gone."""
    held: list[Route] = []

    def answer(route: Route) -> None:
        if "name: notebook" in (route.request.post_data or "") and not held:
            held.append(route)
        else:
            route.continue_()

    visit.page.context.route("**/preview?*", answer)
    visit.paste(GOOD)
    expect(visit.page.locator("#progress")).to_have_text("Converting")
    visit.paste(WORKLOADS[5].read_text())
    visit.expect_status("1 workload: 1 untouched")
    expect(visit.page.locator("#detail-title")).to_have_text("Deployment/frontend")


def test_a_busy_server_leaves_no_progress_behind_a_copy(visit: Visit) -> None:
    visit.forgiven = re.compile("status of 503")
    visit.paste(GOOD)
    visit.expect_status("1 workload: 1 converted")
    busy = iter([True])

    def answer(route: Route) -> None:
        if next(busy, False):
            body = '{"error": {"code": "busy", "message": "other previews are being made"}}'
            route.fulfill(status=503, content_type="application/json", body=body)
        else:
            route.continue_()

    visit.page.context.route("**/preview?*", answer)
    visit.page.get_by_role("button", name="Copy all YAML").click()
    expect(visit.page.locator("#toast")).to_have_text("All YAML copied")
    expect(visit.page.locator("#progress")).to_be_hidden()


def test_a_failure_brings_the_editor_back(visit: Visit) -> None:
    visit.forgiven = re.compile("ERR_FAILED")
    visit.paste(GOOD)
    visit.page.get_by_role("button", name="Hide editor").click()
    visit.page.context.route("**/preview?*", lambda route: route.abort())
    visit.page.get_by_label("Backend").select_option(index=1)
    expect(visit.page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(visit.editor).to_be_visible()


def test_a_page_of_a_proxy_is_no_answer(visit: Visit) -> None:
    visit.paste(GOOD)
    visit.expect_status("1 workload: 1 converted")
    visit.page.context.route(
        "**/preview?*", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>")
    )
    visit.page.get_by_role("button", name="Copy all YAML").click()
    expect(visit.page.locator("#toast")).to_contain_text("not one of the preview")
