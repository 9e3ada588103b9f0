"""Finds the cluster: a kubeconfig, or the service account of the pod we run in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import list_kube_config_contexts, load_incluster_config, load_kube_config

from app.cluster.api import Connection
from app.cluster.observer import NO_OBSERVER, StoreObserver


class ConnectError(Exception):
    """No cluster is configured, or its configuration cannot be used; the text says what was tried."""


async def connect(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    seconds: float = 10.0,
    observer: StoreObserver = NO_OBSERVER,
    environ: Mapping[str, str] = os.environ,
) -> Connection:
    """Open a connection; no request is sent yet.

    Looks, like controller-runtime, at: the given kubeconfig, ``$KUBECONFIG``, the pod's service account,
    ``~/.kube/config``. A context is looked for in kubeconfigs only. ``seconds`` is what one request may take where a
    call does not say otherwise.

    Raises:
        ConnectError: nothing found, or what was found cannot be used.
    """
    configuration = Configuration()
    # Python 3.13 checks certificates more strictly than Go does, and refuses CAs that kubeadm and others made.
    configuration.disable_strict_ssl_verification = True
    files = _kubeconfig(kubeconfig, environ)
    home = Path.home() / ".kube" / "config"
    in_pod = bool(environ.get("KUBERNETES_SERVICE_HOST")) and context is None
    if not files and not in_pod and home.exists():
        files = str(home)
    if not files and not in_pod:
        raise ConnectError(
            f"no cluster to connect to: $KUBECONFIG is not set, {home} does not exist, and this is not a pod "
            "($KUBERNETES_SERVICE_HOST is not set); give a kubeconfig, or run standalone"
        )
    try:
        if files:
            await load_kube_config(files, context, configuration, persist_config=False)  # type: ignore[no-untyped-call]
        else:
            load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        client = ApiClient(configuration)
    except Exception as error:  # the client trips over a bad file in many ways, TypeError and ssl.SSLError among them
        if files:
            raise ConnectError(f"kubeconfig {files} cannot be used: {_why(files, context, error)}") from error
        raise ConnectError(f"the pod's service account cannot be used: {error}") from error
    client.user_agent = "hami-dra-webhook"
    return Connection(client, seconds=seconds, observer=observer)


def _kubeconfig(given: Path | None, environ: Mapping[str, str]) -> str:
    """The kubeconfig files that somebody named, in the form of ``$KUBECONFIG``; empty when nobody did."""
    if given is not None:
        if not given.is_file():
            raise ConnectError(f"kubeconfig {given} does not exist")
        return str(given)
    named = environ.get("KUBECONFIG", "")
    if named and not any(Path(part).expanduser().is_file() for part in named.split(os.pathsep) if part):
        raise ConnectError(f"$KUBECONFIG names {named}, which does not exist")
    return named


def _why(files: str, context: str | None, error: Exception) -> str:
    """The reason, with the contexts that exist when the one asked for does not."""
    if context is not None:
        try:
            contexts, _ = list_kube_config_contexts(files)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001  then the file itself is the problem, and the first error says so
            return str(error)
        names = [c["name"] for c in contexts]
        if context not in names:
            return f"it has no context {context!r}; it has: {', '.join(names)}"
    return str(error) or type(error).__name__
