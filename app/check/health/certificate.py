"""Checks of the certificate that replicas serve, and of what API servers trust."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from app.check.health.finding import Finding, fail, listed, ok, summed, unknown, warn
from app.check.health.handshake import Address, Served, look
from app.check.health.reader import Unreadable
from app.check.health.site import Site
from app.cluster.certificates import CertificateApi
from app.cluster.listing import ENDPOINT_SLICES, Gap
from certs.bundle import WebhookConfiguration
from certs.status import read_status
from certs.store import SecretStore
from certs.trust import certificates_in

JSON = Any

LEAF_WARNING: Final = timedelta(days=1)
"""Left of a served certificate; the chart's alert says the same."""
CA_WARNING: Final = timedelta(days=7)
"""Left of a CA: it lives 30 days at least, and is renewed when a third is left."""
_LOOKED_AT: Final = 3
"""Replicas to connect to."""
_SECONDS: Final = 10.0


async def ca_bundle(site: Site) -> Finding:
    """API servers trust what the replicas serve."""
    bundles = {one["name"]: _bundle(one) for one in await site.webhooks()}
    served = await _served(site)
    if not served:
        return await _against_secret(site, bundles)
    problems = [
        fail(
            f"an API server does not trust {one.address}: {one.problem}",
            "pods with legacy keys are refused in opted-in namespaces",
            _repair(site),
        )
        for one in served
        if one.problem
    ]
    differing = [name for name, text in bundles.items() if text != _bundle(await site.converting())]
    if differing:
        found = f"the caBundle of {listed(differing)} differs"
        problems.append(fail(found, "some calls of API servers fail", _repair(site)))
    return summed(f"verified by connecting to {listed([str(one.address) for one in served])}", problems)


async def certificate(site: Site) -> Finding:
    """Neither the certificate nor its CA ends soon."""
    now = datetime.now(UTC)
    authorities = certificates_in(_bundle(await site.converting()))
    served = await _served(site)
    problems = [
        problem
        for kind, certificates, margin in (
            ("the certificate", [one.certificate for one in served], LEAF_WARNING),
            ("the CA", authorities[:1], CA_WARNING),
        )
        for one in certificates
        if (problem := _ending(site, kind, one.not_valid_after_utc, now, margin)) is not None
    ]
    if not served and not authorities:
        return unknown("no certificate can be seen", "no replica can be reached from here, and there is no caBundle")
    ends = [f"certificate until {_shown(min(one.certificate.not_valid_after_utc for one in served))}"] if served else []
    ends += [f"CA until {_shown(one.not_valid_after_utc)}" for one in authorities[:1]]
    return summed(", ".join(ends), problems)


def _ending(site: Site, kind: str, end: datetime, now: datetime, margin: timedelta) -> Finding | None:
    if now >= end:
        return fail(f"{kind} ended at {_shown(end)}", "API servers do not accept it any more", _repair(site))
    if end - now < margin:
        return warn(f"{kind} ends at {_shown(end)}", "it should have been renewed long before", _repair(site))
    return None


async def _served(site: Site) -> Sequence[Served]:
    """What replicas show that can be reached from here; looked at once."""

    async def connect() -> Sequence[Served]:
        entry = await site.converting()
        seen = await asyncio.gather(*(look(one, _bundle(entry)) for one in await _addresses(site, entry)))
        # From outside, the address of a pod may be that of any machine in the caller's own network.
        sure = "url" in entry["clientConfig"] or bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
        return [one for one in seen if one is not None and (sure or one.names_us)]

    return await site.reader.once("served", connect)


async def _addresses(site: Site, entry: JSON) -> list[Address]:
    """Addresses of ready replicas behind the entry; the Service's own name where these cannot be read."""
    config = entry["clientConfig"]
    if "service" not in config:
        url = urlsplit(config["url"])
        return [Address(url.hostname or "", url.port or 443, url.hostname or "")]
    service = config["service"]
    name = f"{service['name']}.{service['namespace']}.svc"
    selector = f"kubernetes.io/service-name={service['name']}"
    try:
        slices = await site.reader.list(ENDPOINT_SLICES, service["namespace"], selector=selector)
    except Unreadable:
        return [Address(name, service.get("port") or 443, name)]
    return [
        Address(endpoint["addresses"][0], port["port"], name)
        for one in slices
        for port in one.get("ports") or ()
        if port.get("name") == "https"
        for endpoint in one.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ][:_LOOKED_AT]


async def _against_secret(site: Site, bundles: dict[str, bytes]) -> Finding:
    """The caBundle against the CA in the Secret, where no replica can be reached."""
    far = "no replica can be reached from here"
    if not all(bundles.values()):
        empty = [name for name, text in bundles.items() if not text]
        return fail(f"{listed(empty)} has no caBundle", "no API server can call the webhook", _repair(site))
    if not site.self_signed:
        return unknown("the served certificate cannot be seen", far, _inside(site))
    api = CertificateApi(site.reader.connection, seconds=_SECONDS)
    tls = site.settings.server.tls
    status = await read_status(
        SecretStore(api, site.namespace, tls.secret_name), WebhookConfiguration(api, tls.webhook_configuration)
    )
    if status.unanswered:
        if any("forbidden" in problem for problem in status.problems):
            site.reader.missed(Gap("secrets", site.namespace, "forbidden", status.problems[0]))
        return unknown("the served certificate cannot be seen", f"{far}; {status.problems[0]}", _inside(site))
    if not status.ok:
        reason = "replicas serve certificates of the CA in the Secret, so API servers do not trust them"
        return fail("; ".join(status.problems), reason, _repair(site))
    return ok(f"equals {status.secret}; {far}")


def _repair(site: Site) -> str:
    """The replicas repair what they can once a minute; a restart has them do it at once."""
    if site.self_signed:
        return f"kubectl --namespace {site.namespace} rollout restart {site.workload}"
    return "renew the certificate at its source, and have its CA in the caBundle"


def _inside(site: Site) -> str:
    return (
        f"kubectl --namespace {site.namespace} exec {site.workload} -- "
        "hami-dra-webhook check --config /etc/hami-dra-webhook/settings/config.yaml"
    )


def _bundle(entry: JSON) -> bytes:
    try:
        return base64.b64decode(entry["clientConfig"].get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
