"""Settings and driver profiles, resolved once so that a translation looks nothing up twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from app.drivers import DriverProfile, builtin_profiles
from app.translate.facts import Version
from app.translate.settings import TranslationSettings


class Key(Enum):
    """What a legacy resource name asks."""

    COUNT = "count"
    MEMORY = "memory"
    PERCENTAGE = "memoryPercentage"
    CORES = "cores"
    PRIORITY = "priority"
    SHARED = "shared"
    MIG = "mig"


class PolicyError(ValueError):
    """Settings that contradict the driver profiles; ``problems`` holds one sentence for each, with its path."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, eq=False)
class Policy:
    """What :func:`app.translate.translate` needs besides the pod and the facts. Compared by identity, to key caches.

    Raises:
        PolicyError: when made from settings that name a profile which does not exist or cannot serve.
    """

    settings: TranslationSettings = field(default_factory=TranslationSettings)
    profiles: Mapping[str, DriverProfile] | None = None
    """Driver profiles by name; None = the built-in ones."""

    def __post_init__(self) -> None:
        binding = self.settings.bindings.nvidia
        problems = []
        for part, name in (("driver", binding.driver), ("mig", binding.mig), ("shared", binding.shared)):
            path = f"bindings.nvidia.{part}"
            profile = None if name is None else self._profiles.get(name)
            if name is not None and profile is None:
                problems.append(
                    f"{path}: no driver profile is named {name!r}; there are: {', '.join(sorted(self._profiles))}"
                )
            elif profile is not None and part == "mig" and profile.mig is None:
                problems.append(f"{path}: driver profile {name!r} has no MIG devices")
            elif profile is not None and part == "shared" and profile.capacity.shares is None:
                problems.append(f"{path}: driver profile {name!r} has no capacity shares")
        if self.settings.nvidia.count == "mig" and binding.mig is None:
            problems.append("nvidia.count: mig needs bindings.nvidia.mig")
        if self.settings.nvidia.count == "share" and binding.shared is None:
            problems.append("nvidia.count: share needs bindings.nvidia.shared")
        if problems:
            raise PolicyError(problems)

    @cached_property
    def _profiles(self) -> Mapping[str, DriverProfile]:
        return builtin_profiles() if self.profiles is None else self.profiles

    @cached_property
    def keys(self) -> Mapping[str, Key]:
        """The exact legacy names. MIG names are many; :func:`app.translate.keys.classify` knows them."""
        names = self.settings.resource_names
        return {
            names.count: Key.COUNT,
            names.memory: Key.MEMORY,
            names.memory_percentage: Key.PERCENTAGE,
            names.cores: Key.CORES,
            names.priority: Key.PRIORITY,
            names.count + names.shared_suffix: Key.SHARED,
        }

    @cached_property
    def card_profile(self) -> DriverProfile:
        """The driver that serves cards."""
        return self._profiles[self.settings.bindings.nvidia.driver]

    @cached_property
    def mig_profile(self) -> DriverProfile | None:
        """The driver that serves MIG names, if any."""
        name = self.settings.bindings.nvidia.mig
        return None if name is None else self._profiles[name]

    @cached_property
    def shared_profile(self) -> DriverProfile | None:
        """The driver that serves shared names, if any."""
        name = self.settings.bindings.nvidia.shared
        return None if name is None else self._profiles[name]

    @cached_property
    def count_profile(self) -> DriverProfile:
        """The driver that serves the count, whatever its unit is (S44)."""
        units = {"card": self.card_profile, "mig": self.mig_profile, "share": self.shared_profile}
        return units[self.settings.nvidia.count] or self.card_profile

    @cached_property
    def count_class(self) -> str:
        """The DeviceClass that the count is asked of."""
        mig = self.count_profile.mig if self.settings.nvidia.count == "mig" else None
        return self.count_profile.device_class if mig is None else mig.device_class

    @cached_property
    def scheduler_version(self) -> Version | None:
        """The configured scheduler version; None = as the API server."""
        version = self.settings.scheduler_version
        return None if version is None else (1, int(version.partition(".")[2]))
