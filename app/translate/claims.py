"""The claims of one container: one per driver, named after their content (S45, S61, S62)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.translate import feature_gates
from app.translate.asks import MAX_DEVICES, Ask
from app.translate.decision import Template
from app.translate.devices import CannotServeError, Finding, describe, resolve
from app.translate.facts import Facts
from app.translate.memory import remembered
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.requests import RequestBuilder, Row
from app.translate.selection import NO_SELECTION, Selection
from app.translate.target import Target

_HASH_LENGTH = 10
"""Hex digits of the content hash: 40 bits, enough for thousands of templates of one namespace."""
_NAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """The claim of one container and driver."""

    target: Target
    asks: tuple[Ask, ...]
    slug: str
    """The readable part of the template's name: what is asked, not how it is selected."""
    first_template: Template
    """The template under its first name."""
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    def template(self, avoid: frozenset[str]) -> Template:
        """The template with the first name that is free: ``slug-hash``, then hashes of the next attempts (S62)."""
        template, attempt = self.first_template, 0
        while template.name in avoid:
            attempt += 1
            salted = hashlib.sha256(f"{self.first_template.name}/{attempt}".encode()).hexdigest()
            template = replace(template, name=f"{self.slug}-{salted[:_HASH_LENGTH]}")
        return template


def slug_of(template: str) -> str | None:
    """The slug from which :meth:`ClaimPlan.template` made a name; None when it made no such name."""
    slug, _, tail = template.rpartition("-")
    return slug if re.fullmatch(rf"[0-9a-f]{{{_HASH_LENGTH}}}", tail) else None


@remembered()
def plan_claims(
    asks: tuple[Ask, ...], selection: Selection, facts: Facts, policy: Policy
) -> tuple[tuple[ClaimPlan, ...], tuple[Finding, ...]]:
    """The claims of one container, one per driver (S45, S61), and the findings that deny it."""
    grouped: dict[str, list[tuple[Ask, Target]]] = {}
    denials: list[Finding] = []
    for ask in asks:
        try:
            target = resolve(ask, selection, facts, policy)
        except CannotServeError as error:
            denials.append(error.finding)
        else:
            grouped.setdefault(target.profile.driver, []).append((ask, target))
    plans: list[ClaimPlan] = []
    for pairs in grouped.values():
        try:
            plans.append(_plan(pairs, selection, facts, policy))
        except CannotServeError as error:
            denials.append(error.finding)
    return tuple(plans), tuple(denials)


def _plan(pairs: Sequence[tuple[Ask, Target]], selection: Selection, facts: Facts, policy: Policy) -> ClaimPlan:
    target = pairs[0][1]
    total = sum(ask.devices for ask, _ in pairs)
    if total > MAX_DEVICES:
        raise CannotServeError(
            Reason.TOO_MANY_DEVICES,
            f"{total} devices of {target.profile.title}: a claim allocates at most {MAX_DEVICES}",
        )
    requests: list[dict[str, Any]] = []
    constraints: list[dict[str, Any]] = []
    rows: list[Row] = []
    findings: list[Finding] = []
    slugs: list[str] = []
    for ask, one in pairs:
        taken = {request["name"] for request in requests}
        builder = RequestBuilder(ask, one, selection if ask.from_count else NO_SELECTION, facts, policy, taken)
        builder.build(shares_claim=len(pairs) > 1)
        requests += builder.requests
        constraints += builder.constraints
        rows.append(builder.row())
        findings += builder.findings
        slugs.append(builder.slug())
    devices: dict[str, Any] = {"requests": requests}
    if constraints:
        devices["constraints"] = constraints
    spec = {"devices": devices}
    _refuse_dropped(spec, target, facts)
    picked = ("picked",) if selection.chooses and any(ask.from_count for ask, _ in pairs) else ()
    slug = "-".join((*slugs, *picked))[: _NAME_LENGTH - _HASH_LENGTH - 1].rstrip("-")
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    asks = tuple(ask for ask, _ in pairs)
    first = Template(f"{slug}-{digest[:_HASH_LENGTH]}", spec, describe(pairs))
    return ClaimPlan(target, asks, slug, first, tuple(rows), tuple(dict.fromkeys(findings)))


def _refuse_dropped(spec: Mapping[str, Any], target: Target, facts: Facts) -> None:
    """Never send what the API server drops: a claim without its capacity is a request for a whole card."""
    if not facts.dropped_fields:
        return
    text = json.dumps(spec)
    needed = [name for name in feature_gates.GATES if f'"{name}"' in text]
    if not target.mig and target.profile.sharing != "exclusive":
        needed.insert(0, "capacity")  # such slices lose their shareable mark the same way and look exclusive
    for name in needed:
        if name in facts.dropped_fields:
            raise CannotServeError(Reason.FEATURE_GATE_OFF, feature_gates.explain([name]))
