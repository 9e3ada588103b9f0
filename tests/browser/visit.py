"""A visit to the page: what a person does there and sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Locator, Request, expect

ROOT = Path(__file__).parents[2]
WORKLOADS = sorted((ROOT / "examples" / "workloads").glob("*.yaml"))
ALL = "---\n".join(path.read_text() for path in WORKLOADS)

expect.set_options(timeout=20_000)  # what takes a moment, also while the machine starts a worker

_WATCH = "addEventListener('securitypolicyviolation', (event) => console.error('CSP', event.violatedDirective));"


class Visit:
    """One browser profile with the page open in it.

    Args:
        browser: a running one.
        address: of the page.
        profile: arguments of the profile: ``viewport``, ``color_scheme`` and the like.
    """

    def __init__(self, browser: Browser, address: str, **profile: Any) -> None:
        parts = urlsplit(address)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.problems: list[str] = []
        """What no visit may have: errors on the console, requests to elsewhere."""
        self.forgiven: re.Pattern[str] | None = None
        """Problems that the test makes itself."""
        self._context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **profile})
        self._context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.origin)
        self._context.add_init_script(_WATCH)
        self._context.on("request", self._requested)
        self.page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")

    def close(self) -> None:
        """End it."""
        self._context.close()
        if self.forgiven is not None:
            self.problems = [one for one in self.problems if not self.forgiven.search(one)]

    def paste(self, text: str) -> None:
        """Paste into the editor, replacing what is there."""
        self.copy(text)
        self.editor.focus()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Control+v")

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)

    @property
    def clipboard(self) -> str:
        """What is on the clipboard."""
        return str(self.page.evaluate("() => navigator.clipboard.readText()"))

    @property
    def editor(self) -> Locator:
        """The textarea."""
        return self.page.locator("#manifests")

    def expect_status(self, text: str, seconds: float = 15) -> None:
        """Wait until the page says what was found."""
        expect(self.page.locator("#status")).to_have_text(text, timeout=seconds * 1000)

    def example(self, title: str) -> None:
        """Choose an example on the empty page."""
        self.page.locator("#cards").get_by_role("button", name=title).click()
        expect(self.page.locator("#detail-title")).to_be_visible()

    def tab(self, name: str) -> Locator:
        """Choose a tab; its panel."""
        self.page.get_by_role("tab", name=name).click()
        expect(self.page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(self.page.locator('#panel[aria-busy="true"], #panel [aria-busy="true"]')).to_have_count(0)
        return self.page.get_by_role("tabpanel")

    @property
    def rows(self) -> Locator:
        """The list of workloads."""
        return self.page.get_by_role("listbox", name="Workloads").get_by_role("option")

    def row(self, text: str) -> Locator:
        """Workloads of the list that hold a text."""
        return self.rows.filter(has_text=text)

    def selected_line(self) -> str:
        """The text that is selected in the editor."""
        script = "(area) => area.value.slice(area.selectionStart, area.selectionEnd)"
        return str(self.editor.evaluate(script))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text}")

    def _requested(self, request: Request) -> None:
        # blob: is how a page hands over a download; it never leaves the browser.
        if not request.url.startswith((f"{self.origin}/", f"blob:{self.origin}/")):
            self.problems.append(f"request to {request.url}")
