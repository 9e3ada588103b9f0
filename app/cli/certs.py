"""``certs``: looks at the self-signed certificates of an installation, and replaces them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from app.cli.options import (
    REFUSED,
    UNREADABLE,
    ConfigOption,
    ContextOption,
    JsonOption,
    KubeconfigOption,
    NamespaceOption,
    asked,
    in_cluster,
    read_settings,
)
from app.preview.printable import printable

app = typer.Typer(help="Looks at the self-signed certificates of an installation.", no_args_is_help=True)


@app.command()
def status(
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Shows the CA in the Secret, what API servers trust, whether they fit, and when the CA ends.

    Exit codes: 0 all fits, 1 something does not, 2 usage, 3 the cluster cannot be asked.
    """
    settings = read_settings(config, in_cluster(kubeconfig, context, namespace))
    from app.server.maintain import certificate_status  # noqa: PLC0415 - as in serve

    found = asked(certificate_status(settings))
    typer.echo(json.dumps(found.to_json(), indent=2) if as_json else _shown(found.lines()))
    if not found.ok:
        raise typer.Exit(UNREADABLE if found.unanswered else REFUSED)


@app.command()
def rotate(
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    drop_old: Annotated[
        bool,
        typer.Option(
            "--drop-old",
            help="Stop trusting the old CA, whose key has leaked; GPU pods may be refused for a few minutes.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Replaces the CA; running replicas take it over by themselves, and API servers trust both meanwhile.

    Exit codes: 0 replaced, 1 it cannot be, 2 usage, 3 the cluster cannot be asked.
    """
    settings = read_settings(config, in_cluster(kubeconfig, context, namespace))
    from app.server.maintain import rotate_certificates  # noqa: PLC0415 - as in serve
    from certs.status import trust_json, trust_lines  # noqa: PLC0415

    trust = asked(rotate_certificates(settings, drop_old=drop_old))
    if as_json:
        typer.echo(json.dumps(trust_json(trust), indent=2))
    else:
        typer.echo(_shown(trust_lines(trust)))


def _shown(lines: list[str]) -> str:
    return "\n".join(map(printable, lines))
