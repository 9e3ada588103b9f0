"""The page about the scan names everything there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from app.check.scan.hazard import Severity
from app.check.scan.hazards import CHECKS
from app.check.scan.judge import Outcome
from app.check.scan.render_json import to_json
from app.check.scan.words import MEANINGS
from app.cli import app
from app.cli.scan import Output
from tests.scan.clusters import GPU, SHARE, labelled, node, pod, scanned

PAGE = (Path(__file__).parents[2] / "docs" / "scan.md").read_text()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_every_hazard_has_a_section_with_its_sentence_and_its_cure(check: Any) -> None:
    section = re.search(rf"^### {re.escape(check.code)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    text = " ".join(section.group(1).split())
    assert f"*{check.severity.value}*" in text
    assert check.sentence in text
    assert check.fix in text


def test_every_option_and_output_is_documented() -> None:
    program: Any = typer.main.get_command(app)
    options = [name for one in program.commands["scan"].params for name in one.opts if name.startswith("-")]
    assert "--as-if-installed" in options
    assert [name for name in options if not re.search(rf"`{name}( \w+(=\w+)?)?`", PAGE)] == []
    assert [output.value for output in Output if f"`{output.value}`" not in PAGE] == []


def test_every_outcome_and_severity_is_documented() -> None:
    assert [outcome.value for outcome in Outcome if f"| `{outcome.value}` |" not in PAGE] == []
    assert list(MEANINGS) == list(Outcome)
    assert [severity.value for severity in Severity if f"`{severity.value}`" not in PAGE] == []


def test_every_member_of_the_report_is_documented() -> None:
    def members(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {name for one in value.values() for name in members(one)}
        return {name for one in value for name in members(one)} if isinstance(value, list) else set()

    warned = pod("p", SHARE, metadata={"annotations": {"hami.io/gpu-scheduler-policy": "spread"}})
    report = to_json(scanned(labelled("team", {}), warned, node("old", gpu="8"), unread=["webhooks"]))
    assert all(report[name] for name in ("workloads", "devices", "hazards", "reasons", "unknown", "unread"))
    assert [name for name in members(report) - {outcome.value for outcome in Outcome} if f'"{name}"' not in PAGE] == []
    assert GPU in PAGE
