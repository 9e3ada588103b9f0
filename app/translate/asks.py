"""What one container asks, in the words of the old system: the table S20–S35, MIG and shared names (S41–S45).

Numbers only. Which driver serves an ask and how a claim says it is decided later, in
:mod:`app.translate.requests`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from app.translate import quantity
from app.translate.containers import Container
from app.translate.decision import Note
from app.translate.facts import Facts
from app.translate.keys import Match
from app.translate.policy import Key, Policy
from app.translate.reasons import Reason

MAX_DEVICES = 32
"""AllocationResultsMaxSize of resource.k8s.io: devices in one claim (S15)."""
_FULL = 100
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
    """1–99; 100 is whole."""
    cores: int | None = None
    """0–100 for cards, None for MIG devices and shares."""
    mig_profile: str | None = None
    """None with kind MIG: any profile."""
    limited: bool = False
    """Memory or cores were asked for, less than a card: a driver that does not share cannot honour it (S39)."""
    cores_given: bool = False
    """The container wrote a number of cores."""
    from_count: bool = True
    """Asked through the count, so that annotations act on it (section 5)."""
    rules: tuple[str, ...] = ()


@dataclass(slots=True)
class Asked:
    """The outcome for one container."""

    asks: list[Ask] = field(default_factory=list)
    converts: dict[str, Match] = field(default_factory=dict)
    """Keys that disappear."""
    priority: int | None = None
    warnings: list[Note] = field(default_factory=list)
    denials: list[Note] = field(default_factory=list)


def asks_of(one: Container, facts: Facts, policy: Policy) -> Asked:
    """Reads the keys of one container (their values are checked and filled in)."""
    asked = Asked()
    for key, match in one.keys.items():
        if match.key is Key.PRIORITY:
            asked.priority = one.values[key]
    _card(one, policy, asked)
    for key, match in one.keys.items():
        if match.shared:
            _shared(one, key, match, policy, asked)
        elif match.key is Key.MIG:
            _mig(one, key, match, facts, policy, asked)
    slices = sum(ask.devices for ask in asked.asks if ask.kind is Kind.MIG)
    if slices > 1:
        text = f"a program uses one MIG slice, container {one.name} gets {slices}"
        asked.warnings.append(Note(Reason.SEVERAL_SLICES, text, one.path))
    return asked


def _card(one: Container, policy: Policy, asked: Asked) -> None:
    settings = policy.settings
    names = settings.resource_names
    values = one.values
    count, memory = values.get(names.count), values.get(names.memory)
    percentage, cores = values.get(names.memory_percentage), values.get(names.cores)
    ours = [k for k in (names.count, names.memory, names.memory_percentage, names.cores) if k in values]
    if not ours:
        return
    if count is None and settings.default_gpu_num == 0:
        text = f"{ours[0]} without {names.count} stays: defaultGPUNum is 0 (container {one.name})"
        asked.warnings.append(Note(Reason.NO_DEFAULT_COUNT, text, one.key_path(ours[0])))
        return
    devices = settings.default_gpu_num if count is None else count
    asked.converts.update({key: one.keys[key] for key in ours})
    _refuse(one, devices, memory, percentage, policy, asked)
    if asked.denials:
        return
    if devices == 0:
        if memory or percentage or cores:
            text = f"memory or cores are asked for zero cards (container {one.name})"
            asked.warnings.append(Note(Reason.MEMORY_FOR_ZERO_CARDS, text, one.key_path(names.count)))
        return
    if memory and percentage:
        text = f"{names.memory} and {names.memory_percentage} are both given: {memory} MiB win (container {one.name})"
        asked.warnings.append(Note(Reason.MEMORY_AND_PERCENTAGE, text, one.key_path(names.memory)))
    if cores is not None and cores > _FULL:
        text = f"{names.cores} is above 100 and counts as 100 (container {one.name})"
        asked.warnings.append(Note(Reason.CORES_ABOVE_100, text, one.key_path(names.cores)))
    rules = (("S33",) if count is None else ()) + (_rule(devices, memory, percentage, cores),)
    mib = memory * settings.memory_factor if memory else (settings.default_memory if not percentage else 0)
    share = None if mib or percentage in (None, 0, _FULL) else percentage
    if cores is not None:
        granted = min(cores, _FULL)
    elif percentage == _FULL if percentage is not None else memory is None:
        granted = _FULL
    else:
        granted = settings.default_cores
    if granted == _FULL and (mib or share):
        if settings.exclusive_cores == "whole-card":
            mib, share = 0, None
            text = f"all cores take the whole card, as exclusiveCores asks (container {one.name})"
            asked.warnings.append(Note(Reason.FULL_CORES_WHOLE_CARD, text, one.path))
        else:
            text = f"all cores of a share: a neighbour with cores 0 may join the card (container {one.name})"
            asked.warnings.append(Note(Reason.FULL_CORES_SHARED, text, one.path))
        rules = (*rules, "S30")
    asked.asks.append(
        Ask(
            kind=Kind(settings.nvidia.count),
            devices=devices,
            memory_mib=mib or None,
            percentage=share,
            cores=granted,
            limited=bool(mib or share or (cores is not None and 0 < cores < _FULL)),
            cores_given=bool(cores),
            rules=tuple(dict.fromkeys(rules)),
        )
    )


def _refuse(
    one: Container, devices: int, memory: int | None, percentage: int | None, policy: Policy, asked: Asked
) -> None:
    settings = policy.settings
    names = settings.resource_names
    if percentage is not None and percentage > _FULL:
        text = f"{names.memory_percentage} is {percentage} in container {one.name}: write an integer from 0 to 100"
        asked.denials.append(Note(Reason.PERCENTAGE_OUT_OF_RANGE, text, one.key_path(names.memory_percentage)))
    limit = min(settings.max_memory_mib, _INT32_MAX) // settings.memory_factor
    if memory is not None and memory > limit:
        mib = memory >> 20  # what the number would be, had it been bytes
        what = f"write {mib}" if 1 <= mib <= limit else f"write at most {limit}"
        read = quantity.shown(one.limits[names.memory])
        text = f"{names.memory} is {read} in container {one.name}: the unit is MiB, {what}"
        asked.denials.append(Note(Reason.MEMORY_TOO_LARGE, text, one.key_path(names.memory)))
    if devices > MAX_DEVICES:
        text = f"{names.count} is {devices} in container {one.name}: a claim allocates at most {MAX_DEVICES} devices"
        asked.denials.append(Note(Reason.TOO_MANY_DEVICES, text, one.key_path(names.count)))


def _rule(devices: int, memory: int | None, percentage: int | None, cores: int | None) -> str:
    """The row of the table in semantics §4 that the keys fall into."""
    if memory and percentage:
        return "S32" if percentage == _FULL else "S31"
    if memory:
        if cores is not None:
            return "S30" if cores >= _FULL else "S29"
        return "S22" if devices == 1 else "S23"
    if percentage:
        return "S25" if percentage == _FULL else "S24"
    if cores is not None:
        return "S27" if cores else "S28"
    if memory == 0 or percentage == 0:
        return "S26"
    return "S20" if devices == 1 else "S21"


def _shared(one: Container, key: str, match: Match, policy: Policy, asked: Asked) -> None:
    if policy.shared_profile is None:
        text = f"{key} stays: no driver with shares is bound (bindings.nvidia.shared), a card of its own is more"
        asked.warnings.append(Note(Reason.SHARED_UNBOUND, text, one.key_path(key)))
        return
    asked.converts[key] = match
    if one.values[key] > MAX_DEVICES:
        text = f"{key} is {one.values[key]} in container {one.name}: a claim allocates at most {MAX_DEVICES} devices"
        asked.denials.append(Note(Reason.TOO_MANY_DEVICES, text, one.key_path(key)))
    elif one.values[key]:
        ask = Ask(Kind.SHARE, one.values[key], mig_profile=match.mig_profile, from_count=False, rules=("S41",))
        asked.asks.append(ask)


def _mig(one: Container, key: str, match: Match, facts: Facts, policy: Policy, asked: Asked) -> None:
    profile = policy.mig_profile
    if profile is None or profile.mig is None:
        text = f"{key} stays: no driver for MIG devices is bound (bindings.nvidia.mig)"
        asked.warnings.append(Note(Reason.MIG_UNBOUND, text, one.key_path(key)))
        return
    if facts.device_classes is not None and profile.mig.device_class not in facts.device_classes:
        text = f"{key} stays: this cluster has no DeviceClass {profile.mig.device_class}"
        asked.warnings.append(Note(Reason.MIG_UNBOUND, text, one.key_path(key)))
        return
    asked.converts[key] = match
    if one.values[key] > MAX_DEVICES:
        text = f"{key} is {one.values[key]} in container {one.name}: a claim allocates at most {MAX_DEVICES} devices"
        asked.denials.append(Note(Reason.TOO_MANY_DEVICES, text, one.key_path(key)))
    elif one.values[key]:
        ask = Ask(Kind.MIG, one.values[key], mig_profile=match.mig_profile, from_count=False, rules=("S43",))
        asked.asks.append(ask)
