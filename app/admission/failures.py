"""What a refusal is called and which code it gets: the one place that maps reasons and store errors to statuses."""

from __future__ import annotations

from dataclasses import dataclass

from app.cluster.store import (
    StoreUnavailable,
    TemplateError,
    TemplateFieldDropped,
    TemplateNameTaken,
    TemplateRefused,
)
from app.translate import Reason, Template

FORBIDDEN = 403
INVALID = 422
UNAVAILABLE = 503

_INVALID = frozenset(
    {
        Reason.MEMORY_TOO_LARGE,
        Reason.NUMBER_TOO_LARGE,
        Reason.PERCENTAGE_OUT_OF_RANGE,
        Reason.TOO_MANY_DEVICES,
        Reason.LIST_TOO_LONG,
        Reason.VGPU_MODE_UNSERVED,
        Reason.MIG_MODE_WITHOUT_MEMORY,
    }
)
"""Reasons that lie in a value of the pod, which is invalid everywhere; all others depend on the cluster or settings."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pod that could be translated is refused all the same."""

    reason: Reason
    message: str
    code: int


def status_code(reason: Reason) -> int:
    """``status.code`` of a refusal: 422 when a value cannot be, else 403."""
    return INVALID if reason in _INVALID else FORBIDDEN


def failure_of(template: Template, error: TemplateError) -> Failure:
    """The refusal of a pod whose template cannot be had."""
    what = f"ResourceClaimTemplate {template.name}"
    if isinstance(error, StoreUnavailable):
        return Failure(Reason.TEMPLATE_UNAVAILABLE, f"{what} could not be made: {error}; try again", UNAVAILABLE)
    if isinstance(error, TemplateFieldDropped):
        return Failure(Reason.FEATURE_GATE_OFF, str(error), FORBIDDEN)
    if isinstance(error, TemplateNameTaken):
        message = f"{error}, and so do all other names that this request could have; delete the ones that nobody needs"
        return Failure(Reason.TEMPLATE_REFUSED, message, FORBIDDEN)
    code = INVALID if isinstance(error, TemplateRefused) and error.code == INVALID else FORBIDDEN
    return Failure(Reason.TEMPLATE_REFUSED, f"{what} was refused: {error}", code)


def too_late(seconds: float) -> Failure:
    """The refusal of a pod whose templates were not confirmed in time."""
    message = f"the Kubernetes API did not confirm the ResourceClaimTemplates within {seconds:.1f} s; try again"
    return Failure(Reason.TEMPLATE_UNAVAILABLE, message, UNAVAILABLE)
