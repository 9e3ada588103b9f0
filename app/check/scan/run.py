"""The whole scan: read, decide, sum up, look for hazards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from app.check.health.finding import Finding, State
from app.check.health.reader import Reader
from app.check.health.site import Site, find_site
from app.check.scan.hazards import find_hazards
from app.check.scan.hazards.webhooks import is_own
from app.check.scan.judge import judge, surroundings_of
from app.check.scan.model import Cluster
from app.check.scan.owners import group_by_owner
from app.check.scan.reading import CannotReadError, Progress, read_cluster, read_version
from app.check.scan.report import DEFAULTS, ScanReport, Scope
from app.check.scan.supplies import supplies, unmatched
from app.check.scan.survey import Survey
from app.cluster.api import Connection
from app.cluster.connection import connect
from app.inventory.model import InventoryError
from app.settings import Settings
from app.translate import Facts, Policy, facts_from_objects
from app.translate.facts import ASSUMED_CARD_SIZES_MIB

_SECONDS: Final = 30.0
"""For one request; a page of pods of a busy API server takes seconds."""


async def scan(
    settings: Settings, scope: Scope, overlay: Callable[[Policy], Policy], progress: Progress | None = None
) -> ScanReport:
    """Scans the cluster that the settings name.

    Args:
        settings: where the cluster is; and all others, where ``scope.settings`` says where they come from.
        scope: what to look at.
        overlay: what this scan changes in the policy.
        progress: hears how far the reading is.

    Raises:
        app.cluster.connection.ConnectError: no cluster is configured.
        app.check.scan.reading.CannotReadError: the cluster cannot be read.
        app.check.scan.reading.NoSuchNamespaceError: a namespace does not exist.
    """
    async with await connect(settings.cluster.kubeconfig, settings.cluster.context, seconds=_SECONDS) as connection:
        version = await read_version(connection)
        own_namespace = settings.cluster.namespace
        if scope.settings is None:
            site = await _installation(connection)
            if site.settings_finding.state is State.OK:
                settings, own_namespace = site.settings, site.namespace
            scope = replace(scope, settings=source_of(site.settings_finding))
        policy = overlay(settings.policy)
        cluster = await read_cluster(
            connection, policy, version=version, namespaces=scope.namespaces, progress=progress
        )
    own_webhook = settings.server.tls.webhook_configuration
    try:
        return examine(
            cluster, policy, scope, at=datetime.now(UTC), own_webhook=own_webhook, own_namespace=own_namespace
        )
    except InventoryError as error:
        raise CannotReadError(f"{connection.host} publishes devices that cannot be read: {error}") from error


def source_of(found: Finding) -> str:
    """Where settings come from; why the defaults are taken where those of the installation cannot be used."""
    if found.state is State.OK:
        return found.found
    return f"{DEFAULTS}: {found.reason if found.state is State.UNKNOWN else found.found}"


async def _installation(connection: Connection) -> Site:
    """The installation; its finding says why its settings cannot be used, or that there is none."""
    reader = Reader(connection)
    try:
        return await find_site(reader, None, None, "")
    finally:
        await reader.close()


def examine(
    cluster: Cluster, policy: Policy, scope: Scope, *, at: datetime, own_webhook: str, own_namespace: str | None = None
) -> ScanReport:
    """The report about a cluster that was read.

    Args:
        at: when it was read.
        own_webhook: name of the webhook's own MutatingWebhookConfiguration.
        own_namespace: the webhook's own namespace, where it is known; its pods are left out (S2).
    """
    facts = _facts(cluster, as_if_installed=scope.as_if_installed)
    own = own_namespace or _namespace_of(cluster, own_webhook)
    surroundings = surroundings_of(policy, cluster.namespaces, cluster.limit_ranges or (), own)
    found, finished = judge(group_by_owner(cluster), facts, surroundings)
    workloads = tuple(found)
    rows = supplies(workloads, cluster, facts, policy)
    hazards, unknown = find_hazards(
        Survey(cluster, policy, workloads, own_webhook, rows, unmatched(workloads, cluster))
    )
    return ScanReport(
        cluster, policy, scope, workloads, finished, rows, tuple(hazards),
        tuple(unknown), at,
    )  # fmt: skip


def _facts(cluster: Cluster, *, as_if_installed: bool) -> Facts:
    facts = facts_from_objects([*(cluster.slices or ()), *(cluster.classes or ())], server_version=cluster.version)
    unknown_devices = cluster.slices is None or (as_if_installed and not facts.devices)
    if unknown_devices:
        facts = replace(facts, devices=None, assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    if cluster.classes is None or as_if_installed:
        facts = replace(facts, device_classes=None)
    return facts


def _namespace_of(cluster: Cluster, own_webhook: str) -> str | None:
    """Where the webhook is installed, as its registration says."""
    for one in cluster.webhooks or ():
        if is_own(one, own_webhook):
            for webhook in one["webhooks"]:
                service = webhook["clientConfig"]["service"]
                if service:
                    return str(service["namespace"])
    return None
