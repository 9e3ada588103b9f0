"""What a report cannot say where something may not be read: unknown is never shown as none."""

from __future__ import annotations

from typing import Final

from app.check.scan.hazards import CHECKS
from app.cluster.listing import Gap

_NUMBERS: Final = {
    "pods": "running pods, bare pods and pods of custom kinds are unknown; only templates of workloads are counted",
    "namespaces": "which namespaces are opted in or out is unknown; all are taken for opted in",
    "nodes": "which nodes the device plugin serves is unknown",
    "resourceslices": "offered devices and card sizes are unknown; common card sizes are assumed for percentages",
    "deviceclasses": "which DeviceClasses exist is unknown; those of the settings are assumed",
    "resourceclaims": "which devices are free is unknown; sums are compared with all that is offered",
    "limitranges": "which namespaces refuse converted pods by a LimitRange is unknown",
}
"""Plural name → the effect on the report's numbers."""
_PARTS: Final = {
    "nodes": "nodes",
    "resourceslices": "slices",
    "deviceclasses": "classes",
    "limitranges": "limit_ranges",
    "resourcequotas": "quotas",
    "mutatingwebhookconfigurations": "webhooks",
    "configmaps": "hami_settings",
}
"""Plural name → part of the cluster that checks read."""
_WORKLOADS: Final = "workloads of this kind are missing, unless their pods can be read"


def affected(gap: Gap) -> list[str]:
    """What is unknown or assumed since something could not be read: sentences, and codes of hazards."""
    part = _PARTS.get(gap.resource)
    if part is None and gap.resource not in _NUMBERS:
        return [_WORKLOADS]
    sentences = [_NUMBERS[gap.resource]] if gap.resource in _NUMBERS else []
    codes = [check.code for check in CHECKS if part in check.reads]
    return sentences + ([f"not looked for: {', '.join(codes)}"] if codes else [])
