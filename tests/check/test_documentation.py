"""The page about the check explains every line and every option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from app.check.health.finding import State, ok
from app.check.health.report import Result
from app.check.health.run import CHECKS, LAST
from app.cli import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
NAMES = [*CHECKS, LAST]


@pytest.mark.parametrize("name", NAMES)
def test_the_link_of_each_line_leads_to_a_section(name: str) -> None:
    file, _, anchor = Result(name, ok("")).doc.partition("#")
    assert (ROOT / file).read_text(encoding="utf-8") == PAGE
    assert f"\n### {anchor}\n" in PAGE


def test_the_sections_are_in_the_order_of_the_report() -> None:
    assert re.findall(r"^### (.*)$", PAGE, re.MULTILINE) == NAMES


def test_every_option_and_state_is_documented() -> None:
    program: Any = typer.main.get_command(app)
    options = [name for one in program.commands["check"].params for name in one.opts if name.startswith("-")]
    assert "--namespace" in options
    assert [name for name in options if f"`{name}" not in PAGE] == []
    assert [state.value for state in State if f"| `{state.value}` |" not in PAGE] == []


def test_links_to_other_pages_lead_somewhere() -> None:
    for file, anchor in re.findall(r"\]\(([a-z-]+\.md)(?:#([a-z0-9-]+))?\)", PAGE):
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / file).read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, (file, anchor)
