"""``preview``: shows what manifests become, without a cluster."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from app.cli.known import from_cluster, from_files
from app.cli.options import (
    REFUSED,
    UNREADABLE,
    BackendOption,
    ConfigOption,
    ProfileOption,
    SetOption,
    names,
    read_settings,
    with_choices,
)
from app.cli.terminal import Color, ColorOption, accented, coloured, say, track
from app.preview.converted import convert
from app.preview.diff import painted, render_diff
from app.preview.examine import preview as examine
from app.preview.explain import explain_console, print_explanation
from app.preview.inputs import STDIN, collect
from app.preview.notes import notes, refusals
from app.preview.render import render_json, render_patches
from app.preview.report import Preview

EXAMPLES: Final = """\
Examples:

\b
  hami-dra-webhook preview server.yaml           what becomes of it, and why
  hami-dra-webhook preview -o diff manifests/    what changes in the files
  hami-dra-webhook preview -o yaml server.yaml | kubectl apply -f -
  helm template my-chart | hami-dra-webhook preview -
  kubectl kustomize overlays/prod | kubectl hami-dra preview -
"""


class Output(StrEnum):
    """What ``preview`` prints."""

    YAML = "yaml"
    JSON = "json"
    PATCH = "patch"
    DIFF = "diff"
    EXPLAIN = "explain"


def preview(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|DIR|-", help="Manifests: files, directories, - for standard input (default)."),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="What to print; yaml is ready for kubectl apply -f -.")
    ] = Output.EXPLAIN,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="ResourceSlices, DeviceClasses, ResourceClaims and Nodes of the cluster. May be repeated.",
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read these from the cluster of a kubeconfig.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Read these from the cluster of a context.")
    ] = None,
    config: ConfigOption = None,
    driver_profile: ProfileOption = None,
    backend: BackendOption = None,
    assignments: SetOption = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Print yaml and patch although a document is refused or unreadable.")
    ] = False,
    recursive: Annotated[bool, typer.Option("--recursive", "-R", help="Read directories in directories, too.")] = False,
    color: ColorOption = Color.AUTO,
) -> None:
    """Shows what manifests become, without a cluster.

    Exit codes: 0 fine, 1 something is denied or invalid, 2 usage, 3 unreadable input.
    """
    if not inputs and sys.stdin.isatty():
        raise typer.BadParameter("give files or directories, or pipe manifests in", param_hint="FILE")
    settings = read_settings(config, {"driverProfiles": names(driver_profile)})
    policy = with_choices(settings.policy, backend, assignments)
    if slices and (kubeconfig or context):
        raise typer.BadParameter("give files or a cluster, not both", param_hint="--slices")
    known = from_cluster(kubeconfig, context) if kubeconfig or context else from_files(slices or [])
    with _without_collecting():
        sources = collect(inputs or [STDIN], sys.stdin.buffer, recursive=recursive, track=track)
        result = examine(
            sources,
            known.facts,
            policy,
            own_namespace=settings.cluster.namespace,
            track=track,
            inventory=known.inventory,
            nearby=known.nearby,
        )
        _print(result, output, color, keep_going=keep_going)
    if result.refused:
        raise typer.Exit(UNREADABLE if result.unreadable else REFUSED)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """A preview holds a tree for each document and makes no cycles: collecting doubles the time of a large input."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _print(result: Preview, output: Output, color: Color, *, keep_going: bool) -> None:
    if output is Output.EXPLAIN:
        console = explain_console(terminal=sys.stdout.isatty(), coloured=coloured(color, sys.stdout))
        print_explanation(result, console)
        return
    _say(refusals(result), color)
    if output is Output.JSON:
        _write(render_json(result))
        return
    converted = convert(result)
    _say(notes(result, converted), color)
    if output is Output.DIFF:
        diff = render_diff(converted, Path.cwd())
        _write(painted(diff) if coloured(color, sys.stdout) else diff)
    elif result.refused and not keep_going:
        say("nothing is printed, since half of it applied is worse than none: see --keep-going")
    else:
        _write(converted.yaml() if output is Output.YAML else render_patches(result))


def _say(lines: Iterable[str], color: Color) -> None:
    """Prints lines on stderr."""
    paint = coloured(color, sys.stderr)
    for line in lines:
        typer.echo(accented(line) if paint else line, err=True, color=paint)


def _write(text: str) -> None:
    """Writes bytes: neither line ends nor the encoding of the terminal may change a manifest."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
