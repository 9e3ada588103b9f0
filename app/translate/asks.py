"""What one container asks, in the words of the old system: the table S20-S35, MIG and shared names (S41-S45).

Numbers only. Which driver serves an ask and how a claim says it is decided later, in
:mod:`app.translate.requests`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from app.translate import quantity
from app.translate.containers import EMPTY, Shape, shape_of
from app.translate.decision import Note, Role
from app.translate.facts import Facts
from app.translate.keys import Match
from app.translate.memory import remembered
from app.translate.policy import Key, Policy
from app.translate.reasons import Reason
from app.translate.target import Target

MAX_DEVICES = 32
"""AllocationResultsMaxSize of resource.k8s.io: devices in one claim (S15)."""
FULL = 100
"""All cores of a card, and all of its memory, in percent."""
_INT32_MAX = 2_147_483_647


class Kind(Enum):
    """What is asked for, which decides the binding that serves it."""

    CARD = "card"
    MIG = "mig"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Ask:
    """N equal devices. Hashable: asks are cache keys."""

    kind: Kind
    devices: int
    memory_mib: int | None = None
    """Per device; None = whole, or a percentage."""
    percentage: int | None = None
    """1-99; 100 is whole."""
    cores: int | None = None
    """0-100 for cards, None for MIG devices and shares."""
    mig_profile: str | None = None
    """None with kind MIG: any profile."""
    limited: bool = False
    """Memory or cores were asked for, less than a card: a driver that does not share cannot honour it (S39)."""
    cores_given: bool = False
    """The container wrote a number of cores."""
    settings: tuple[str, ...] = ()
    """The settings that gave numbers which the container did not write (S12)."""
    keys: tuple[str, ...] = ()
    """The keys that ask it."""
    from_count: bool = True
    """Asked through the count, so that annotations act on it (section 5)."""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The outcome for one container."""

    asks: tuple[Ask, ...]
    converts: tuple[str, ...]
    """Keys that disappear; the priority comes on top when the pod converts."""
    priority: int | None
    warnings: tuple[Note, ...]
    denials: tuple[Note, ...]


@dataclass(slots=True)
class _Reading:
    """An outcome in the making."""

    asks: list[Ask] = field(default_factory=list)
    converts: list[str] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    denials: list[Note] = field(default_factory=list)


@remembered()
def asks_of(one: Shape, facts: Facts, policy: Policy) -> Asked:
    """Reads the keys of one container, whose values are good."""
    asked = _Reading()
    _card(one, facts, policy, asked)
    for key, match in sorted(one.keys.items()):  # as reviews have them, so that a preview names the same template
        if match.shared:
            _shared(one, key, match, facts, policy, asked)
        elif match.key is Key.MIG:
            _mig(one, key, match, facts, policy, asked)
    slices = sum(ask.devices for ask in asked.asks if ask.kind is Kind.MIG)
    if slices > 1:
        text = f"a program uses one MIG slice, container {one.name} gets {slices}"
        asked.warnings.append(Note(Reason.SEVERAL_SLICES, text, one.path))
    if len({ask.kind for ask in asked.asks}) > 1:
        asked.asks = [replace(ask, rules=(*ask.rules, "S45")) for ask in asked.asks]
    priority = one.values.get(policy.settings.resource_names.priority)
    return Asked(tuple(asked.asks), tuple(asked.converts), priority, tuple(asked.warnings), tuple(asked.denials))


def is_removed(key: str, facts: Facts, policy: Policy) -> bool:
    """Whether no container of a pod that converts keeps the key: what a LimitRange bounds may be asked of any (S72)."""
    names = policy.settings.resource_names
    one = shape_of(policy, "containers", 0, Role.CONTAINER, "", {names.count: "1", key: "1"}, EMPTY)
    return key in asks_of(one, facts, policy).converts or key == names.priority


class _CardKeys(NamedTuple):
    """The values of one container's card keys; None = not written."""

    cards: int | None
    memory: int | None
    percentage: int | None
    cores: int | None


