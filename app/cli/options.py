"""What the commands share: options, exit codes, and how settings and answers of a cluster are had."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from app.cli.terminal import say
from app.preview.options import OptionsError, with_options
from app.settings import Settings, SettingsError, load_settings
from app.translate import Policy

REFUSED: Final = 1
"""The answer is no: something is denied, does not fit, is not ready."""
USAGE: Final = 2
UNREADABLE: Final = 3
"""There is no answer: an input or the cluster cannot be read."""
T = TypeVar("T")

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file (YAML), as in docs/settings.md.")
]
KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig; default: the pod's service account.")
]
ContextOption = Annotated[str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of the installation.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ProfileOption = Annotated[
    list[Path] | None,
    typer.Option("--driver-profile", metavar="FILE", help="Further driver profile (TOML). May be repeated."),
]

BackendOption = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="Driver profile to use in place of the settings' own.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Setting of the translation, for this run. May be repeated."),
]


def read_settings(config: Path | None, overrides: dict[str, object]) -> Settings:
    """The settings; ends the program where they cannot be used."""
    try:
        return load_settings(config, overrides)
    except SettingsError as error:
        say(f"error: {error}")
        raise typer.Exit(USAGE) from error


def with_choices(policy: Policy, backend: str | None, assignments: list[str] | None) -> Policy:
    """A policy changed as ``--backend`` and ``--set`` say; ends the program where they cannot be used."""
    try:
        return with_options(policy, backend, assignments or [])
    except OptionsError as error:
        for problem in error.problems:
            say(f"error: --{problem.option} {problem.key}: {problem.message}")
        raise typer.Exit(USAGE) from error


def in_cluster(kubeconfig: Path | None, context: str | None, namespace: str | None) -> dict[str, object]:
    """Where the cluster is, as settings."""
    return {"cluster": {"kubeconfig": name(kubeconfig), "context": context, "namespace": namespace}}


def asked(question: Coroutine[Any, Any, T]) -> T:
    """The answer of a cluster; ends the program where there is none."""
    from app.server.errors import StartError  # noqa: PLC0415 - the server takes a second to import, a preview needs none
    from certs.api import ApiProblem, NotDone  # noqa: PLC0415

    try:
        return asyncio.run(question)
    except (StartError, ApiProblem, NotDone) as error:
        say(f"error: {error}")
        raise typer.Exit(REFUSED if isinstance(error, NotDone) else UNREADABLE) from error


def name(path: Path | None) -> str | None:
    """A path as a settings value; None = not given."""
    return None if path is None else str(path)


def names(paths: list[Path] | None) -> list[str] | None:
    """Paths as a settings value; None = none given."""
    return [str(path) for path in paths] if paths else None
