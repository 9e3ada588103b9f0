"""Writes ``docs/cli.md`` from the program's own commands and their help: ``python docs/generate_cli.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from app.cli import DISTRIBUTION, app

TARGET = Path(__file__).with_name("cli.md")

INTRODUCTION = """\
# Command line

<!-- Written by docs/generate_cli.py from the help of the program; change that, not this. -->

The program is installed as `hami-dra-webhook` and, with the same commands, as the kubectl plugin `kubectl hami-dra`.

**Completion.** `hami-dra-webhook --install-completion` sets it up for bash, zsh, fish or PowerShell. kubectl completes
`kubectl hami-dra` by itself (`kubectl completion --help`): the package brings `kubectl_complete-hami_dra`.

**Colours** appear on terminals only. `NO_COLOR=1` turns them off, and `--color always` on, for a pager:
`hami-dra-webhook preview --color always -o diff manifests/ | less -R`. Long runs show a progress bar on standard error,
on terminals only.

**Output** goes to standard output; errors, warnings and notes to standard error, so that pipes stay clean. What
is printed for people spells out whatever a terminal would obey in texts of manifests and clusters (`\\x1b`).
"""

_EXIT_CODES = re.compile(r"Exit codes: (.+)\.", re.DOTALL)
_EXIT_CODE = re.compile(r"(\d) ((?:(?!, \d ).)+)", re.DOTALL)
_LIST = " <list[str]>"
"""What the help says of every repeated argument; its dots say it already."""
_DEFAULT = re.compile(r"\s*\[default: (.*)\]$")


def page() -> str:
    """The whole document."""
    return "\n".join([INTRODUCTION, *_sections(get_command(app), DISTRIBUTION, None)])


def _sections(command: Any, name: str, parent: Any) -> Iterator[str]:
    """A section for the command, or one for each command of a group."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    if commands := getattr(command, "commands", None):
        for word, one in commands.items():
            yield from _sections(one, word, context)
        return
    text, codes = _help(command.help)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## `{context.command_path}`\n\n```console\n$ {context.command_path} {usage}\n```\n\n{text}\n"
    rows = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
    yield "".join(f"- `{left.removesuffix(_LIST)}`: {_meaning(right)}\n" for left, right in rows)
    yield "| exit code | meaning |\n| --- | --- |\n" + "".join(f"| {code} | {what} |\n" for code, what in codes)
    if command.epilog:
        title, _, lines = command.epilog.partition("\n\n\b\n")
        yield f"{title}\n\n```console\n{_outdented(lines)}```\n"


def _help(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The paragraphs of a help text, and its exit codes with their meaning."""
    found = _EXIT_CODES.search(text)
    codes = _EXIT_CODE.findall(" ".join(found[1].split())) if found else []
    return _EXIT_CODES.sub("", text).strip(), codes


def _meaning(text: str) -> str:
    default = _DEFAULT.search(text)
    return f"{_DEFAULT.sub('', text)} Default: `{default[1]}`." if default else text


def _outdented(lines: str) -> str:
    return "".join(f"$ {line.strip()}\n" for line in lines.splitlines())


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
