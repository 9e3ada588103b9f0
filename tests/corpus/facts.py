"""Compares a pod after conversion, and what was said about it, with an expected entry of the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.corpus.cases import Entry
from tests.corpus.claims import claim_problems
from tests.corpus.grants import containers, grants

LEGACY = re.compile(r"nvidia\.com/(gpu|gpumem|gpumem-percentage|gpucores|priority|gpu\.shared|mig-\d+g\.\d+gb[a-z.-]*)")
"""Published names that a conversion may remove."""
SAID = {
    "both memory keys given": r"gpumem and .*gpumem-percentage are both given",
    "memory asked for zero cards": r"memory .*zero cards",
    "gpucores above 100": r"gpucores is above 100",
    "whole cards only": r"whole cards only",
    "priority is 0 or 1": r"priority .*0 .*1",
    "priority without a card": r"priority .*(without|no) .*(card|count)",
    "the card stays reserved until the pod ends": r"init container \w+ stays reserved until the pod ends",
    "init and app memory are added up": r"init container \w+ .*adds up",
    "no such card": r"gpu-.* (no|not).*(card|UUID)",
    "list without a name": r"use-gputype .*(no name|nothing|waits? for ever)",
    "annotation on the Deployment has no effect": r"annotation on the Deployment has no effect",
    "a program uses one slice": r"a program uses one MIG slice",
    "resources outside a container": r"resources outside a container",
    "foreign scheduler": r"foreign scheduler",
    "kueue": r"(?i)kueue counts",
}
"""Subjects of warnings in the corpus, as patterns of what a warning must say; others must appear word for word."""


@dataclass(frozen=True)
class Observed:
    """What came of one pod."""

    outcome: str
    original: Mapping[str, Any]
    """The pod, or pod template, as the manifest has it."""
    pod: Mapping[str, Any] | None
    """The pod as it was admitted."""
    templates: Sequence[Mapping[str, Any]] = ()
    messages: Sequence[str] = ()
    """Why it was denied or refused."""
    warnings: Sequence[str] = ()
    renamed: frozenset[str] = frozenset()
    """Legacy names that the settings of the case add."""


def entry_problems(entry: Entry, seen: Observed) -> Iterator[str]:
    """Every fact of the entry that does not hold; ``placement`` needs a scheduler and is checked elsewhere."""
    said = " | ".join((*seen.messages, *seen.warnings))
    if seen.outcome != entry.outcome:
        yield f"outcome {seen.outcome}, expected {entry.outcome}: {said}"
        return
    yield from (
        f"message lacks {word!r}: {seen.messages}" for word in entry.message if word not in " ".join(seen.messages)
    )
    for subject in entry.warn:
        pattern = SAID.get(subject, re.escape(subject))
        if not any(re.search(pattern, warning) for warning in seen.warnings):
            yield f"no warning about {subject!r}: {list(seen.warnings)}"
    if seen.pod is None:
        return
    yield from _container_problems(entry, seen, seen.pod)
    scheduler = seen.pod["spec"].get("schedulerName", "default-scheduler")
    if entry.scheduler is not None and scheduler != entry.scheduler:
        yield f"schedulerName {scheduler}, expected {entry.scheduler}"
    yield from _kept_problems(entry.kept, seen.original, seen.pod)


def _container_problems(entry: Entry, seen: Observed, pod: Mapping[str, Any]) -> Iterator[str]:
    for one in containers(pod):
        name = one["name"]
        left = {key for key in _keys(one) if LEGACY.fullmatch(key) or key in seen.renamed}
        if left != set(entry.keys_left) & _keys(_named(seen.original, name)):
            yield f"{name}: keys left {sorted(left)}, expected {list(entry.keys_left)}"
        if entry.claims is not None:
            wanted = [claim for claim in entry.claims if claim["container"] == name]
            yield from (f"{name}: {problem}" for problem in _granted_problems(wanted, seen, pod, name))
    for variable in entry.env:
        name, key = variable["container"], variable["name"]
        values = [v.get("value") for v in _named(pod, name).get("env", []) if v["name"] == key]
        if values[-1:] != [variable["value"]]:
            yield f"{name}: {key} is {values}, expected {variable['value']}"


def _granted_problems(
    wanted: Sequence[Mapping[str, Any]], seen: Observed, pod: Mapping[str, Any], name: str
) -> Iterator[str]:
    found = grants(pod, seen.templates, name)
    if not wanted and found:
        yield f"got {found}, expected nothing"
    for claim in wanted:
        yield from claim_problems(found, claim)
        matched = any("numa" in attribute for grant in found for attribute in grant.same)
        # Without a NUMA attribute in the slices nothing can be matched, and that is said (S53).
        if claim.get("sameNuma") and not matched and not any("numa" in warning for warning in seen.warnings):
            yield "neither one NUMA node nor a warning"
    if len({grant.claim for grant in found}) > len({grant.driver for grant in found}):
        yield "more than one claim of a driver"


def _kept_problems(kept: Mapping[str, Any], original: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[str]:
    for name, values in kept.get("limits", {}).items():
        limits = _named(pod, name)["resources"]["limits"]
        yield from (f"{name}: limit {key} changed" for key, value in values.items() if limits.get(key) != value)
    for field in kept.get("pod", ()):
        # An affinity may gain a node (S7) and must lose nothing.
        if not _contains(pod["spec"].get(field), original["spec"][field]):
            yield f"spec.{field} lost something"
    for name, variables in kept.get("env", {}).items():
        before, after = (_values(_named(one, name), variables) for one in (original, pod))
        if before != after or set(variables) - set(before):
            yield f"{name}: environment {before} became {after}"
    for name, fields in kept.get("initContainers", {}).items():
        yield from (f"{name}: {key} changed" for key, value in fields.items() if _named(pod, name).get(key) != value)
    yield from _own_claims_problems(kept, original, pod)


def _own_claims_problems(kept: Mapping[str, Any], original: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[str]:
    entries = kept.get("resourceClaims", ())
    there = pod["spec"].get("resourceClaims", [])[: len(entries)]
    if there != [entry for entry in original["spec"].get("resourceClaims", []) if entry["name"] in entries]:
        yield f"the pod's own claims became {there}"
    for name, uses in kept.get("claims", {}).items():
        claims = ["/".join(use.values()) for use in _named(pod, name)["resources"]["claims"]]
        if claims[: len(uses)] != list(uses):
            yield f"{name}: claims {claims}, expected {uses} first"


def _named(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(one for one in containers(pod) if one["name"] == name)


def _keys(container: Mapping[str, Any]) -> set[str]:
    resources = container.get("resources") or {}
    return {key for part in ("limits", "requests") for key in resources.get(part) or {}}


def _values(container: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {one["name"]: one for one in container.get("env", []) if one["name"] in names}


def _contains(value: Any, part: Any) -> bool:
    """Everything in ``part`` is in the value too."""
    if isinstance(part, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and _contains(value[key], one) for key, one in part.items()
        )
    return bool(value == part)