def _card(one: Shape, facts: Facts, policy: Policy, asked: _Reading) -> None:
    """Rows S20 to S34."""
    settings = policy.settings
    names = settings.resource_names
    by_name = (names.count, names.memory, names.memory_percentage, names.cores)
    written = [name for name in by_name if name in one.values]
    if not written:
        return
    keys = _CardKeys(*(one.values.get(name) for name in by_name))
    if keys.cards is None and settings.default_gpu_num == 0:
        text = f"{written[0]} without {names.count} stays: defaultGPUNum is 0 (container {one.name})"
        asked.warnings.append(Note(Reason.NO_DEFAULT_COUNT, text, one.key_path(written[0])))
        return
    devices = settings.default_gpu_num if keys.cards is None else keys.cards
    if settings.nvidia.count == "share" and devices and not _has_shares(one, written[0], None, facts, policy, asked):
        return
    asked.converts += written
    _refuse(one, devices, keys, policy, asked)
    if asked.denials:
        return
    if devices > 0:
        _warn_about_values(one, keys, policy, asked)
        ask = replace(_card_ask(devices, keys, policy), keys=tuple(written))
        asked.asks.append(ask)
        if "S30" in ask.rules and ask.kind is Kind.CARD and ask.memory_mib is None and ask.percentage is None:
            text = f"all cores take the whole card, as exclusiveCores asks (container {one.name})"
            asked.warnings.append(Note(Reason.FULL_CORES_WHOLE_CARD, text, one.path))
    elif keys.memory or keys.percentage or keys.cores:
        text = f"memory or cores are asked for zero cards (container {one.name})"
        asked.warnings.append(Note(Reason.MEMORY_FOR_ZERO_CARDS, text, one.key_path(names.count)))


def _warn_about_values(one: Shape, keys: _CardKeys, policy: Policy, asked: _Reading) -> None:
    names = policy.settings.resource_names
    if keys.memory and keys.percentage:
        both = f"{names.memory} and {names.memory_percentage} are both given"
        text = f"{both}: {keys.memory} MiB win (container {one.name})"
        asked.warnings.append(Note(Reason.MEMORY_AND_PERCENTAGE, text, one.key_path(names.memory)))
    if keys.cores is not None and keys.cores > FULL:
        text = f"{names.cores} is above 100 and counts as 100 (container {one.name})"
        asked.warnings.append(Note(Reason.CORES_ABOVE_100, text, one.key_path(names.cores)))


def _card_ask(devices: int, keys: _CardKeys, policy: Policy) -> Ask:
    """Memory and cores as the formula above the table in docs/translation.md gives them."""
    settings = policy.settings
    default = 0 if keys.percentage else settings.default_memory
    mib = keys.memory * settings.memory_factor if keys.memory else default
    share = keys.percentage if not mib and keys.percentage and keys.percentage < FULL else None
    cores = _cores(keys, settings.default_cores)
    kind = Kind(settings.nvidia.count)
    used = []
    if keys.memory and settings.memory_factor > 1:
        used.append("memoryFactor")
    if default and not keys.memory:
        used.append("defaultMemory")
    if settings.default_cores and keys.cores is None and not _is_whole_card(keys):
        used.append("defaultCores")
    rules = ["S33"] if keys.cards is None else []
    if kind is not Kind.CARD:
        rules.append("S44")
    elif "defaultMemory" not in used:
        rules.append(_rule(devices, keys))
    rules += ["S12"] if used else []
    if cores == FULL and (mib or share) and kind is Kind.CARD:
        rules.append("S30")
        if settings.exclusive_cores == "whole-card":
            mib, share = 0, None
    return Ask(
        kind=kind,
        devices=devices,
        memory_mib=mib or None,
        percentage=share,
        cores=cores,
        limited=bool(mib or share or (keys.cores and keys.cores < FULL)),
        cores_given=bool(keys.cores),
        settings=tuple(used),
        rules=tuple(dict.fromkeys(rules)),
    )


def _cores(keys: _CardKeys, default: int) -> int:
    if keys.cores is not None:
        return min(keys.cores, FULL)
    return FULL if _is_whole_card(keys) else default


def _is_whole_card(keys: _CardKeys) -> bool:
    # Legacy looks at the percentage before the memory key, and at keys, not values: gpumem 0 is no whole-card request.
    return keys.percentage == FULL if keys.percentage is not None else keys.memory is None


