"""``check``: is this installation healthy?"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import typer

from app.check.health.report import CheckReport, print_report
from app.cli.options import (
    REFUSED,
    UNREADABLE,
    ConfigOption,
    ContextOption,
    JsonOption,
    KubeconfigOption,
    NamespaceOption,
    in_cluster,
    read_settings,
)
from app.cli.terminal import Color, ColorOption, coloured, say
from app.preview.explain import explain_console
from app.settings import Settings


def check(
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
    color: ColorOption = Color.AUTO,
) -> None:
    """Looks whether this installation is healthy, and says what to do where it is not; changes nothing.

    Without --config the settings are those that the installation runs with.

    Exit codes: 0 nothing fails, 1 something does, 2 usage, 3 the cluster cannot be asked.
    """
    settings = None if config is None else read_settings(config, in_cluster(kubeconfig, context, namespace))
    report = asyncio.run(_report(settings, config, kubeconfig, context, namespace))
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        print_report(report, explain_console(terminal=sys.stdout.isatty(), coloured=coloured(color, sys.stdout)))
    if report.failed:
        raise typer.Exit(REFUSED)


async def _report(
    settings: Settings | None, config: Path | None, kubeconfig: Path | None, context: str | None, namespace: str | None
) -> CheckReport:
    from app.check.health.run import check_health  # noqa: PLC0415 - the Kubernetes client takes half a second to import
    from app.cluster.api import ApiError, Unreachable  # noqa: PLC0415
    from app.cluster.connection import ConnectError, connect  # noqa: PLC0415

    if settings is not None:
        kubeconfig, context = settings.cluster.kubeconfig, settings.cluster.context
        namespace = settings.cluster.namespace
    try:
        async with await connect(kubeconfig, context) as connection:
            return await check_health(connection, namespace, settings, str(config))
    except (ConnectError, Unreachable, ApiError) as error:
        say(f"error: {error}")
        raise typer.Exit(UNREADABLE) from error
