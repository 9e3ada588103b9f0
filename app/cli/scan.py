"""``scan``: what would happen to every workload of a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from app.cli.options import (
    REFUSED,
    UNREADABLE,
    USAGE,
    BackendOption,
    ConfigOption,
    ContextOption,
    KubeconfigOption,
    ProfileOption,
    SetOption,
    in_cluster,
    names,
    read_settings,
    with_choices,
)
from app.cli.terminal import Color, ColorOption, bar, coloured, say
from app.preview.explain import explain_console
from app.translate import Policy

if TYPE_CHECKING:
    from app.check.scan.reading import Progress as Listener
    from app.check.scan.report import ScanReport

EXAMPLES: Final = """\
Examples:

\b
  hami-dra-webhook scan                            all namespaces of the current context
  hami-dra-webhook scan -n team-a -n team-b        two of them
  hami-dra-webhook scan --html report.html         a page for people who were not there
  hami-dra-webhook scan --as-if-installed          what comes after the DRA driver is installed
  kubectl hami-dra scan -o json | jq .ready
"""


class Output(StrEnum):
    """What ``scan`` prints."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


def scan(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace. May be repeated."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to print.")] = Output.TABLE,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the report as a page that needs nothing else.")
    ] = None,
    as_if_installed: Annotated[
        bool,
        typer.Option("--as-if-installed", help="Take the DeviceClasses of the settings for existing."),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    config: ConfigOption = None,
    driver_profile: ProfileOption = None,
    backend: BackendOption = None,
    assignments: SetOption = None,
    color: ColorOption = Color.AUTO,
) -> None:
    """Shows what would happen to every workload of a cluster; reads only, with whatever rights there are.

    Without --config the settings are those of the installation, where there is one.

    Exit codes: 0 ready, 1 something is denied or blocks, 2 usage, 3 the cluster cannot be read.
    """
    overrides = in_cluster(kubeconfig, context, None) | {"driverProfiles": names(driver_profile)}
    settings = read_settings(config, overrides)

    def overlay(policy: Policy) -> Policy:
        return with_choices(policy, backend, assignments)

    overlay(settings.policy)  # what cannot be used at all is said before the cluster is asked
    from app.check.scan.reading import CannotReadError, NoSuchNamespaceError  # noqa: PLC0415 - the client is slow to import
    from app.check.scan.report import Scope  # noqa: PLC0415
    from app.check.scan.run import scan as scan_cluster  # noqa: PLC0415
    from app.cluster.connection import ConnectError  # noqa: PLC0415

    given = str(config) if config is not None else "command line" if driver_profile else None
    scope = Scope(tuple(dict.fromkeys(namespaces or ())), as_if_installed, given)
    try:
        with _progress() as listener:
            report = asyncio.run(scan_cluster(settings, scope, overlay, listener))
    except NoSuchNamespaceError as error:
        say(f"error: {error}")
        raise typer.Exit(USAGE) from error
    except (ConnectError, CannotReadError) as error:
        say(f"error: {error}")
        raise typer.Exit(UNREADABLE) from error
    _print(report, output, html, color)
    if not report.ready:
        raise typer.Exit(REFUSED)


def _print(report: ScanReport, output: Output, html: Path | None, color: Color) -> None:
    import orjson  # noqa: PLC0415 - as above

    from app.check.scan.render_html import render_html  # noqa: PLC0415
    from app.check.scan.render_json import to_json  # noqa: PLC0415
    from app.check.scan.render_table import print_report  # noqa: PLC0415

    if html is not None:
        try:
            html.write_text(render_html(report), encoding="utf-8")
        except OSError as error:
            say(f"error: --html {html}: {error.strerror}")
            raise typer.Exit(USAGE) from error
    if output is Output.TABLE:
        print_report(report, explain_console(terminal=sys.stdout.isatty(), coloured=coloured(color, sys.stdout)))
    elif output is Output.HTML:
        sys.stdout.buffer.write(render_html(report).encode())
    else:
        sys.stdout.buffer.write(orjson.dumps(to_json(report), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.flush()


@contextmanager
def _progress() -> Iterator[Listener | None]:
    """A bar on stderr where that is a terminal; the listener moves it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with bar(console) as progress:
        task = progress.add_task("reading", total=None)

        def listener(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield listener
