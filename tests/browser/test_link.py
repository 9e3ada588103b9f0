"""A link carries manifests and options in its fragment, which no server ever sees."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.prefix import behind_a_prefix
from tests.browser.visit import ALL, Visit
from tests.server.process import ServerProcess


def copied_link(visit: Visit) -> str:
    visit.page.get_by_role("button", name="Copy link").click()
    expect(visit.page.locator("#toast")).to_have_text("Link copied")
    return visit.clipboard


def test_a_link_brings_manifests_and_options_back_and_sends_neither(
    open_page: Callable[..., Visit], server: ServerProcess
) -> None:
    with behind_a_prefix(server.ops) as proxy:
        first = open_page(proxy.address)
        first.paste(ALL)
        first.page.get_by_label("Backend").select_option("gpu.nvidia.com")
        first.page.get_by_role("button", name="Options").click()
        first.page.get_by_label("noSharing").select_option("deny")
        first.expect_status("6 workloads: 2 converted, 1 untouched, 3 denied")
        link = copied_link(first)
        assert link.startswith(f"{proxy.address}#preview=")
        second = open_page(link)
        second.expect_status("6 workloads: 2 converted, 1 untouched, 3 denied")
        expect(second.editor).to_have_value(ALL)
        expect(second.page.get_by_label("Backend")).to_have_value("gpu.nvidia.com")
        expect(second.page.locator("#options-badge")).to_have_text("1")
        second.page.reload()
        second.expect_status("6 workloads: 2 converted, 1 untouched, 3 denied")
        assert link.partition("#preview=")[2][:40] not in "".join(proxy.heads)
        assert len(proxy.heads) > 20


def test_the_address_forgets_the_link_with_the_first_change(open_page: Callable[..., Visit]) -> None:
    first = open_page()
    first.example("Training job")
    second = open_page(copied_link(first))
    second.expect_status("1 workload: 1 converted")
    second.editor.focus()
    second.page.keyboard.type("# ")
    expect(second.page).not_to_have_url(re.compile("#"))


def test_a_link_is_followed_in_an_open_page(open_page: Callable[..., Visit]) -> None:
    first, second = open_page(), open_page()
    first.example("Plain web frontend")
    second.page.evaluate("(link) => { location.href = link; }", copied_link(first))
    second.expect_status("1 workload: 1 untouched")


def test_too_much_for_a_link_is_said(visit: Visit) -> None:
    visit.paste("\n".join(f"# {secrets.token_hex(40)}" for _ in range(1000)))
    visit.page.get_by_role("button", name="Copy link").click()
    expect(visit.page.locator("#toast")).to_have_text("Too long for a link (30 KB): share the file instead")


@pytest.mark.parametrize("fragment", ["!!!", "AAAA", "S0wFAA"])
def test_a_broken_link_is_said(open_page: Callable[..., Visit], server: ServerProcess, fragment: str) -> None:
    visit = open_page(f"{server.ops}/#preview={fragment}")
    expect(visit.page.locator("#toast")).to_have_text("This link cannot be read: it is not complete")
    expect(visit.page.locator("#start")).to_be_visible()
