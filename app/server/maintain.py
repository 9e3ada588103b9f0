"""What ``certs status`` and ``certs rotate`` do, on the installation that the settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.cluster.certificates import CertificateApi
from app.cluster.connection import ConnectError, connect
from app.server.backend import own_namespace
from app.server.certificates import issuer
from app.server.errors import StartError
from app.settings import Settings
from certs.bundle import WebhookConfiguration
from certs.clock import ServerClock
from certs.keeper import AuthorityKeeper
from certs.status import Status, read_status
from certs.store import SecretStore
from certs.trust import Trust

_SECONDS = 10.0
"""For one call; a person waits."""


async def certificate_status(settings: Settings) -> Status:
    """What is there, and whether it fits.

    Raises:
        StartError: no cluster is configured, or its configuration cannot be used.
    """
    async with _api(settings) as api:
        return await read_status(
            _store(settings, api), WebhookConfiguration(api, settings.server.tls.webhook_configuration)
        )


async def rotate_certificates(settings: Settings, *, drop_old: bool) -> Trust:
    """Replace the CA in the Secret; running replicas do the rest.

    Raises:
        StartError: no cluster is configured, or its configuration cannot be used.
        certs.api.NotDone: the CA cannot be replaced, or not by a machine whose clock is this far off.
        certs.api.ApiProblem: the API server refuses or does not answer.
    """
    async with _api(settings) as api:
        making = issuer(settings.server.tls, own_namespace(settings.cluster))
        clock = ServerClock(api)
        await clock.compare()
        keeper = AuthorityKeeper(_store(settings, api), making)
        return await keeper.rotate(drop_old=drop_old, clock_problem=clock.problem)


def _store(settings: Settings, api: CertificateApi) -> SecretStore:
    return SecretStore(api, own_namespace(settings.cluster), settings.server.tls.secret_name)


@asynccontextmanager
async def _api(settings: Settings) -> AsyncIterator[CertificateApi]:
    try:
        connection = await connect(settings.cluster.kubeconfig, settings.cluster.context)
    except ConnectError as error:
        raise StartError([str(error)]) from error
    async with connection:
        yield CertificateApi(connection, seconds=_SECONDS)
