"""What one check found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How things stand, from good to bad."""

    OK = "ok"
    UNKNOWN = "unknown"
    """It could not be looked at; nobody says that it is wrong."""
    WARN = "warn"
    """It works, and somebody should look."""
    FAIL = "fail"
    """Pods are refused, left unconverted, or soon will be."""


_SEVERITY = tuple(State)


@dataclass(frozen=True, slots=True)
class Finding:
    """A state and the words for it."""

    state: State
    found: str
    """What there is, also where all is well."""
    reason: str = ""
    """Why that is no good."""
    fix: str = ""
    """What to do: a command where there is one, else a sentence."""


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(State.OK, found)


def warn(found: str, reason: str, fix: str) -> Finding:
    """It works, and somebody should look."""
    return Finding(State.WARN, found, reason, fix)


def fail(found: str, reason: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(State.FAIL, found, reason, fix)


def unknown(found: str, reason: str = "", fix: str = "") -> Finding:
    """It could not be looked at."""
    return Finding(State.UNKNOWN, found, reason, fix)


def summed(found: str, problems: Sequence[Finding]) -> Finding:
    """One finding of several: as bad as the worst; good with ``found`` where there are none."""
    if not problems:
        return ok(found)
    return Finding(
        max((problem.state for problem in problems), key=_SEVERITY.index),
        "; ".join(dict.fromkeys(problem.found for problem in problems)),
        "; ".join(dict.fromkeys(problem.reason for problem in problems if problem.reason)),
        "; ".join(dict.fromkeys(problem.fix for problem in problems if problem.fix)),
    )


def listed(names: Sequence[str], *, shown: int = 5) -> str:
    """Names for a sentence; of many only the first ones, with their number."""
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
