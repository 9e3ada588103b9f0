"""Checks of who opted in."""

from __future__ import annotations

from app.check.health.finding import Finding, listed, ok, warn
from app.check.health.reader import Unreadable
from app.check.health.registration import NAMESPACE_NAME
from app.check.health.selectors import selects
from app.check.health.site import NotRegisteredError, Site
from app.cluster.listing import NAMESPACES

_NEVER = ("kube-system", "kube-node-lease")
"""Left out by the chart, whatever the values; so is the namespace of the installation."""


async def namespaces(site: Site) -> Finding:
    """Some namespace opted in, with a value that counts (S2)."""
    opt_in = site.settings.opt_in
    opted, misspelt = [], []
    for one in await site.reader.list(NAMESPACES):
        value = (one["metadata"].get("labels") or {}).get(opt_in.label)
        if value == opt_in.value:
            opted.append(one["metadata"]["name"])
        elif value is not None and value != opt_in.opt_out_value:
            misspelt.append(one["metadata"]["name"])
    found = f"{len(opted)} opted in"
    if misspelt:
        return warn(
            f"{found}; {listed(misspelt)} with another value of {opt_in.label}",
            f"only the value {opt_in.value} opts in",
            f"kubectl label --overwrite namespace {' '.join(misspelt)} {opt_in.label}={opt_in.value}",
        )
    if not opted:
        return warn(
            "no namespace opted in",
            "nothing is converted",
            f"kubectl label namespace NAMESPACE {opt_in.label}={opt_in.value}",
        )
    return ok(f"{found}: {listed(opted)}")


async def excluded_namespaces(site: Site) -> Finding:
    """No namespace opted in that is left out all the same."""
    opt_in = site.settings.opt_in
    served = await served_namespaces(site)
    left_out = [
        one["metadata"]["name"]
        for one in await site.reader.list(NAMESPACES)
        if (one["metadata"].get("labels") or {}).get(opt_in.label) == opt_in.value
        and one["metadata"]["name"] not in served
    ]
    if left_out:
        return warn(
            f"{listed(left_out)} opted in and left out",
            "the webhook is never asked about these namespaces, so nothing is converted there",
            f"kubectl label namespace {' '.join(left_out)} {opt_in.label}-",
        )
    return ok("no opted-in namespace is left out")


async def served_namespaces(site: Site) -> list[str]:
    """Names of the namespaces that opted in and are not left out.

    Raises:
        Unreadable: namespaces cannot be listed.
    """
    opt_in = site.settings.opt_in
    selector = None
    try:
        entry = await site.converting()
    except (Unreadable, NotRegisteredError):
        never = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [site.namespace, *_NEVER]}
        selector = {"matchLabels": {opt_in.label: opt_in.value}, "matchExpressions": [never]}
    else:
        # Whether it asks for the right label is another check's business.
        expressions = (entry.get("namespaceSelector") or {}).get("matchExpressions") or ()
        names = [one for one in expressions if one["key"] == NAMESPACE_NAME]
        selector = {"matchLabels": {opt_in.label: opt_in.value}, "matchExpressions": names}
    return [
        one["metadata"]["name"]
        for one in await site.reader.list(NAMESPACES)
        if selects(selector, {NAMESPACE_NAME: one["metadata"]["name"], **(one["metadata"].get("labels") or {})})
    ]
