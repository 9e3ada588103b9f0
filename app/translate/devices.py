"""Which devices an ask can land on, and what the cluster (or the settings) know of them.

An ask is resolved to one driver profile and one kind of device; from then on only the profile and the
facts speak, never the vendor's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.translate import cel
from app.translate.asks import Ask, Kind
from app.translate.facts import Device, Facts
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.selection import MODE, Selection, accepts
from app.translate.target import Target

MAX_ALTERNATIVES = 8
"""FirstAvailableDeviceRequestMaxSize of resource.k8s.io (S38)."""
Finding = tuple[Reason, str]
"""A reason and its sentence; the caller knows which container it is about."""


class CannotServeError(Exception):
    """An ask that no claim expresses; it denies the pod."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.finding: Finding = (reason, message)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Variant:
    """Devices that a claim must name apart: by memory, and by the number of their shares."""

    memory: int
    """Bytes."""
    shares: int | None = None

    @property
    def mib(self) -> int:
        """Memory in MiB, rounded down, as HAMi registers it."""
        return self.memory >> 20

    @property
    def quantity(self) -> str:
        """Memory as a quantity, exact."""
        return f"{self.mib}Mi" if self.memory % (1 << 20) == 0 else str(self.memory)


def resolve(ask: Ask, selection: Selection, facts: Facts, policy: Policy) -> Target:
    """The target of an ask (S44, S46, S52).

    Raises:
        CannotServeError: nothing bound serves the asked mode, or its DeviceClass does not exist.
    """
    target = _bound(ask, policy)
    if ask.from_count and selection.mode is not None:
        target = _by_mode(ask, target, selection.mode, policy)
    if not facts.may_have(target.device_class):
        raise CannotServeError(
            Reason.DEVICE_CLASS_MISSING,
            f"this cluster has no DeviceClass {target.device_class}: "
            f"install {target.profile.title} or change the binding",
        )
    return target


def _bound(ask: Ask, policy: Policy) -> Target:
    if ask.kind is Kind.MIG and policy.mig_profile is not None:
        return Target(policy.mig_profile, mig=True)
    if ask.kind is Kind.SHARE and policy.shared_profile is not None:
        return Target(policy.shared_profile, mig=ask.mig_profile is not None)
    return Target(policy.card_profile, mig=False)


def _by_mode(ask: Ask, target: Target, mode: str, policy: Policy) -> Target:
    # Legacy compared case-sensitively whether the annotation's text contains the card's mode.
    if target.mig and "mig" in mode:
        return target
    if not target.mig and any(served in mode for served in target.profile.modes):
        return target
    if "mig" in mode and policy.mig_profile is not None:
        if ask.memory_mib is None:
            raise CannotServeError(
                Reason.MIG_MODE_WITHOUT_MEMORY,
                f"{MODE} mig chooses a MIG device by memory: write {policy.settings.resource_names.memory}",
            )
        return Target(policy.mig_profile, mig=True, by_memory=True)
    served = (*target.profile.modes, *(("mig",) if policy.mig_profile is not None else ()))
    raise CannotServeError(
        Reason.VGPU_MODE_UNSERVED,
        f'{MODE} is "{mode[:40]}", which no bound driver serves: write {" or ".join(served) or "nothing"}',
    )


def variants(
    target: Target, mig_profile: str | None, selection: Selection, facts: Facts, policy: Policy
) -> tuple[list[Variant], list[Finding]]:
    """The sizes a device of this target may have, ascending, at most 8, and what had to be assumed (S38).

    Sizes that the selection excludes do not count, unless it excludes all (the pod then waits anyway).
    """
    known = [d for d in target.known(facts) if mig_profile is None or _profile_of(target, d) == mig_profile]
    chosen = [d for d in known if accepts(selection, target.profile, d, mig=target.mig)] or known
    memory, shares = target.profile.capacity.memory, target.profile.capacity.shares
    counted = Counter(
        Variant(d.capacity[memory], d.capacity.get(shares) if shares is not None else None)
        for d in chosen
        if memory is not None and memory in d.capacity
    )
    findings: list[Finding] = []
    if not counted and not target.mig:
        sizes = policy.settings.card_memory_mib
        if not sizes and facts.assumed_card_sizes_mib:
            sizes = facts.assumed_card_sizes_mib
            text = f"card sizes are not known here; assumed: {', '.join(str(s) for s in sizes)} MiB"
            findings.append((Reason.ASSUMED_CARD_SIZES, text))
        counted = Counter(Variant(size << 20, target.profile.shares) for size in sizes)
    common = [variant for variant, _ in counted.most_common(MAX_ALTERNATIVES)]
    if len(counted) > MAX_ALTERNATIVES:
        left_out = sorted(v.mib for v in counted if v not in common)
        text = f"a claim has room for 8 card sizes; left out: {', '.join(str(m) for m in left_out)} MiB"
        findings.append((Reason.CARD_SIZES_LEFT_OUT, text))
    return sorted(common, key=lambda v: (v.memory, v.shares or 0)), findings


def mig_profiles_of_at_least(target: Target, mib: int, selection: Selection, facts: Facts) -> list[str]:
    """MIG profiles in the facts with at least that memory, smallest first, at most 8 (S52)."""
    smallest: dict[str, int] = {}
    for device in target.known(facts):
        profile, memory = _profile_of(target, device), device.memory_mib(target.profile)
        if profile is None or memory is None or memory < mib:
            continue
        if accepts(selection, target.profile, device, mig=True):
            smallest[profile] = min(memory, smallest.get(profile, memory))
    return sorted(smallest, key=lambda p: (smallest[p], p))[:MAX_ALTERNATIVES]


def smallest_card_mib(target: Target, selection: Selection, facts: Facts, policy: Policy) -> int | None:
    """The smallest card the ask may land on; None when no size is known (S65: what a whole card covers)."""
    sizes, _ = variants(target, None, selection, facts, policy)
    return sizes[0].mib if sizes else None


def numa_attribute(target: Target, facts: Facts) -> str | None:
    """The qualified NUMA attribute when the slices show it (S53)."""
    name = target.profile.attributes.numa
    if name is None or not any(name in d.attributes for d in target.known(facts)):
        return None
    return cel.qualified(target.profile.driver, name)


def _profile_of(target: Target, device: Device) -> str | None:
    if target.profile.mig is None:
        return None
    value = device.attributes.get(target.profile.mig.profile)
    return None if value is None else str(value)


def describe(pairs: Sequence[tuple[Ask, Target]]) -> str:
    """What the asks of one driver's claim ask, in words; a card and MIG devices may be asked together."""
    parts = []
    for ask, target in pairs:
        thing = "MIG device" if target.mig else "card"
        if ask.kind is Kind.SHARE and not target.by_memory:
            thing = "share"
        words = [f"{ask.devices} {thing}{'s' if ask.devices > 1 else ''}"]
        if ask.mig_profile is not None:
            words.append(ask.mig_profile)
        if ask.memory_mib is not None:
            words.append(f"{ask.memory_mib} MiB")
        elif ask.percentage is not None:
            words.append(f"{ask.percentage} % memory")
        elif ask.kind is Kind.CARD:
            words.append("all memory")
        if ask.cores is not None and target.profile.capacity.cores is not None:
            words.append(f"{ask.cores} % cores")
        parts.append(", ".join(words) + (" each" if ask.devices > 1 and len(words) > 1 else ""))
    return f"{'; '.join(parts)} ({pairs[0][1].profile.title})"
