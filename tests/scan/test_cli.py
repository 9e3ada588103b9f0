"""The command line of the scan, as far as it needs no cluster."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from app import cli
from app.check.health.finding import fail, ok, unknown
from app.check.scan.run import source_of

ROOT = Path(__file__).parents[2]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["scan", *(str(argument) for argument in arguments)])


@pytest.fixture
def nobody(tmp_path: Path) -> Path:
    """A kubeconfig whose server does not answer."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def test_a_cluster_that_does_not_answer_is_exit_code_3(nobody: Path) -> None:
    result = run("--kubeconfig", nobody)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error: the Kubernetes API at https://127.0.0.1:1 cannot be reached")


def test_settings_that_cannot_be_read_are_named() -> None:
    assert source_of(ok("ConfigMap a/b")) == "ConfigMap a/b"
    assert source_of(unknown("the defaults are assumed", "no Deployment in a")) == "defaults: no Deployment in a"
    assert source_of(fail("ConfigMap a/b is odd", "no start", "")) == "defaults: ConfigMap a/b is odd"


def test_a_kubeconfig_or_context_that_is_not_there_is_exit_code_3(nobody: Path) -> None:
    assert "does not exist" in run("--kubeconfig", nobody.with_name("none")).stderr
    result = run("--kubeconfig", nobody, "--context", "y")
    assert result.exit_code == 3
    assert "it has no context 'y'; it has: x" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--set", "defaultMemry=1"), "error: --set defaultMemry: "),
        (("--backend", "hami"), "error: --backend hami: there is no such backend"),
        (("-o", "yaml"), "'yaml' is not one of"),
    ],
)
def test_options_that_cannot_be_used_are_exit_code_2(nobody: Path, arguments: tuple[str, ...], text: str) -> None:
    result = run("--kubeconfig", nobody, *arguments)
    assert result.exit_code == 2
    assert text in result.stderr


def test_a_terminal_sees_how_far_the_reading_is(nobody: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "app", "scan", "--kubeconfig", str(nobody)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # how Linux says that the other side has closed its terminal
            pass
        os.close(ours)
    assert process.returncode == 3
    assert b"reading" in shown
