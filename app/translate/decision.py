"""What the translation says about one pod: data only, equal for equal input.

A :class:`Decision` is all that the webhook, the preview and the reports know about a pod. Nobody builds
one but :mod:`app.translate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from app.translate.reasons import Reason

JSON = Any
"""A parsed JSON value; pods stay mappings, typed models are too slow here."""

API_VERSION = "resource.k8s.io/v1"
MARK_LABEL = "hami.io/dra-webhook-template"
"""Label (value ``"true"``) of templates that the webhook wrote and may remove again."""
SUMMARY_ANNOTATION = "hami.io/dra-webhook-asks"
"""What a template asks, in words, for people who run ``kubectl describe``."""
CONVERTED_LABEL = "hami.io/dra-webhook-converted"
ORIGINALS_ANNOTATION = "hami.io/dra-original-resources"
WARNINGS_ANNOTATION = "hami.io/dra-warnings"


class Outcome(StrEnum):
    """What happens to the pod."""

    CONVERTED = "converted"
    UNTOUCHED = "untouched"
    DENIED = "denied"


class Role(StrEnum):
    """What kind of container a claim belongs to."""

    CONTAINER = "container"
    INIT = "init"
    SIDECAR = "sidecar"


@dataclass(frozen=True, slots=True)
class Note:
    """One reason or warning: a word for machines, a sentence for people, the place in the pod."""

    reason: Reason
    message: str
    path: str = ""
    """Where in the pod, as in ``spec.containers[1].resources.limits["nvidia.com/gpumem"]``; empty for the whole pod."""


@dataclass(frozen=True, slots=True)
class Template:
    """A ResourceClaimTemplate that a decision needs: same content, same name (S62)."""

    name: str
    spec: Mapping[str, JSON]
    """The claim spec, ``{"devices": {"requests": […], "constraints": […]}}``. Never changed after it is made."""
    summary: str
    """What it asks, in words: ``1 card, 8000 MiB, 0 % cores (HAMi k8s-dra-driver)``."""

    def body(self, namespace: str | None = None, *, marked: bool = False) -> dict[str, JSON]:
        """The object to create: with the mark for the webhook, without it for ``preview -o yaml``."""
        metadata: dict[str, JSON] = {"name": self.name}
        if namespace is not None:
            metadata["namespace"] = namespace
        if marked:
            metadata["labels"] = {MARK_LABEL: "true"}
        metadata["annotations"] = {SUMMARY_ANNOTATION: self.summary}
        return {
            "apiVersion": API_VERSION,
            "kind": "ResourceClaimTemplate",
            "metadata": metadata,
            "spec": {"spec": self.spec},
        }


class Claim(NamedTuple):
    """What one container is granted by one request of one claim."""

    container: str
    role: Role
    claim: str
    """Name of the entry in ``spec.resourceClaims``."""
    template: str
    request: str
    """Name of the request inside the claim."""
    driver: str
    device_class: str
    devices: int
    memory_mib: int | None = None
    """Granted per device; None = all of it, a percentage, or what is free of a share."""
    memory_percentage: int | None = None
    cores: int | None = None
    """Percent per device; None where the driver has no cores."""
    exclusive: bool = False
    """True only when nobody else can get on the card."""
    mig_profile: str | None = None
    share: bool = False
    """One of the counted shares of a device (S41)."""
    shares_claim_of: str | None = None
    """Name of the container whose claim an init container re-uses (S65)."""
    rules: tuple[str, ...] = ()
    """The S-rules that decided, in the order in which they applied."""
    settings: tuple[str, ...] = ()
    """The settings that gave numbers which the container did not write (S12)."""
    read: Mapping[str, JSON] = MappingProxyType({})
    """The legacy keys behind it with their values, as the pod spelled them."""


class Change(NamedTuple):
    """What a rule changed besides adding claims."""

    rule: str
    read: Mapping[str, JSON] = MappingProxyType({})
    """Keys or fields that are gone or decided, with their values."""
    becomes: tuple[str, ...] = ()
    setting: str | None = None
    """Dotted name of the setting that decided, as in the settings file."""
    container: str | None = None
    """None = the pod itself."""
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one pod."""

    outcome: Outcome
    reasons: tuple[Note, ...]
    """Why this outcome; at least one."""
    warnings: tuple[Note, ...] = ()
    claims: tuple[Claim, ...] = ()
    changes: tuple[Change, ...] = ()
    templates: tuple[Template, ...] = ()
    """Must exist before the pod is admitted."""
    patch: tuple[Mapping[str, JSON], ...] = ()
    """RFC 6902 operations relative to the pod. May be non-empty for ``untouched`` (S4: scheduler name)."""

    @property
    def reason(self) -> Reason:
        """The word for metrics and logs: the first reason."""
        return self.reasons[0].reason
