"""The validated shape of a driver profile: one TOML file describes one DRA driver.

A profile says how a driver's devices look in ResourceSlices and what a claim may ask of them. It
never says what a legacy request means; that is the translation's business.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

DnsSubdomain = Annotated[
    str, StringConstraints(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
]
# resource.k8s.io limits: identifier ≤ 32, optional domain ≤ 63 (k8s.io/api resource/v1 DeviceMaxIDLength).
QualifiedName = Annotated[
    str, StringConstraints(max_length=96, pattern=r"^([a-z0-9.-]{1,63}/)?[A-Za-z_][A-Za-z0-9_]{0,31}$")
]

Sharing = Literal["exclusive", "memory", "unlimited", "shares"]
"""How one device is handed out.

``exclusive``: a claim gets the whole device. ``memory``: shareable, and a claim that leaves memory out
pays for all of it. ``unlimited``: shareable, and leaving memory out costs nothing. ``shares``: as
``unlimited``, with a counted capacity ``shares``.
"""


class ProfileError(ValueError):
    """Driver profile files that cannot be used; ``problems`` holds one sentence for each, with its file and path."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class _Profile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class CapacityProfile(_Profile):
    """Names of the consumable capacities, spelled exactly as the driver's slices spell them (S42)."""

    memory: QualifiedName | None = None
    """Device memory in bytes."""
    cores: QualifiedName | None = None
    """Compute share in percent, 0-100. Written into every request of a sharing device, also as 0 (S36)."""
    shares: QualifiedName | None = None
    """Number of shares of one device (NVIDIA consumable shares)."""


class AttributeProfile(_Profile):
    """Names of the device attributes that selectors and constraints use; a bare name belongs to the driver's domain."""

    type: QualifiedName | None = None
    """Attribute that tells the kinds of devices of one driver apart (whole card, MIG device)."""
    uuid: QualifiedName | None = None
    product: QualifiedName | None = None
    numa: QualifiedName | None = None


class MigProfile(_Profile):
    """How the driver publishes MIG devices."""

    device_class: DnsSubdomain
    type: str = "mig"
    """Value of the ``type`` attribute of a MIG device."""
    profile: QualifiedName = "profile"
    parent_uuid: QualifiedName = "parentUUID"


class DriverProfile(_Profile):
    """One DRA driver, as the translation needs to know it."""

    name: DnsSubdomain
    """Name of the profile; bindings refer to it."""
    driver: DnsSubdomain
    """``spec.driver`` of the ResourceSlices, and the domain of bare attribute and capacity names."""
    title: str
    """What people call the driver, for messages and documentation."""
    device_class: DnsSubdomain
    """DeviceClass of a whole card."""
    type: str | None = None
    """Value of the ``type`` attribute of a whole card, where the driver publishes several kinds."""
    sharing: Sharing
    """How cards are handed out while no ResourceSlice is known; slices that say otherwise win."""
    shares: Annotated[int, Field(ge=2, le=1000)] | None = None
    """Shares of one card with ``sharing = "shares"`` while no ResourceSlice is known; needed for whole cards (S40)."""
    privileged: Literal["deny", "allow"]
    """Privileged containers beside devices: ``deny`` where limits are enforced inside the container (S8)."""
    modes: tuple[str, ...] = ()
    """Values of ``nvidia.com/vgpu-mode`` that whole cards of this driver serve (S52)."""
    prioritized_alternatives: bool = True
    """False when the driver does not read claims that use ``firstAvailable`` (S38)."""
    distinct: QualifiedName | None = None
    """Fully qualified attribute that is unique per card, for ``distinctAttribute`` on old schedulers (S37)."""
    attributes: AttributeProfile = AttributeProfile()
    capacity: CapacityProfile = CapacityProfile()
    mig: MigProfile | None = None

    @model_validator(mode="after")
    def _consistent(self) -> DriverProfile:
        problems = []
        if self.type is not None and self.attributes.type is None:
            problems.append("type is set, so attributes.type must name the attribute that holds it")
        if self.sharing != "exclusive" and self.capacity.memory is None:
            problems.append(f"sharing {self.sharing!r} needs capacity.memory")
        if self.sharing != "exclusive" and self.distinct is None:
            problems.append(f"sharing {self.sharing!r} needs distinct, or old schedulers give one card twice (S37)")
        if self.sharing == "shares" and self.capacity.shares is None:
            problems.append("sharing 'shares' needs capacity.shares")
        if self.distinct is not None and "/" not in self.distinct:
            problems.append(f"distinct {self.distinct!r} must be fully qualified: {self.driver}/{self.distinct}")
        if self.mig is not None and self.attributes.type is None:
            problems.append("mig needs attributes.type, which tells MIG devices from whole cards")
        if problems:
            raise ValueError("; ".join(problems))
        return self
