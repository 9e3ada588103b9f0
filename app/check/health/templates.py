"""Checks of the claim templates and of who removes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from app.check.health.finding import Finding, fail, ok, warn
from app.check.health.site import Site
from app.cluster import marks
from app.cluster.listing import CLAIM_TEMPLATES, LEASES, PODS
from app.cluster.sweeper import LEASE_NAME
from app.translate.decision import CONVERTED_LABEL, MARK_LABEL

_ROUNDS: Final = timedelta(minutes=15)
"""Three rounds of the sweeper, after which an unused template should be gone."""


async def templates(site: Site) -> Finding:
    """Templates that no pod names are removed when their grace period is over."""
    marked = await site.reader.list(CLAIM_TEMPLATES, selector=f"{MARK_LABEL}=true")
    limit = timedelta(seconds=site.settings.cluster.grace_period_seconds) + _ROUNDS
    now = datetime.now(UTC)
    old = [one["metadata"] for one in marked if now - marks.last_used(one) > limit]
    found = f"{len(marked)} made by the webhook"
    if not old:
        return ok(found)
    used = {
        (pod["metadata"]["namespace"], claim.get("resourceClaimTemplateName"))
        for pod in await site.reader.list(PODS, selector=f"{CONVERTED_LABEL}=true")
        for claim in pod["spec"].get("resourceClaims") or ()
    }
    left = [one for one in old if (one["namespace"], one["name"]) not in used]
    if left:
        return warn(
            f"{found}, {len(left)} of them unused for more than {limit}",
            "nobody sweeps, or a pod without our label still names them",
            f"kubectl --namespace {site.namespace} logs {site.workload}",
        )
    return ok(found)


async def sweeper(site: Site) -> Finding:
    """A replica holds the Lease and renews it."""
    lease = await site.reader.get(LEASES, LEASE_NAME, site.namespace)
    spec = (lease or {}).get("spec") or {}
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    fix = f"kubectl --namespace {site.namespace} logs {site.workload}"
    if not holder or not renewed:
        found = f"Lease {LEASE_NAME} is {'there, and nobody holds it' if lease else 'not there'}"
        return warn(found, "unused templates stay; a replica takes it within five minutes of its start", fix)
    age = datetime.now(UTC) - datetime.fromisoformat(renewed)
    if age > timedelta(seconds=spec.get("leaseDurationSeconds") or 0):
        since = timedelta(seconds=round(age.total_seconds()))
        return fail(f"{holder} renewed Lease {LEASE_NAME} {since} ago", "nobody removes unused templates", fix)
    return ok(f"held by {holder}")
