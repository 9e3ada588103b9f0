"""Checks of the API server and the scheduler."""

from __future__ import annotations

import re
from typing import Any, Final

from app.check.health.finding import Finding, fail, listed, ok, unknown, warn
from app.check.health.reader import Reader, Unreadable
from app.check.health.site import Site
from app.cluster.api import ApiError, Unreachable
from app.cluster.facts import read_dropped_fields
from app.cluster.listing import PODS, Gap
from app.translate.decision import API_VERSION
from app.translate.facts import Version, parse_version
from app.translate.feature_gates import GATES, Gate, explain

JSON = Any

_PROBED: Final = "default"
"""Namespace of the dry runs: every cluster has it."""
_SYSTEM: Final = "kube-system"
_SCHEDULER_PODS: Final = "component=kube-scheduler"
"""Label of kubeadm's static pods, which most others copy."""
_DISTINCT_CARDS: Final = (1, 36)
"""Schedulers since then take a count of shareable cards as different cards; the forms differ there only (S37)."""
_SHARING: Final = GATES["capacity"]


async def server_version(reader: Reader) -> tuple[Version, str]:
    """The API server's version, as numbers and as people write it.

    Raises:
        ApiError: it refuses.
        Unreachable: no usable answer.
    """
    answer = await reader.once("version", lambda: reader.connection.request("get", "/version"))
    try:
        return parse_version(answer["major"], answer["minor"]), answer["gitVersion"].removeprefix("v")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreachable(f"{reader.connection.host}/version is not the answer of a Kubernetes API server") from error


async def api_server(site: Site) -> Finding:
    """It serves the API of claims."""
    _, shown = await server_version(site.reader)
    try:
        await site.reader.connection.request("get", f"/apis/{API_VERSION}")
    except ApiError as error:
        return fail(
            f"Kubernetes {shown} does not serve {API_VERSION}",
            str(error),
            "upgrade to Kubernetes 1.34 or newer; where it is newer, remove --runtime-config that switches the API off",
        )
    return ok(f"Kubernetes {shown} serves {API_VERSION}")


async def claim_fields(site: Site) -> Finding:
    """It keeps the fields of claims that the webhook writes; found out by dry runs."""
    dropped, problems = await read_dropped_fields(site.reader.connection, namespace=_PROBED)
    if dropped:
        text, _, fix = explain(sorted(dropped)).partition(": ")
        sharing = site.settings.policy.card_profile.sharing != "exclusive"
        consequence = "pods that ask for cards are refused" if sharing else "pods that ask for memory are refused"
        return (fail if sharing or "firstAvailable" in dropped else warn)(text, consequence, fix)
    if problems:
        forbidden = any("forbidden" in problem for problem in problems)
        if forbidden:
            site.reader.missed(Gap("resourceclaimtemplates", _PROBED, "forbidden", problems[0]))
        fix = _rights("create", f"ResourceClaimTemplates in {_PROBED}") if forbidden else ""
        return unknown("dry runs of claim templates gave no answer", problems[0], fix)
    return ok(f"{listed(['capacity', 'distinctAttribute', 'firstAvailable'])} are kept")


async def scheduler(site: Site) -> Finding:
    """It is as new as the webhook takes it to be, with the feature gate that shares need."""
    policy = site.settings.policy
    served, _ = await server_version(site.reader)
    expected = policy.scheduler_version or served
    try:
        pods = await site.reader.list(PODS, _SYSTEM, selector=_SCHEDULER_PODS)
    except Unreadable as error:
        return unknown(_taken(expected), str(error), _rights("list", f"pods in {_SYSTEM}"))
    seen = [(version, pod) for pod in pods if (version := _version(pod)) is not None]
    if not seen:
        text = f"no pod in {_SYSTEM} with the label {_SCHEDULER_PODS}, as on managed control planes"
        return unknown(_taken(expected), text, "nothing to do where it is as new as the API server")
    version, pod = min(seen, key=lambda one: one[0])
    found = f"kube-scheduler {_shown(version)}"
    adjust = f"{site.helm_upgrade} --set-string settings.schedulerVersion={_shown(version)}"
    if version < _DISTINCT_CARDS <= expected:
        return fail(found, f"the webhook writes claims as {_shown(expected)} reads them (S37)", adjust)
    if policy.card_profile.sharing != "exclusive":
        counts = _has_on(_SHARING, pod, version)
        fix = f"start kube-scheduler with --feature-gates={_SHARING.name}=true"
        if counts is None:
            reason = f"its feature gate {_SHARING.name} is set by AllAlpha or AllBeta, which this check cannot resolve"
            return unknown(found, reason, fix)
        if not counts:
            return fail(found, f"its feature gate {_SHARING.name} is off, so shares of cards are not counted", fix)
    if policy.scheduler_version is not None and policy.scheduler_version < _DISTINCT_CARDS <= version:
        reason = f"settings.schedulerVersion says {_shown(policy.scheduler_version)}, which costs speed (S37)"
        return warn(found, reason, adjust)
    return ok(found)


def _version(pod: JSON) -> Version | None:
    """By the tag of its image."""
    match = re.search(r":v?(\d+)\.(\d+)", pod["spec"]["containers"][0].get("image") or "")
    return None if match is None else (int(match[1]), int(match[2]))


def _has_on(gate: Gate, pod: JSON, version: Version) -> bool | None:
    """Whether a feature gate is on, by the command line and by default; None where only AllAlpha or AllBeta say so."""
    container = pod["spec"]["containers"][0]
    words = " ".join((*(container.get("command") or ()), *(container.get("args") or ())))
    flags = ",".join(re.findall(r"--feature-gates[= ](\S+)", words))
    written: dict[str, str] = dict(re.findall(r"\b(\w+)=(\w+)", flags))
    if gate.name in written:
        return written[gate.name].lower() == "true"
    if {"AllAlpha", "AllBeta"} & written.keys():
        return None
    major, minor = map(int, gate.since.split("."))
    return version >= (major, minor)


def _taken(version: Version) -> str:
    return f"taken to be {_shown(version)}"


def _shown(version: Version) -> str:
    return ".".join(map(str, version))


def _rights(verb: str, what: str) -> str:
    return f"ask somebody who may {verb} {what} to run this check"
