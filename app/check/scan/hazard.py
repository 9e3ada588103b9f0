"""The shape of a hazard: what to look for as data, how to look as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from app.check.scan.survey import Survey


class Severity(StrEnum):
    """What a hazard means for switching a namespace over."""

    BLOCKS = "blocks"
    """Not before this is settled."""
    WARNS = "warns"
    """Something will differ; whether it matters is a person's decision."""
    INFORMS = "informs"
    """Worth knowing."""


class Found(NamedTuple):
    """One object that a hazard is about."""

    object: str
    """As ``Node/gpu-1`` or ``team-a/ResourceQuota/gpus``."""
    detail: str = ""
    """What was read there."""


@dataclass(frozen=True, slots=True)
class Check:
    """One hazard that a scan looks for."""

    code: str
    severity: Severity
    sentence: str
    fix: str
    find: Callable[[Survey], Iterable[Found]]
    """The objects that it is about, in the order of the report; none = no hazard."""
    reads: tuple[str, ...] = ()
    """Parts of the cluster (fields of :class:`app.check.scan.model.Cluster`) that it needs."""

    @property
    def anchor(self) -> str:
        """Where the documentation explains it."""
        return f"docs/scan.md#{self.code}"


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazard that is there."""

    check: Check
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A hazard that cannot be looked for."""

    check: Check
    unread: tuple[str, ...]
    """Parts of the cluster that could not be read."""


def run(check: Check, survey: Survey) -> Hazard | Unknown | None:
    """Looks for one hazard."""
    unread = tuple(part for part in check.reads if getattr(survey.cluster, part) is None)
    if unread:
        return Unknown(check, unread)
    found = tuple(check.find(survey))
    return Hazard(check, found) if found else None


def name_of(kind: str, name: str, namespace: str = "") -> str:
    """An object as hazards name it."""
    return f"{namespace}/{kind}/{name}" if namespace else f"{kind}/{name}"
