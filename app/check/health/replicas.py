"""Checks of the Deployment and its replicas."""

from __future__ import annotations

import re
from importlib.metadata import version as package_version
from typing import Any, Final

from app.check.health.finding import Finding, fail, listed, ok, unknown, warn
from app.check.health.selectors import selects
from app.check.health.site import Site
from app.cluster.listing import DISRUPTION_BUDGETS, PODS

JSON = Any

VERSION_LABEL: Final = "app.kubernetes.io/version"
_DISTRIBUTION: Final = "hami-dra-webhook"
_ENOUGH: Final = 2
_RELEASE_TAG: Final = re.compile(r":v?(\d+\.\d+\.\d+[^@]*)(@|$)")


async def replicas(site: Site) -> Finding:
    """Enough replicas are ready, all of the newest revision."""
    deployment = await site.deployment()
    if deployment is None:
        return fail(
            f"no Deployment of the chart in namespace {site.namespace}",
            "nobody answers API servers, or the installation is in another namespace",
            "name its namespace with --namespace, or install it: docs/install.md",
        )
    name, spec, status = deployment["metadata"]["name"], deployment["spec"], deployment.get("status") or {}
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    found = f"{ready} of {wanted} ready in Deployment {site.namespace}/{name}"
    kubectl = f"kubectl --namespace {site.namespace}"
    if wanted == 0:
        reason = "pods with legacy keys are refused in opted-in namespaces"
        return fail(found, reason, f"{kubectl} scale {site.workload} --replicas={_ENOUGH}")
    if ready == 0:
        reason = "pods with legacy keys are refused in opted-in namespaces"
        return fail(found, reason, f"{kubectl} logs {site.workload}")
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return warn(found, "the controller has not seen the newest change", "look again in a minute")
    if status.get("updatedReplicas", 0) < wanted or ready < wanted:
        return warn(found, "a roll-out is under way, or hangs", f"{kubectl} rollout status {site.workload}")
    if wanted < _ENOUGH:
        reason = "pods with legacy keys are refused while the only replica restarts"
        return warn(found, reason, f"{kubectl} scale {site.workload} --replicas={_ENOUGH}")
    return ok(found)


async def versions(site: Site) -> Finding:
    """All replicas run the version of this program."""
    own = package_version(_DISTRIBUTION)
    deployment = await site.deployment()
    selector = ((deployment or {}).get("spec") or {}).get("selector", {}).get("matchLabels")
    pods = await site.reader.list(PODS, site.namespace, selector=_text(selector)) if selector else []
    pods = [one for one in pods if (one.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}]
    if not pods:
        return unknown(f"this program is {own}", "there is no replica to compare with")
    seen = sorted({_version(pod) for pod in pods})
    found = f"replicas are {listed(seen)}"
    if len(seen) > 1:
        reason = "a roll-out is under way, or hangs"
        return warn(found, reason, f"kubectl --namespace {site.namespace} rollout status {site.workload}")
    if seen != [own]:
        return warn(
            found, f"this program is {own} and may judge otherwise than they do", f"use version {seen[0]} of it"
        )
    return ok(found)


def _version(pod: JSON) -> str:
    """By the tag of the image where it is a version, else by the label of the chart."""
    image = pod["spec"]["containers"][0].get("image") or ""
    tag = _RELEASE_TAG.search(image)
    return tag[1] if tag else (pod["metadata"].get("labels") or {}).get(VERSION_LABEL, "of an unknown version")


async def disruption_budget(site: Site) -> Finding:
    """A drain does not take all replicas at once."""
    deployment = await site.deployment()
    if deployment is None:
        return unknown("there is no Deployment to protect")
    if deployment["spec"].get("replicas", 1) < _ENOUGH:
        return ok("one replica needs none")
    labels = deployment["spec"]["template"]["metadata"].get("labels") or {}
    budgets = [
        one["metadata"]["name"]
        for one in await site.reader.list(DISRUPTION_BUDGETS, site.namespace)
        if one["spec"].get("selector") and selects(one["spec"]["selector"], labels)
    ]
    if not budgets:
        return warn(
            "no PodDisruptionBudget",
            "a drain may evict all replicas at once, and pods with legacy keys are refused until they are back",
            f"{site.helm_upgrade} --set podDisruptionBudget.enabled=true",
        )
    if len(budgets) > 1:
        reason = "Kubernetes evicts no pod that several budgets select"
        return warn(f"PodDisruptionBudgets {listed(budgets)}", reason, "leave one of them")
    return ok(f"PodDisruptionBudget {budgets[0]}")


def _text(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