def _refuse(one: Shape, devices: int, keys: _CardKeys, policy: Policy, asked: _Reading) -> None:
    settings = policy.settings
    names = settings.resource_names
    if keys.percentage is not None and keys.percentage > FULL:
        name = names.memory_percentage
        text = f"{name} is {keys.percentage} in container {one.name}: write an integer from 0 to 100"
        asked.denials.append(Note(Reason.PERCENTAGE_OUT_OF_RANGE, text, one.key_path(name)))
    limit = min(settings.max_memory_mib, _INT32_MAX) // settings.memory_factor
    if keys.memory is not None and keys.memory > limit:
        mib = (keys.memory >> 20) // settings.memory_factor  # what the number would be, had it been bytes
        what = f"write {mib}" if 1 <= mib <= limit else f"write at most {limit}"
        read = quantity.shown(one.written(names.memory))
        text = f"{names.memory} is {read} in container {one.name}: the unit is MiB, {what}"
        asked.denials.append(Note(Reason.MEMORY_TOO_LARGE, text, one.key_path(names.memory)))
    if devices > MAX_DEVICES:
        asked.denials.append(_too_many(one, names.count, devices))


def _too_many(one: Shape, key: str, devices: int) -> Note:
    text = f"{key} is {devices} in container {one.name}: a claim allocates at most {MAX_DEVICES} devices"
    return Note(Reason.TOO_MANY_DEVICES, text, one.key_path(key))


def _rule(devices: int, keys: _CardKeys) -> str:
    """The row of the table in docs/translation.md that the keys fall into."""
    if keys.memory and keys.percentage:
        return "S32" if keys.percentage == FULL else "S31"
    if keys.memory:
        if keys.cores is not None:
            return "S30" if keys.cores >= FULL else "S29"
        return "S22" if devices == 1 else "S23"
    if keys.percentage:
        return "S25" if keys.percentage == FULL else "S24"
    if keys.cores is not None:
        return "S27" if keys.cores else "S28"
    if keys.memory == 0 or keys.percentage == 0:
        return "S26"
    return "S20" if devices == 1 else "S21"


def _shared(one: Shape, key: str, match: Match, facts: Facts, policy: Policy, asked: _Reading) -> None:
    """Replicas of time slicing: a share each, where a driver with shares is bound (S41)."""
    if _has_shares(one, key, match.mig_profile, facts, policy, asked):
        rules = ("S41",) if match.mig_profile is None else ("S41", "S43")
        _add(one, key, Ask(Kind.SHARE, one.values[key], mig_profile=match.mig_profile, rules=rules), asked)


def _has_shares(one: Shape, key: str, mig_profile: str | None, facts: Facts, policy: Policy, asked: _Reading) -> bool:
    """Whether shares can be asked for; else the key stays with a warning, since a whole device is no share (S41)."""
    profile = policy.shared_profile
    if profile is None:
        text = f"{key} stays: no driver with shares is bound (bindings.nvidia.shared), a card of its own is more"
    elif mig_profile is not None and profile.mig is None:
        text = f"{key} stays: {profile.title} has no MIG devices"
    elif mig_profile is not None and profile.mig is not None and not facts.may_have(profile.mig.device_class):
        text = f"{key} stays: this cluster has no DeviceClass {profile.mig.device_class}"
    elif not Target(profile, mig=mig_profile is not None).has_shares(facts):
        text = f"{key} stays: {profile.title} publishes no shares here"
    else:
        return True
    asked.warnings.append(Note(Reason.SHARED_UNBOUND, text, one.key_path(key)))
    return False


def _mig(one: Shape, key: str, match: Match, facts: Facts, policy: Policy, asked: _Reading) -> None:
    """MIG devices by profile (S43), where a driver that has them is bound and installed (S46)."""
    profile = policy.mig_profile
    if profile is None or profile.mig is None:
        text = f"{key} stays: no driver for MIG devices is bound (bindings.nvidia.mig)"
        asked.warnings.append(Note(Reason.MIG_UNBOUND, text, one.key_path(key)))
        return
    if not facts.may_have(profile.mig.device_class):
        text = f"{key} stays: this cluster has no DeviceClass {profile.mig.device_class}"
        asked.warnings.append(Note(Reason.MIG_UNBOUND, text, one.key_path(key)))
        return
    _add(one, key, Ask(Kind.MIG, one.values[key], mig_profile=match.mig_profile, rules=("S43",)), asked)


def _add(one: Shape, key: str, ask: Ask, asked: _Reading) -> None:
    asked.converts.append(key)
    if ask.devices > MAX_DEVICES:
        asked.denials.append(_too_many(one, key, ask.devices))
    elif ask.devices:
        asked.asks.append(replace(ask, keys=(key,), from_count=False))
