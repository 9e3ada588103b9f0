"""The command line, as ``hami-dra-webhook`` and as ``kubectl hami-dra``.

Exit codes of ``preview``: 0 fine, 1 something is denied or invalid, 2 usage, 3 unreadable input. Of ``certs``: 0 fine,
1 something does not fit or cannot be done, 2 usage, 3 the cluster cannot be asked.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from app.preview.converted import convert
from app.preview.diff import render_diff
from app.preview.examine import preview as examine
from app.preview.explain import explain_console, print_explanation
from app.preview.inputs import STDIN, collect
from app.preview.notes import notes, refusals
from app.preview.render import render_json, render_patches
from app.preview.report import Preview
from app.settings import Settings, SettingsError, load_settings
from app.translate import Facts, facts_from_objects
from app.translate.facts import ASSUMED_CARD_SIZES_MIB

DISTRIBUTION: Final = "hami-dra-webhook"
REFUSED, USAGE, UNREADABLE = 1, 2, 3
T = TypeVar("T")

app = typer.Typer(
    help="Lets manifests written for legacy GPU resources run on Dynamic Resource Allocation, unchanged.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


certs_app = typer.Typer(help="Looks at the self-signed certificates of an installation.", no_args_is_help=True)
app.add_typer(certs_app, name="certs")


class Output(StrEnum):
    """What ``preview`` prints."""

    YAML = "yaml"
    JSON = "json"
    PATCH = "patch"
    DIFF = "diff"
    EXPLAIN = "explain"


ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file (YAML), as in docs/settings.md.")
]
KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig; default: the pod's service account.")
]
ContextOption = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig.")]
NamespaceOption = Annotated[str | None, typer.Option("--namespace", "-n", help="Namespace of the installation.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ProfileOption = Annotated[
    list[Path] | None,
    typer.Option("--driver-profile", metavar="FILE", help="Further driver profile (TOML). May be repeated."),
]


@app.command()
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
    settings = _settings(config, {"driverProfiles": _names(driver_profile)})
    facts = _facts(slices or [])
    with _without_collecting():
        sources = collect(inputs or [STDIN], sys.stdin.buffer, recursive=recursive)
        result = examine(sources, facts, settings.policy, own_namespace=settings.cluster.namespace)
        _print(result, output, settings, keep_going=keep_going)
    if result.refused:
        raise typer.Exit(UNREADABLE if result.unreadable else REFUSED)


@app.command()
def serve(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate of the webhook (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Key of that certificate (PEM).")] = None,
    host: Annotated[str | None, typer.Option(help="Address of the webhook listener.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the webhook listener; 0 = any free one.")] = None,
    ops_host: Annotated[str | None, typer.Option(help="Address of the listener for health and metrics.")] = None,
    ops_port: Annotated[int | None, typer.Option(help="Port of that listener; 0 = any free one.")] = None,
    standalone: Annotated[
        bool | None, typer.Option("--standalone", help="Serve without a cluster: templates are kept in memory.")
    ] = None,
    driver_profile: ProfileOption = None,
) -> None:
    """Serves the webhook."""
    overrides: dict[str, object] = {
        "cluster": {"kubeconfig": _name(kubeconfig), "context": context, "standalone": standalone},
        "server": {
            "host": host,
            "port": port,
            "opsHost": ops_host,
            "opsPort": ops_port,
            "tls": {"certFile": _name(tls_cert), "keyFile": _name(tls_key)},
        },
        "driverProfiles": _names(driver_profile),
    }
    settings = _settings(config, overrides)
    from app.server.run import serve as run  # noqa: PLC0415 - the server takes a second to import, a preview needs none

    raise typer.Exit(run(settings))


@certs_app.command()
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
    settings = _settings(config, _cluster(kubeconfig, context, namespace))
    from app.server.maintain import certificate_status  # noqa: PLC0415 - as in serve

    found = _asked(certificate_status(settings))
    typer.echo(json.dumps(found.to_json(), indent=2) if as_json else "\n".join(found.lines()))
    if not found.ok:
        raise typer.Exit(UNREADABLE if found.unanswered else REFUSED)


@certs_app.command()
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
    settings = _settings(config, _cluster(kubeconfig, context, namespace))
    from app.server.maintain import rotate_certificates  # noqa: PLC0415 - as in serve
    from certs.status import trust_json, trust_lines  # noqa: PLC0415

    trust = _asked(rotate_certificates(settings, drop_old=drop_old))
    if as_json:
        typer.echo(json.dumps(trust_json(trust), indent=2))
    else:
        typer.echo("\n".join(trust_lines(trust)))


@app.command()
def version() -> None:
    """Prints the version."""
    typer.echo(f"{DISTRIBUTION} {package_version(DISTRIBUTION)}")


def main() -> None:
    """Entry point of both program names."""
    called = Path(sys.argv[0]).name
    app(prog_name="kubectl hami-dra" if called.startswith("kubectl-") else DISTRIBUTION)


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


def _cluster(kubeconfig: Path | None, context: str | None, namespace: str | None) -> dict[str, object]:
    return {"cluster": {"kubeconfig": _name(kubeconfig), "context": context, "namespace": namespace}}


def _asked(question: Coroutine[Any, Any, T]) -> T:
    """The answer of a cluster; ends the program where there is none."""
    from app.server.errors import StartError  # noqa: PLC0415 - as in serve
    from certs.api import ApiProblem, NotDone  # noqa: PLC0415

    try:
        return asyncio.run(question)
    except (StartError, ApiProblem, NotDone) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(REFUSED if isinstance(error, NotDone) else UNREADABLE) from error


def _settings(config: Path | None, overrides: dict[str, object]) -> Settings:
    try:
        return load_settings(config, overrides)
    except SettingsError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(USAGE) from error


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


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _names(paths: list[Path] | None) -> list[str] | None:
    return [str(path) for path in paths] if paths else None
