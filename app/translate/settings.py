"""The settings that decide what a request means; every field is one the contract names.

Pure data: files, environment and flags are read in :mod:`app.settings`, which extends this tree.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
"""What stands before and after the slash of a qualified name; the second is also what a label may have as its value."""

ResourceName = Annotated[str, StringConstraints(max_length=317, pattern=f"^{_DOMAIN}/{_NAME}$")]
LabelKey = Annotated[str, StringConstraints(max_length=317, pattern=f"^({_DOMAIN}/)?{_NAME}$")]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=f"^{_NAME}$")]
ObjectName = Annotated[str, StringConstraints(max_length=253, pattern=f"^{_DOMAIN}$")]
"""Name of a Kubernetes object, and of a domain."""


class SettingsModel(BaseModel):
    """A frozen group of settings: camelCase in files, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class ResourceNames(SettingsModel):
    """Names of the legacy resources; sites do rename them (HAMi chart values ``resourceName``, ``resourceMem``, …)."""

    count: ResourceName = "nvidia.com/gpu"
    """Number of cards."""
    memory: ResourceName = "nvidia.com/gpumem"
    """Memory per card, in MiB."""
    memory_percentage: ResourceName = "nvidia.com/gpumem-percentage"
    """Memory per card, in percent of the card."""
    cores: ResourceName = "nvidia.com/gpucores"
    """Compute per card, in percent of the card."""
    priority: ResourceName = "nvidia.com/priority"
    """Task priority, 0 (high) or 1 (low)."""
    mig_prefix: str = "nvidia.com/mig-"
    """What stands before the profile in the names of MIG devices."""
    shared_suffix: str = ".shared"
    """What the device plugin appends to the names of time-sliced replicas."""

    @model_validator(mode="after")
    def _distinct(self) -> ResourceNames:
        names = [self.count, self.memory, self.memory_percentage, self.cores, self.priority]
        doubled = sorted({n for n in names if names.count(n) > 1})
        if doubled:
            raise ValueError(f"{', '.join(doubled)} is given to more than one resource")
        if "/" not in self.mig_prefix:
            raise ValueError(f"migPrefix {self.mig_prefix!r} needs a domain, as in nvidia.com/mig-")
        if not self.shared_suffix.startswith("."):
            raise ValueError(f"sharedSuffix {self.shared_suffix!r} must start with a dot, as in .shared")
        return self


class Binding(SettingsModel):
    """Which driver profiles serve the NVIDIA family (S46)."""

    driver: str = "hami-core-gpu.project-hami.io"
    """Driver profile for cards asked through the count."""
    mig: str | None = "gpu.nvidia.com"
    """Driver profile for MIG devices; null: their keys stay."""
    shared: str | None = None
    """Driver profile with a ``shares`` capacity for shared names; null, or no device with shares: keys stay (S41)."""


class Bindings(SettingsModel):
    """Driver profiles per family."""

    nvidia: Binding = Binding()


class NvidiaFamily(SettingsModel):
    """What the NVIDIA names mean at this site."""

    count: Literal["card", "mig", "share"] = "card"
    """What a plain count asks: a card; any MIG device (plugin strategy ``single``); a share (time-slicing) (S44)."""


class Schedulers(SettingsModel):
    """Which pods are converted by the scheduler they name (S4)."""

    legacy: str = "hami-scheduler"
    """The old scheduler, which is rewritten to ``target``."""
    target: str = "default-scheduler"
    """The scheduler that allocates claims."""
    convert_default: bool = True
    """Convert pods of ``default-scheduler`` and pods that name none."""
    convert: tuple[str, ...] = ()
    """Further schedulers that allocate claims; their pods convert and keep their scheduler."""


class Toleration(SettingsModel):
    """A pod toleration, as in ``spec.tolerations``."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = None


class Options(SettingsModel):
    """What may be added to pods that get devices; all off by default, user values always win (S68)."""

    runtime_class_name: str | None = None
    """``spec.runtimeClassName`` where the pod has none."""
    gpu_core_policy: Literal["default", "force", "disable"] | None = None
    """``GPU_CORE_UTILIZATION_POLICY`` of containers that get devices."""
    hide_from_others: bool = False
    """``NVIDIA_VISIBLE_DEVICES=none`` for containers without a GPU, in pods that convert."""
    visible_devices: Literal["void"] | None = None
    """``NVIDIA_VISIBLE_DEVICES=void`` for containers that get devices and set none themselves."""
    tolerations: tuple[Toleration, ...] = ()
    """Added to pods that get devices, where the very same toleration is not there yet."""


class OptIn(SettingsModel):
    """The namespace label that switches the webhook on, and its value (S2)."""

    label: LabelKey = "hami.io/dra-webhook"
    """Key of the label."""
    value: LabelValue = "enabled"
    """The value that switches the webhook on for a namespace."""
    opt_out_value: LabelValue = "disabled"
    """The value of the same label, on a pod, that keeps the webhook away."""


class TranslationSettings(SettingsModel):
    """Everything that :func:`app.translate.translate` reads from the configuration."""

    resource_names: ResourceNames = ResourceNames()
    nvidia: NvidiaFamily = NvidiaFamily()
    bindings: Bindings = Bindings()
    schedulers: Schedulers = Schedulers()
    opt_in: OptIn = OptIn()
    options: Options = Options()
    memory_factor: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Multiplies memory, never the percentage (S12)."""
    default_memory: Annotated[int, Field(ge=0)] = 0
    """MiB for requests without memory; 0 = the whole card (S12)."""
    default_cores: Annotated[int, Field(ge=0, le=100)] = 0
    """Percent for requests without cores that do not take the whole card (S12)."""
    default_gpu_num: Annotated[int, Field(ge=0, le=32, alias="defaultGPUNum")] = 1
    """Cards for requests without a count (S33)."""
    max_memory_mib: Annotated[int, Field(ge=1, le=2_147_483_647, alias="maxMemoryMiB")] = 4_194_304
    """Memory above this is refused (S11). 4 TiB: no card comes near it."""
    node_name: Literal["pin", "deny"] = "pin"
    """Pods with ``spec.nodeName``: turned into a required affinity, or refused (S7)."""
    no_sharing: Literal["whole-card", "deny"] = "whole-card"
    """Shares on a driver that hands out whole cards only: take whole cards, or refuse (S39)."""
    exclusive_cores: Literal["keep-memory", "whole-card"] = "keep-memory"
    """A memory amount with all cores: keep the amount, or take the whole card (S30)."""
    numa_bind: Literal["warn", "deny"] = "warn"
    """``numa-bind`` where no NUMA node is published (S53)."""
    whole_gpu: Literal["convert", "native"] = "convert"
    """Pods that ask for whole cards only: convert, or leave to Kubernetes ≥ 1.36 (S67)."""
    card_memory_mib: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=64, alias="cardMemoryMiB")
    ] = ()
    """Card sizes for percentages while no ResourceSlice is known (S38)."""
    mig_aliases: dict[str, str] = Field(default_factory=dict)
    """MIG profile as manifests name it → profile as the slices name it, for renamed profiles (S43)."""
    scheduler_version: Annotated[str, StringConstraints(pattern=r"^1\.\d+$")] | None = None
    """Version of the scheduler during a control-plane upgrade; null = the API server's (S37)."""
