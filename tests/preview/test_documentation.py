"""The page about the preview names everything there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from app.cli import app
from app.cli.preview import Output
from app.preview import Outcome
from app.preview.documents import MAX_BYTES, MAX_DOCUMENTS
from app.preview.errors import STATUS, Code
from app.preview.kinds import BUILT_IN
from app.preview.nodes import MAX_DEPTH, MAX_EXPANDED, MAX_NODES
from app.preview.openapi import preview_description
from app.preview.wanted import Output as Requested
from tests.preview.inputs import pod, shown

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "preview.md").read_text()
SOURCES = "".join(
    path.read_text()
    for path in (*(ROOT / "app" / "preview").glob("*.py"), ROOT / "app" / "server" / "ops.py")
    if path.name != "errors.py"
)


@pytest.mark.parametrize("code", list(Code))
def test_every_error_is_documented_and_used(code: Code) -> None:
    assert f"`{code.value}`" in PAGE
    assert f"Code.{code.name}" in SOURCES


def test_every_error_of_a_request_is_documented_with_its_status() -> None:
    rows = dict.fromkeys(
        (status, code)
        for line in PAGE.splitlines()
        if (found := re.match(r"\| ([\d, ]+) \| ((?:`[a-z-]+`(?:, )?)+) \|", line)) is not None
        for status in found[1].split(", ")
        for code in re.findall(r"`([a-z-]+)`", found[2])
    )
    assert [code.value for code, status in STATUS.items() if (str(status), code.value) not in rows] == []


def test_every_option_of_a_request_is_documented() -> None:
    options = PAGE.partition("## Over HTTP")[2]
    names = [one["name"] for one in preview_description()["openapi_extra"]["parameters"]]
    assert [name for name in names if not re.search(rf"`{name}[`=]", options)] == []
    assert [output.value for output in Requested if f"| `{output.value}` |" not in options] == []


def test_every_option_and_output_is_documented() -> None:
    program: Any = typer.main.get_command(app)
    options = [name for one in program.commands["preview"].params for name in one.opts if name.startswith("-")]
    assert "--slices" in options
    assert [name for name in options if not re.search(rf"`{name}( \w+)?`", PAGE)] == []
    assert [output.value for output in Output if f"`{output.value}`" not in PAGE] == []


def test_every_member_of_the_report_is_documented() -> None:
    def members(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {name for one in value.values() for name in members(one)}
        return {name for one in value for name in members(one)} if isinstance(value, list) else set()

    (item,) = shown(yaml.safe_dump(pod())).report()["items"]
    own = {name: item[name] for name in item if name not in ("pod", "object", "templates", "patch")}
    assert [name for name in members(own) | set(item) if f'"{name}"' not in PAGE] == []
    assert [outcome.value for outcome in Outcome if f"`{outcome.value}`" not in PAGE] == []


def test_kinds_and_limits_are_documented() -> None:
    assert [kind for _, kind in BUILT_IN if kind not in PAGE] == []
    text = " ".join(PAGE.split())
    assert f"At most {MAX_BYTES >> 20} MiB, {MAX_DOCUMENTS:,} documents and {MAX_NODES:,} values per input" in text
    assert f"{MAX_DEPTH} collections inside each other" in text
    assert f"{MAX_EXPANDED >> 20} MiB once aliases are written out" in text
