"""Makes all checks at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from app.check.health.certificate import ca_bundle, certificate
from app.check.health.control_plane import api_server, claim_fields, scheduler, server_version
from app.check.health.devices import device_classes, extended_resource
from app.check.health.finding import Finding, unknown
from app.check.health.live import live_test
from app.check.health.namespaces import excluded_namespaces, namespaces
from app.check.health.permissions import permissions, your_rights
from app.check.health.reader import Reader, Unreadable
from app.check.health.registration import later_webhooks, match_conditions, opt_in_label, webhook
from app.check.health.replicas import disruption_budget, replicas, versions
from app.check.health.report import CheckReport, Result
from app.check.health.site import NotRegisteredError, Site, find_site
from app.check.health.slices import resource_slices
from app.check.health.templates import sweeper, templates
from app.cluster.api import ApiError, Connection, Unreachable
from app.settings import Settings

Check = Callable[[Site], Awaitable[Finding]]

_SECONDS: Final = 20.0
"""For one check; all are made at the same time."""


async def _settings(site: Site) -> Finding:
    return site.settings_finding


CHECKS: Final[Mapping[str, Check]] = {
    "api-server": api_server,
    "claim-fields": claim_fields,
    "scheduler": scheduler,
    "device-classes": device_classes,
    "extended-resource": extended_resource,
    "resource-slices": resource_slices,
    "settings": _settings,
    "replicas": replicas,
    "versions": versions,
    "disruption-budget": disruption_budget,
    "permissions": permissions,
    "webhook": webhook,
    "opt-in-label": opt_in_label,
    "match-conditions": match_conditions,
    "later-webhooks": later_webhooks,
    "ca-bundle": ca_bundle,
    "certificate": certificate,
    "namespaces": namespaces,
    "excluded-namespaces": excluded_namespaces,
    "templates": templates,
    "sweeper": sweeper,
    "live-test": live_test,
}
"""By name, in the order of the report: from what everything rests on to the proof that it works."""
_BY_SETTINGS: Final = (scheduler, device_classes, extended_resource, resource_slices, opt_in_label, match_conditions)
"""They only compare the cluster with the settings."""
LAST: Final = "your-rights"
"""Says what the others could not read."""


async def check_health(
    connection: Connection, namespace: str | None, given: Settings | None = None, source: str = ""
) -> CheckReport:
    """Look at everything; only reads and dry runs.

    Args:
        connection: to the API server.
        namespace: of the installation; None = it is looked for.
        given: settings of a file; None = those that the installation runs with.
        source: what the given settings are called.

    Raises:
        Unreachable: the cluster does not answer at all.
        ApiError: it does not know the caller.
    """
    reader = Reader(connection)
    try:
        await server_version(reader)  # first, so that a cluster that does not answer is found out once
        site = await find_site(reader, namespace, given, source)
        findings = await asyncio.gather(*(made(check, site) for check in CHECKS.values()))
        findings.append(your_rights(site))
    finally:
        await reader.close()
    names = (*CHECKS, LAST)
    return CheckReport(site.namespace, tuple(Result(*one) for one in zip(names, findings, strict=True)))


async def made(check: Check, site: Site) -> Finding:
    """What a check finds, in bounded time; what it cannot read is unknown."""
    try:
        async with asyncio.timeout(_SECONDS):
            found = await check(site)
        return site.compared(found) if check in _BY_SETTINGS else found
    except Unreadable as error:
        return unknown(f"not permitted, or no answer: {error.place}", str(error))
    except NotRegisteredError:
        return unknown(f"not looked at: {site.webhook_name} is not there, or is not asked about new pods")
    except (ApiError, Unreachable) as error:
        return unknown("the API server gave no answer that can be used", str(error))
    except TimeoutError:
        return unknown(f"no answer within {_SECONDS:g} s")
    except Exception as error:  # noqa: BLE001 - an object of an odd shape must not take the other lines away
        return unknown("an object has a shape that is not understood", f"{type(error).__name__}: {error}")
