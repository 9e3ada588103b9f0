"""Checks of what the replicas may do, and of what the caller may see."""

from __future__ import annotations

import asyncio
from typing import Any

from app.check.health.finding import Finding, fail, listed, ok, unknown
from app.check.health.grants import grants
from app.check.health.reader import place_of
from app.check.health.site import Site
from app.cluster.listing import ACCESS_REVIEWS

JSON = Any


async def permissions(site: Site) -> Finding:
    """The ServiceAccount of the replicas has every permission that the chart gives."""
    deployment = await site.deployment()
    if deployment is None:
        return unknown("there is no Deployment, so no ServiceAccount to ask about")
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
    wanted = [
        attributes
        for grant in grants(site.settings.server.tls, self_signed=site.self_signed)
        for attributes in grant.attributes(site.namespace)
    ]
    allowed = await asyncio.gather(*(_allowed(site, account, attributes) for attributes in wanted))
    missing = [_words(one) for one, may in zip(wanted, allowed, strict=True) if not may]
    if missing:
        return fail(
            f"ServiceAccount {site.namespace}/{account} may not {listed(missing)}",
            "templates, certificates or the caBundle are not written, and pods are refused",
            f"{site.helm_upgrade} --set rbac.create=true",
        )
    return ok(f"ServiceAccount {site.namespace}/{account} has all {len(wanted)}")


async def _allowed(site: Site, account: str, attributes: dict[str, str]) -> bool:
    spec = {
        "user": f"system:serviceaccount:{site.namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{site.namespace}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": ACCESS_REVIEWS.kind, "spec": spec}
    answer: JSON = await site.reader.ask(ACCESS_REVIEWS, body)
    return bool(answer["status"]["allowed"])


def _words(attributes: dict[str, str]) -> str:
    name = f" {attributes['name']}" if "name" in attributes else ""
    place = f" in {attributes['namespace']}" if "namespace" in attributes else ""
    return f"{attributes['verb']} {attributes['resource']}{name}{place}"


def your_rights(site: Site) -> Finding:
    """What the caller could not read; asked for when all other checks are done."""
    places = sorted({place_of(gap) for gap in site.reader.gaps.values()})
    if not places:
        return ok("everything could be read")
    fix = "ask somebody with more rights to run this check (docs/check.md#rights)"
    return unknown(
        f"not permitted, or no answer: {listed(places, shown=len(places))}", "checks that need it are unknown", fix
    )
