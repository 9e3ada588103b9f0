"""``serve``: the webhook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import ConfigOption, ContextOption, KubeconfigOption, ProfileOption, name, names, read_settings


def serve(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate of the webhook (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Key of that certificate (PEM).")] = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address of the webhook listener.")] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port of the webhook listener; 0 = any free one.")
    ] = None,
    ops_host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of the listener for health and metrics.")
    ] = None,
    ops_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port of that listener; 0 = any free one.")
    ] = None,
    standalone: Annotated[
        bool | None, typer.Option("--standalone", help="Serve without a cluster: templates are kept in memory.")
    ] = None,
    driver_profile: ProfileOption = None,
) -> None:
    """Serves the webhook.

    Flags win over variables, and those over the settings file (docs/settings.md).

    Exit codes: 0 ended by a signal, 1 it cannot start or is stopped at once, 2 usage.
    """
    overrides: dict[str, object] = {
        "cluster": {"kubeconfig": name(kubeconfig), "context": context, "standalone": standalone},
        "server": {
            "host": host,
            "port": port,
            "opsHost": ops_host,
            "opsPort": ops_port,
            "tls": {"certFile": name(tls_cert), "keyFile": name(tls_key)},
        },
        "driverProfiles": names(driver_profile),
    }
    settings = read_settings(config, overrides)
    from app.server.run import serve as run  # noqa: PLC0415 - the server takes a second to import, a preview needs none

    raise typer.Exit(run(settings))
