"""From one ask to the requests of a claim: selectors, capacities, alternatives, constraints (S36-S53)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from app.translate import cel
from app.translate.asks import FULL, Ask, Kind
from app.translate.devices import (
    CannotServeError,
    Finding,
    mig_profiles_of_at_least,
    numa_attribute,
    variants,
)
from app.translate.facts import Facts
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.selection import (
    NOT_TYPE,
    NOT_UUID,
    NUMA,
    USE_TYPE,
    USE_UUID,
    Selection,
    selectors,
    unserved,
)
from app.translate.target import Target

_MIXED_PROFILES = 4
"""Up to so many MIG devices chosen by memory may be of different profiles, as legacy allowed: a request each. A
hopeless demand of ten such requests costs the scheduler its 10 s limit, one of four a tenth of a second."""
_DISTINCT_CARDS = (1, 36)
"""First scheduler whose ``count: N`` gives N different shareable cards (kubernetes PR 133678, S37)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a claim, as reports show it."""

    ask: Ask
    request: str
    device_class: str
    exclusive: bool
    memory_mib: int | None
    percentage: int | None
    cores: int | None
    """Of each device; None where the request has no such capacity: the device is taken as it is."""
    rules: tuple[str, ...]
    settings: tuple[str, ...]


class RequestBuilder:
    """Builds the requests of one ask. A class, because six small steps share five inputs."""

    def __init__(
        self, ask: Ask, target: Target, selection: Selection, facts: Facts, policy: Policy, taken: AbstractSet[str]
    ) -> None:
        self.ask, self.target, self.facts, self.policy = ask, target, facts, policy
        self.selection = selection
        self.share = ask.kind is Kind.SHARE and not target.by_memory
        self.name = self._free_name(taken)
        # Shares are asked only where there are some (S41), and other devices of the driver never match them.
        self.sharing = frozenset({"shares"}) if self.share else target.sharing(facts)
        self.shareable = self.sharing != {"exclusive"}
        self.requests: list[dict[str, Any]] = []
        self.constraints: list[dict[str, Any]] = []
        self.findings: list[Finding] = []
        self.rules: list[str] = [*ask.rules, *(["S52"] if selection.mode is not None else [])]

    def build(self, *, shares_claim: bool) -> None:
        """Fills ``requests``, ``constraints`` and ``findings``.

        Args:
            shares_claim: the claim holds requests of other asks too, so constraints must name ours.
        """
        options = self._options()
        count, copies = self.ask.devices, 1
        if count > 1:
            self.rules += [] if self.target.mig else ["S37"]  # MIG devices may be of one card
            mixed = self.target.by_memory and len(options) > 1 and count <= _MIXED_PROFILES
            if mixed or (self.shareable and self._old_scheduler()):
                count, copies = 1, count
        names = [self.name] if copies == 1 else [f"{self.name}-{i}" for i in range(copies)]
        for name in names:
            if len(options) == 1:
                self.requests.append({"name": name, "exactly": {**options[0][1], "count": count}})
            else:
                alternatives = [{"name": n, **option, "count": count} for n, option in options]
                self.requests.append({"name": name, "firstAvailable": alternatives})
        scope = {"requests": names} if shares_claim else {}
        if copies > 1 and self.shareable and self.target.profile.distinct is not None:
            self.constraints.append({**scope, "distinctAttribute": self.target.profile.distinct})
        self._bind_numa(scope)

    def row(self) -> Row:
        """The request as reports show it."""
        limits = self.shareable and not self.target.by_memory
        memory, percentage = (self.ask.memory_mib, self.ask.percentage) if limits else (None, None)
        whole = memory is None and percentage is None
        exclusive = not self.target.mig and (not self.shareable or (whole and "unlimited" not in self.sharing))
        return Row(
            self.ask,
            self.name,
            self.target.device_class,
            exclusive and not self.share,
            memory,
            percentage,
            self.ask.cores if self._has_cores() else None,
            tuple(dict.fromkeys(self.rules)),
            tuple(name for name in self.ask.settings if name != "defaultCores" or self._has_cores()),
        )

    def slug(self) -> str:
        """What is asked, readable in the name of a template."""
        ask = self.ask
        parts = [f"{ask.devices}x"]
        if ask.mig_profile is not None:
            parts.append(_label(ask.mig_profile))
        if ask.memory_mib is not None:
            parts.append(f"{ask.memory_mib}mi")
        elif ask.percentage is not None:
            parts.append(f"{ask.percentage}pct")
        elif ask.kind is Kind.CARD:
            parts.append("whole")
        if ask.cores is not None and self._has_cores():
            parts.append(f"{ask.cores}c")
        return "-".join((self.name.partition("-")[0], *parts))

    def _old_scheduler(self) -> bool:
        version = self.policy.scheduler_version or self.facts.server_version
        return version is not None and version < _DISTINCT_CARDS

    def _free_name(self, taken: AbstractSet[str]) -> str:
        """A request name that no other request of the claim has (two keys may mean one profile through an alias)."""
        base = "mig" if self.target.mig else "share" if self.share else "gpu"
        if self.ask.mig_profile is not None:
            base = f"{base}-{_label(self.ask.mig_profile)}"
        if self.share and self.target.mig:
            base += "-shared"
        number = 1
        while (name := base if number == 1 else f"{base}-{number}") in taken:
            number += 1
        return name

    def _has_cores(self) -> bool:
        return self.shareable and self.target.publishes(self.target.profile.capacity.cores, self.facts)

    def _options(self) -> list[tuple[str, dict[str, Any]]]:
        """Named alternatives, best first; one of them is enough."""
        base = self._base_selectors()
        if self.target.by_memory:
            return self._mig_by_memory(base)
        if not self.shareable:
            return [("whole", self._option(base + self._without_sharing(), {}))]
        capacity = self._cores()
        ask = self.ask
        if self.share:
            capacity |= self._shares(1)
        if ask.memory_mib is not None:
            self.rules += ["S40"] if self.share else []
            return [("amount", self._option(base, {**self._memory(f"{ask.memory_mib}Mi"), **capacity}))]
        if self.share and ask.percentage is None:
            return [("share", self._option(base, capacity))]
        if ask.percentage is None and self.sharing <= {"exclusive", "memory"}:
            return [("whole", self._option(base, capacity))]  # the driver's default is all of it
        return self._per_size(base, capacity)

    def _base_selectors(self) -> list[str]:
        profile = self.target.profile
        try:
            expressions = selectors(self.selection, profile, mig=self.target.mig)
        except cel.TooLongError as error:
            raise CannotServeError(
                Reason.LIST_TOO_LONG,
                f"an annotation lists more names than a claim selector holds: {error.fits} of them fit in 10240 bytes",
            ) from None
        if self.selection.chooses:
            title, idle = profile.title, unserved(self.selection, profile, mig=self.target.mig)
            self.findings += [
                (Reason.ANNOTATION_UNSERVED, f"{name} has no effect: {title} publishes nothing to choose by")
                for name in idle
            ]
            by_uuid = self.selection.uuid_allow is not None or bool(self.selection.uuid_deny)
            by_type = self.selection.type_allow is not None or bool(self.selection.type_deny)
            self.rules += ["S50"] * (by_uuid and not {USE_UUID, NOT_UUID} & {*idle})
            self.rules += ["S51"] * (by_type and not {USE_TYPE, NOT_TYPE} & {*idle})
        if self.target.mig and profile.mig and self.ask.mig_profile is not None:
            expressions = [cel.equals(profile.driver, profile.mig.profile, self.ask.mig_profile), *expressions]
        return expressions

    def _option(self, expressions: Sequence[str], capacity: Mapping[str, str]) -> dict[str, Any]:
        option: dict[str, Any] = {"deviceClassName": self.target.device_class}
        if expressions:
            option["selectors"] = [{"cel": {"expression": e}} for e in expressions]
        option["allocationMode"] = "ExactCount"
        if capacity:
            option["capacity"] = {"requests": dict(capacity)}
        return option

    def _cores(self) -> dict[str, str]:
        name = self.target.profile.capacity.cores
        if self._has_cores() and name is not None:
            self.rules.append("S36")
            if self.ask.cores == FULL and (self.ask.memory_mib or self.ask.percentage):
                text = "all cores of a share: a neighbour with cores 0 may join the card"
                self.findings.append((Reason.FULL_CORES_SHARED, text))
            return {name: str(self.ask.cores or 0)}
        if self.ask.cores_given:
            self.rules.append("S40")
            text = (
                f"{self.target.profile.title} has no cores: {self.policy.settings.resource_names.cores} has no effect"
            )
            self.findings.append((Reason.CORES_UNSUPPORTED, text))
        return {}

    def _memory(self, amount: str) -> dict[str, str]:
        name, title = self.target.profile.capacity.memory, self.target.profile.title
        if name is None or not self.target.publishes(name, self.facts):
            raise CannotServeError(Reason.NO_SHARING, f"{title} publishes no memory, so no amount of it can be asked")
        return {name: amount}

    def _shares(self, number: int) -> dict[str, str]:
        name = self.target.profile.capacity.shares
        return {} if name is None else {name: str(number)}

    def _without_sharing(self) -> list[str]:
        """A driver that hands out whole devices: memory is a filter, the rest has no effect (S39)."""
        if not self.ask.limited:
            return []
        self.rules.append("S39")
        title, names = self.target.profile.title, self.policy.settings.resource_names
        devices = "MIG devices" if self.target.mig else "cards"
        if self.policy.settings.no_sharing == "deny":
            text = f"{title} hands out whole {devices} only: write {names.count} alone (noSharing is deny)"
            raise CannotServeError(Reason.NO_SHARING, text)
        text = f"{title} does not share {devices}: whole {devices} are taken"
        self.findings.append((Reason.WHOLE_CARD_INSTEAD, text))
        memory = self.target.profile.capacity.memory
        if self.ask.memory_mib is None or memory is None or not self.target.publishes(memory, self.facts):
            return []
        return [cel.memory(self.target.profile.driver, memory, ">=", f"{self.ask.memory_mib}Mi")]

    def _per_size(self, base: Sequence[str], capacity: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
        """One alternative per card size: a percentage, or a whole card where leaving memory out costs nothing."""
        ask, profile = self.ask, self.target.profile
        self.rules.append("S38" if ask.percentage is not None else "S40")
        sizes, findings = variants(self.target, ask.mig_profile, self.selection, self.facts, self.policy)
        self.findings += findings
        name = profile.capacity.memory
        if not sizes or name is None:
            what = f"{ask.percentage} % of a card" if ask.percentage is not None else "a whole card"
            raise CannotServeError(
                Reason.CARD_SIZE_UNKNOWN,
                f"{what} needs the card's memory, and no ResourceSlice of {profile.title} is known: "
                f"set cardMemoryMiB or write {self.policy.settings.resource_names.memory}",
            )
        if len(sizes) > 1 and not profile.prioritized_alternatives:
            raise CannotServeError(
                Reason.NO_ALTERNATIVES,
                f"{profile.title} reads no claims with alternatives, and cards differ in size: "
                f"write {self.policy.settings.resource_names.memory}",
            )
        options = []
        for size in sizes:
            if ask.percentage is not None:
                wanted = {name: f"{max(1, size.mib * ask.percentage // 100)}Mi"}
            elif size.shares is not None:
                wanted = {name: size.quantity, **self._shares(size.shares)}
            else:
                wanted = {name: size.quantity}
            expressions = [*base, cel.memory(profile.driver, name, "==", size.quantity)]
            suffix = f"-{size.shares}" if size.shares is not None else ""
            options.append((f"m{size.quantity.lower()}{suffix}", self._option(expressions, {**wanted, **capacity})))
        return options

    def _mig_by_memory(self, base: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """MIG devices with at least the asked memory, smallest profile first (S52)."""
        profile, mib = self.target.profile, self.ask.memory_mib or 0
        if self.ask.cores_given:
            text = f"MIG devices have no cores: {self.policy.settings.resource_names.cores} has no effect"
            self.findings.append((Reason.CORES_UNSUPPORTED, text))
        memory = profile.capacity.memory
        large_enough = [] if memory is None else [cel.memory(profile.driver, memory, ">=", f"{mib}Mi")]
        names = mig_profiles_of_at_least(self.target, mib, self.selection, self.facts)
        if not names or profile.mig is None:
            text = f"MIG sizes are not known here: the first device of at least {mib} MiB is taken"
            self.findings.append((Reason.MIG_FIRST_FIT, text))
            return [("mig", self._option([*base, *large_enough], {}))]
        return [
            (
                f"mig-{_label(name)}",
                self._option([cel.equals(profile.driver, profile.mig.profile, name), *base, *large_enough], {}),
            )
            for name in names
        ]

    def _bind_numa(self, scope: Mapping[str, Any]) -> None:
        if not self.selection.numa or self.ask.devices == 1:
            return
        attribute = numa_attribute(self.target, self.facts)
        if attribute is not None:
            self.rules.append("S53")
            self.constraints.append({**scope, "matchAttribute": attribute})
            return
        text = f"{NUMA} has no effect: {self.target.profile.title} publishes no NUMA node"
        if self.policy.settings.numa_bind == "deny":
            raise CannotServeError(Reason.NUMA_UNPUBLISHED, f"{text}, and numaBind is deny")
        self.findings.append((Reason.NUMA_IGNORED, text))


def _label(profile: str) -> str:
    """A MIG profile as part of a DNS label: ``1g.5gb+me`` → ``1g-5gb-me``."""
    return re.sub(r"[^a-z0-9]", "-", profile.lower()).strip("-")
