"""Chooses where the certificate comes from, by the settings, and tells what readiness asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from app.server.errors import StartError
from app.server.health import Check
from app.server.metrics import Metrics
from app.settings import Tls
from certs.api import Api
from certs.bundle import WebhookConfiguration
from certs.clock import ServerClock
from certs.files import FileSource
from certs.issue import Issuer, service_names
from certs.keeper import AuthorityKeeper
from certs.local import LocalSource
from certs.pair import CertificateError
from certs.reasons import Renewals
from certs.shared import SharedSource
from certs.source import CertificateSource
from certs.store import SecretStore

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


async def open_source(
    tls: Tls, api: Api | None, namespace: str, metrics: Metrics
) -> tuple[CertificateSource, Mapping[str, Check]]:
    """The started source and its readiness checks.

    Args:
        tls: the settings.
        api: to the API server; None for a server without a cluster.
        namespace: of this installation.
        metrics: count renewals.

    Raises:
        StartError: files that cannot be served.
    """
    renewals = Renewals(metrics.certificate_changed)
    source: CertificateSource
    if tls.cert_file is not None and tls.key_file is not None:
        source = FileSource(tls.cert_file, tls.key_file, renewals)
        checks = {"certificate": source.healthy}
    elif api is None:
        source = LocalSource(issuer(tls, namespace, *_LOOPBACK), renewals)
        checks = {"certificate": source.healthy}
    else:
        source = shared = _shared(tls, api, namespace, renewals)
        checks = {"certificate": shared.healthy, "caBundle": shared.trusted}
    try:
        await source.start()
    except CertificateError as error:
        raise StartError(error.problems) from error
    return source, checks


def issuer(tls: Tls, namespace: str, *further: str) -> Issuer:
    """Makes certificates for the names and lives of the settings."""
    names = (*service_names(tls.service_name, namespace, tls.cluster_domain), *further, *tls.extra_names)
    return Issuer(names, ca_life=timedelta(days=tls.ca_days), leaf_life=timedelta(hours=tls.leaf_hours))


def _shared(tls: Tls, api: Api, namespace: str, renewals: Renewals) -> SharedSource:
    making = issuer(tls, namespace)
    return SharedSource(
        AuthorityKeeper(SecretStore(api, namespace, tls.secret_name), making, renewals),
        WebhookConfiguration(api, tls.webhook_configuration),
        making,
        ServerClock(api),
        renewals,
        interval=timedelta(seconds=tls.check_seconds),
    )
