"""The command line explains itself: in its help, in ``docs/cli.md``, and when a shell asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.cli import app, complete, program
from docs import generate_cli

DOCS = Path(__file__).parents[2] / "docs"
BIN = Path(sys.executable).parent


def commands(group: Any, *before: str) -> list[tuple[str, ...]]:
    """The words of each command."""
    return [
        path
        for word, one in group.commands.items()
        for path in (commands(one, *before, word) if hasattr(one, "commands") else [(*before, word)])
    ]


COMMANDS = commands(get_command(app))


def found(words: tuple[str, ...]) -> Any:
    """The command of these words."""
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    return command


def test_the_reference_is_the_generated_one() -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == generate_cli.page(), "run: python docs/generate_cli.py"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_has_its_options_and_exit_codes_in_the_reference(
    words: tuple[str, ...],
) -> None:
    page = generate_cli.page()
    section = page.partition(f"## `hami-dra-webhook {' '.join(words)}`\n")[2].partition("\n## ")[0]
    assert "| 0 | " in section
    missing = [name for one in found(words).params for name in one.opts if name.startswith("-") and name not in section]
    assert missing == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_says_what_every_option_and_exit_code_means(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*words, "-h"])
    assert (result.exit_code, "Exit codes: 0" in result.stdout) == (0, True)
    assert [one.name for one in found(words).params if len(one.help or "") < 10] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pre"], ["preview"]),
        (["preview", "--out"], ["--output"]),
        (["preview", "-o", ""], ["yaml", "json", "patch", "diff", "explain"]),
        (["preview", "-o", "ya"], ["yaml"]),
        (["preview", "my file.yaml", "--colo"], ["--color"]),
        (["preview", ""], []),
        (["preview", "--slices", ""], []),
        (["certs", ""], ["status", "rotate"]),
    ],
)
def test_kubectl_is_told_what_can_follow_and_to_propose_files_else(
    words: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-hami_dra", *words])
    monkeypatch.setattr("os.environ", dict(os.environ))
    with pytest.raises(SystemExit):
        complete.main()
    *proposals, last = [line for line in capsys.readouterr().out.splitlines() if line]
    assert [line.partition("\t")[0] for line in proposals] == expected
    assert last == ":0"


def test_the_completion_of_kubectl_is_installed_beside_the_plugin() -> None:
    result = subprocess.run(
        [BIN / "kubectl_complete-hami_dra", "preview", "-o", "d"], capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == ["diff", ":0"]


def test_bash_completes_the_program_with_the_script_that_it_shows() -> None:
    script = r"""
        source <(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 hami-dra-webhook --show-completion bash)
        COMP_WORDS=(hami-dra-webhook preview -o "") COMP_CWORD=3
        $(complete -p hami-dra-webhook | sed 's/.*-F \([^ ]*\) .*/\1/') hami-dra-webhook
        echo "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.split() == ["yaml", "json", "patch", "diff", "explain"], result.stderr


def test_the_plugin_leaves_completion_to_kubectl() -> None:
    """A script for "kubectl hami-dra" would take kubectl's own completion away."""
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
    plugin = program(completes=False)
    assert "--install-completion" not in CliRunner().invoke(plugin, ["--help"]).stdout
    assert CliRunner().invoke(plugin, ["--show-completion"]).exit_code == 2
