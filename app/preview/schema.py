"""The shapes of requests and answers, for ``/openapi.json``. Nothing is read or written through these models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

JSON = dict[str, Any]


class _Shape(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class Reason(_Shape):
    """Why something is so: a reason of the report, or an error."""

    code: str
    """A word for machines; docs/reasons.md and docs/preview.md list them."""
    message: str
    """What was read, and why it cannot be."""
    document: int | None
    """Index of the document, counted from 0 among those that hold something."""
    line: int | None
    """From 1."""
    column: int | None
    """From 1."""
    path: str | None
    """A field of the pod, or the name of an option."""
    hint: str | None
    """What to do instead."""


class Causes(Reason):
    """An error of a whole request."""

    causes: list[Reason]
    """The single problems, where there are several."""


class Error(_Shape):
    """The answer to a request that is refused as a whole."""

    error: Causes


class Place(_Shape):
    """Where an item comes from."""

    file: str | None
    """null for requests."""
    document: int
    """Index of the document, counted from 0 among those that hold something."""
    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None
    generate_name: str | None
    pod_path: str | None
    """Of the pod template; empty for a Pod, null without a pod."""


class Claim(_Shape):
    """Devices that a container is granted."""

    claim: str
    """Its entry in ``spec.resourceClaims``."""
    template: str
    """Name of the ResourceClaimTemplate."""
    request: str
    driver: str
    device_class: str
    devices: int
    memory_mib: int | None
    """Per device; null = all of it."""
    memory_percentage: int | None
    cores: int | None
    """Percent of each device; 0 = no limit."""
    exclusive: bool
    """Nobody else can get on the card."""
    mig_profile: str | None
    share: bool
    """One of the counted shares of a device."""
    shares_claim_of: str | None
    """The container whose claim an init container re-uses."""
    read: JSON
    """The legacy keys behind the claim."""
    rules: list[str]
    """The rules of docs/translation.md that decided."""

    model_config = ConfigDict(alias_generator=lambda name: to_camel(name).replace("Mib", "MiB"))


class Container(_Shape):
    """A container of an admitted pod."""

    name: str | None
    role: Literal["container", "init", "sidecar"]
    claims: list[Claim]


class Decider(_Shape):
    """The setting that decided."""

    name: str
    value: Any


class Row(_Shape):
    """One rule of one claim, or one that changed a container or the pod besides."""

    container: str | None
    """null = the pod itself."""
    role: Literal["container", "init", "sidecar"] | None
    read: list[str]
    """``nvidia.com/gpu: 1``: resources, annotations and fields."""
    rule: str
    because: str
    setting: Decider | None
    becomes: list[str]


class Match(_Shape):
    """The devices that one request matches, whoever has them now."""

    claim: str
    """Its entry in ``spec.resourceClaims``."""
    request: str
    """``request``, or ``request/alternative``."""
    nodes: int
    """Nodes with at least the asked number of them."""
    devices: int
    node_names: list[str]
    """Never named here: empty."""
    error: str | None = None
    """Why a selector cannot be evaluated."""


class Item(_Shape):
    """One pod or pod template, an object without any, or a document that is no manifest."""

    source: Place
    outcome: Literal["converted", "untouched", "denied", "invalid"]
    reasons: list[Reason]
    warnings: list[str]
    containers: list[Container]
    explanation: list[Row]
    templates: list[JSON]
    """The ResourceClaimTemplates that the pod needs."""
    pod: JSON | None
    """The pod as it would be admitted."""
    object: JSON | None
    """The object as ``output=yaml`` prints it."""
    patch: list[JSON]
    """RFC 6902, relative to the pod."""
    matches: list[Match] | None = None
    """What the claims match in this cluster; not there while its devices are unknown."""


class Side(_Shape):
    """An item before and after, for the page: members may change."""

    model_config = ConfigDict(extra="allow")

    line: int
    last_line: int
    before: str
    after: str | None
    """null where nothing changes."""


class Renderings(_Shape):
    """What ``include`` asks for; other members are not there."""

    yaml: str | None = None
    """The converted manifests; null when something is refused and keepGoing is not given."""
    diff: str | None = None
    sides: list[Side] | None = None
    """One for each item, in their order."""
    notes: list[str]
    """What the command line says on standard error."""


class Summary(_Shape):
    """Number of items by outcome."""

    converted: int
    untouched: int
    denied: int
    invalid: int


class PreviewReport(_Shape):
    """What an input becomes; docs/preview.md describes each member. Members may be added."""

    api_version: Literal["hami.io/v1alpha1"]
    kind: Literal["PreviewReport"]
    summary: Summary
    items: list[Item]
    renderings: Renderings | None = None


class Backend(_Shape):
    """A driver profile."""

    name: str
    title: str
    description: str
    set: JSON
    """The settings that it stands for."""
    current: bool
    """The server's own."""


class Setting(_Shape):
    """A setting of the translation."""

    key: str
    description: str
    type: Literal["string", "integer", "boolean", "choice"]
    nullable: bool
    choices: list[str]
    minimum: int | None
    maximum: int | None
    value: Any
    """The server's own."""
    default: Any


class PreviewOptions(_Shape):
    """What ``backend`` and ``set`` take."""

    backends: list[Backend]
    settings: list[Setting]
