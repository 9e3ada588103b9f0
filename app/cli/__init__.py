"""The command line, as ``hami-dra-webhook`` and as ``kubectl hami-dra``: one module for each command."""

from __future__ import annotations

import sys
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final

import typer

from app.cli import certs, preview, serve

DISTRIBUTION: Final = "hami-dra-webhook"

app = typer.Typer(
    help="Lets manifests written for legacy GPU resources run on Dynamic Resource Allocation, unchanged.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(preview.preview)
app.command()(serve.serve)
app.add_typer(certs.app, name="certs")


@app.command()
def version() -> None:
    """Prints the version."""
    typer.echo(f"{DISTRIBUTION} {package_version(DISTRIBUTION)}")


def main() -> None:
    """Entry point of both program names."""
    called = Path(sys.argv[0]).name
    app(prog_name="kubectl hami-dra" if called.startswith("kubectl-") else DISTRIBUTION)
