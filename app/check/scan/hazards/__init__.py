"""What may go wrong beside the workloads' own requests: a table of small functions over what was read."""

from __future__ import annotations

from typing import Final

from app.check.scan.hazard import Check, Hazard, Severity, Unknown, run
from app.check.scan.hazards import capacity, devices, hami, pods, quotas, settings, webhooks
from app.check.scan.survey import Survey

CHECKS: Final[tuple[Check, ...]] = (
    *devices.CHECKS,
    *capacity.CHECKS,
    *settings.CHECKS,
    *hami.CHECKS,
    *quotas.CHECKS,
    *webhooks.CHECKS,
    *pods.CHECKS,
)
"""Every hazard that a scan looks for, in the order of the report."""

__all__ = ["CHECKS", "Check", "Hazard", "Severity", "Unknown", "find_hazards"]


def find_hazards(survey: Survey) -> tuple[list[Hazard], list[Unknown]]:
    """The hazards, the severest first, and those that cannot be known since something may not be read."""
    hazards: list[Hazard] = []
    unknown: list[Unknown] = []
    for check in CHECKS:
        result = run(check, survey)
        if isinstance(result, Unknown):
            unknown.append(result)
        elif result is not None:
            hazards.append(result)
    order = list(Severity)
    return sorted(hazards, key=lambda hazard: order.index(hazard.check.severity)), unknown
