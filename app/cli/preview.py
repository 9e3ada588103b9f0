"""``preview``: shows what manifests become, without a cluster."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from app.cli.options import REFUSED, UNREADABLE, ConfigOption, ProfileOption, names, read_settings
from app.preview.converted import convert
from app.preview.diff import render_diff
from app.preview.examine import preview as examine
from app.preview.explain import explain_console, print_explanation
from app.preview.inputs import STDIN, collect
from app.preview.notes import notes, refusals
from app.preview.render import render_json, render_patches
from app.preview.report import Preview
from app.settings import Settings
from app.translate import Facts, facts_from_objects
from app.translate.facts import ASSUMED_CARD_SIZES_MIB


class Output(StrEnum):
    """What ``preview`` prints."""

    YAML = "yaml"
    JSON = "json"
    PATCH = "patch"
    DIFF = "diff"
    EXPLAIN = "explain"


def preview(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE|DIR|-]…", help="Manifests: files, directories, - for standard input (default)."),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="What to print; yaml is ready for kubectl apply -f -.")
    ] = Output.EXPLAIN,
    slices: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="ResourceSlices and DeviceClasses of the cluster. May be repeated."),
    ] = None,
    config: ConfigOption = None,
    driver_profile: ProfileOption = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Print yaml and patch although a document is refused or unreadable.")
    ] = False,
    recursive: Annotated[bool, typer.Option("--recursive", "-R", help="Read directories in directories, too.")] = False,
) -> None:
    """Shows what manifests become, without a cluster.

    Exit codes: 0 fine, 1 something is denied or invalid, 2 usage, 3 unreadable input.
    """
    if not inputs and sys.stdin.isatty():
        raise typer.BadParameter("give files or directories, or pipe manifests in", param_hint="FILE")
    settings = read_settings(config, {"driverProfiles": names(driver_profile)})
    facts = _facts(slices or [])
    with _without_collecting():
        sources = collect(inputs or [STDIN], sys.stdin.buffer, recursive=recursive)
        result = examine(sources, facts, settings.policy, own_namespace=settings.cluster.namespace)
        _print(result, output, settings, keep_going=keep_going)
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


def _print(result: Preview, output: Output, settings: Settings, *, keep_going: bool) -> None:
    if output is Output.EXPLAIN:
        print_explanation(result, settings.policy, explain_console(terminal=sys.stdout.isatty()))
        return
    for line in refusals(result):
        typer.echo(line, err=True)
    if output is Output.JSON:
        _write(render_json(result))
        return
    converted = convert(result)
    for line in notes(result, converted):
        typer.echo(line, err=True)
    if output is Output.DIFF:
        _write(render_diff(converted))
    elif result.refused and not keep_going:
        typer.echo("nothing is printed, since half of it applied is worse than none: see --keep-going", err=True)
    else:
        _write(converted.yaml() if output is Output.YAML else render_patches(result))


def _write(text: str) -> None:
    """Writes bytes: neither line ends nor the encoding of the terminal may change a manifest."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _facts(files: list[str]) -> Facts:
    """What ``--slices`` files say of the cluster; without any, common card sizes are assumed (S38)."""
    objects = []
    for source in collect(files, sys.stdin.buffer):
        for document in source.documents:
            if document.error is not None:
                typer.echo(f"error: --slices {source.name or STDIN}: {document.error}", err=True)
                raise typer.Exit(UNREADABLE)
            objects.append(document.value)
    try:
        known = facts_from_objects(objects, complete=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"--slices: not ResourceSlices as the API publishes them: {type(error).__name__} {error}"
        typer.echo(f"error: {text}; kubectl get resourceslices,deviceclasses -o yaml writes them", err=True)
        raise typer.Exit(UNREADABLE) from error
    return replace(known, assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
