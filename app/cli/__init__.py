"""The command line, as ``hami-dra-webhook`` and as ``kubectl hami-dra``: one module for each command."""

from __future__ import annotations

import sys
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final

import typer

from app.cli import certs, check, preview, scan, serve

DISTRIBUTION: Final = "hami-dra-webhook"
PLUGIN: Final = "kubectl hami-dra"


def version() -> None:
    """Prints the version.

    Exit codes: 0 always.
    """
    typer.echo(f"{DISTRIBUTION} {package_version(DISTRIBUTION)}")


def program(*, completes: bool = True) -> typer.Typer:
    """All commands.

    Args:
        completes: it installs its own shell completion. kubectl completes its plugins, see :mod:`app.cli.complete`.
    """
    built = typer.Typer(
        help="Lets manifests written for legacy GPU resources run on Dynamic Resource Allocation, unchanged.",
        no_args_is_help=True,
        add_completion=completes,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain text, as the help of kubectl: it can be searched and piped
    )
    built.command(epilog=preview.EXAMPLES)(preview.preview)
    built.command()(serve.serve)
    built.command()(check.check)
    built.command(epilog=scan.EXAMPLES)(scan.scan)
    built.command()(version)
    built.add_typer(certs.app, name="certs")
    return built


app: Final = program()


def main() -> None:
    """Entry point of both program names."""
    plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    called = program(completes=False) if plugin else app
    called(prog_name=PLUGIN if plugin else DISTRIBUTION)
