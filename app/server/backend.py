"""Where templates go and facts come from: a cluster, or the memory of a standalone server."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.cluster.memory import MemoryTemplateStore
from app.cluster.store import TemplateStore
from app.server.errors import StartError
from app.server.facts import FactsHolder, follow
from app.server.metrics import Metrics
from app.server.tasks import BackgroundTasks
from app.settings import Cluster
from app.translate import Facts, Policy
from certs.api import Api

_POD_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True)
class Backend:
    """The store, and what stands behind it."""

    store: TemplateStore
    close: Callable[[], Awaitable[None]]
    namespace: str
    """Of this installation."""
    certificate_api: Api | None = None
    """For a CA that replicas share; None without a cluster."""


async def open_backend(
    settings: Cluster, policy: Policy, facts: FactsHolder, tasks: BackgroundTasks, metrics: Metrics
) -> Backend:
    """Open what the settings name, and start what keeps it going.

    Raises:
        StartError: no cluster is configured, or its configuration cannot be used. A cluster that does not answer is no
            such error: the server waits for it, not ready.
    """
    if settings.standalone:
        facts.update(Facts(), ["standalone, so nothing is known of any cluster"])
        return Backend(MemoryTemplateStore(observer=metrics), _nothing_to_close, own_namespace(settings))
    return await _open_cluster(settings, policy, facts, tasks, metrics)


async def _open_cluster(
    settings: Cluster, policy: Policy, facts: FactsHolder, tasks: BackgroundTasks, metrics: Metrics
) -> Backend:
    # The Kubernetes client takes half a second and 40 MiB, which a standalone server does not pay for.
    from app.cluster.certificates import CertificateApi  # noqa: PLC0415
    from app.cluster.connection import ConnectError, connect  # noqa: PLC0415
    from app.cluster.facts import read_facts  # noqa: PLC0415
    from app.cluster.recover import put_back_missing  # noqa: PLC0415
    from app.cluster.sweeper import Sweeper  # noqa: PLC0415
    from app.cluster.templates import ApiTemplateStore  # noqa: PLC0415

    try:
        connection = await connect(settings.kubeconfig, settings.context, observer=metrics)
    except ConnectError as error:
        raise StartError([str(error)]) from error
    namespace = own_namespace(settings)
    grace_period = timedelta(seconds=settings.grace_period_seconds)
    store = ApiTemplateStore(
        connection,
        grace_period=grace_period,
        request_timeout=timedelta(seconds=settings.request_timeout_seconds),
        observer=metrics,
    )
    sweeper = Sweeper(
        connection,
        namespace=namespace,
        identity=f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}",
        grace_period=grace_period,
        observer=metrics,
    )
    await store.start()
    tasks.start("facts", follow(lambda: read_facts(connection, namespace=namespace), facts))

    async def recover() -> None:
        await store.wait_synced()
        await facts.until_known()
        await put_back_missing(connection, store, facts.current(), policy)

    tasks.start("recover", recover(), vital=False)
    tasks.start("sweeper", sweeper.run(), vital=False)

    async def close() -> None:
        await store.close()
        await connection.close()

    return Backend(store, close, namespace, CertificateApi(connection, seconds=settings.request_timeout_seconds))


def own_namespace(settings: Cluster) -> str:
    """Namespace of this installation."""
    if settings.namespace is not None:
        return settings.namespace
    try:
        return _POD_NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return "default"


async def _nothing_to_close() -> None:
    """Memory needs no goodbye."""
