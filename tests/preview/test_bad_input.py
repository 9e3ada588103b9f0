"""What the command line says of inputs that cannot be read; the endpoint's tests ask it for the same ones."""

from __future__ import annotations

import orjson
import pytest
from typer.testing import CliRunner, Result

from app import cli
from tests.preview.bad import BAD, Bad


def run(bad: Bad, output: str) -> Result:
    return CliRunner().invoke(cli.app, ["preview", "-", "-o", output], input=bad.text)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_the_report_says_where_and_what_to_do_and_holds_the_other_documents(bad: Bad) -> None:
    result = run(bad, "json")
    report = orjson.loads(result.stdout)
    reasons = [item["reasons"][0] for item in report["items"] if item["outcome"] == "invalid"]
    found = [(one["code"], one["line"], one["column"] if bad.column else None) for one in reasons]
    assert found[:1] == [(bad.code, bad.line, bad.column)]
    assert bad.hint in (reasons[0]["hint"] or "")
    assert report["summary"]["converted"] == bad.converted
    assert result.exit_code == (1 if bad.code == "not-a-manifest" else 3)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
@pytest.mark.parametrize("output", ["yaml", "patch"])
def test_nothing_is_printed_that_could_be_applied(bad: Bad, output: str) -> None:
    result = run(bad, output)
    assert result.stdout == ""
    assert "half of it applied is worse than none" in result.stderr


def test_an_empty_input_is_an_empty_report() -> None:
    for text in (b"", b"\n\n", b"---\n---\n", b"# nothing\n"):
        result = CliRunner().invoke(cli.app, ["preview", "-", "-o", "json"], input=text)
        assert (result.exit_code, orjson.loads(result.stdout)["items"]) == (0, [])
