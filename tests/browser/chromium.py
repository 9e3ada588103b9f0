"""The system's Chromium, without a head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.system import browser

_FLAGS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. No other event loop can run while it does, so keep it no longer than a module."""
    path = browser()
    assert path is not None, "no Chromium: python -m tests.system browser gets it"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield started
        started.close()
