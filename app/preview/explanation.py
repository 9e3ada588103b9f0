"""Why a claim looks as it does: rows of what was read, the rule that decided and what it becomes.

The report carries these rows, and the text for people is made from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.preview.rules import RULES
from app.translate import Change, Claim, Decision, Policy, Role, TranslationSettings
from app.translate.containers import GROUPS, items, mapping


@dataclass(frozen=True, slots=True)
class Row:
    """One rule of one claim, or one that changed a container or the pod besides."""

    container: str | None
    """None = the pod itself."""
    role: Role | None
    first: bool
    """The first row of its claim, or of what has none."""
    read: tuple[str, ...]
    """``nvidia.com/gpu: 1``: resources, annotations and fields."""
    rule: str
    """``S22``"""
    because: str
    setting: tuple[str, Any] | None
    """Name and value of the setting that decided."""
    becomes: tuple[str, ...]

    def report(self) -> dict[str, Any]:
        """This row in the report."""
        return {
            "container": self.container,
            "role": None if self.role is None else self.role.value,
            "read": list(self.read),
            "rule": self.rule,
            "because": self.because,
            "setting": None if self.setting is None else dict(zip(("name", "value"), self.setting, strict=True)),
            "becomes": list(self.becomes),
        }


def explain(decision: Decision, pod: Mapping[str, Any], policy: Policy) -> list[Row]:
    """A row for each rule of each claim and each change: by container, in starting order, and last those of the pod.

    Args:
        decision: about that pod.
        pod: as it was read.
        policy: what the settings are.
    """
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    spec = mapping(pod.get("spec"))
    names = [mapping(one).get("name") for group in GROUPS for one in items(spec.get(group))]
    rows: dict[str | None, list[Row]] = {name if isinstance(name, str) else "": [] for name in names} | {None: []}
    for claim in decision.claims:
        rows[claim.container] += _of_claim(claim, annotations, policy)
    for change in decision.changes:
        own = rows[change.container]
        own.append(_of_change(change, policy, first=not own))
    return [row for own in rows.values() for row in own]


def _of_claim(claim: Claim, annotations: Mapping[str, Any], policy: Policy) -> Iterator[Row]:
    keys = [f"{key}: {value}" for key, value in claim.read.items()]
    # The numbers of settings may come from several (S12), each with a row of its own.
    applied = [
        (name, setting)
        for name in claim.rules
        for setting in (claim.settings if name == "S12" else (RULES[name].setting,))
    ]
    by_keys = [name for name in claim.rules if not RULES[name].annotations]
    read = dict(zip(by_keys, _spread(keys, len(by_keys)), strict=True))
    becomes = _spread(list(_becomes(claim)), len(applied))
    for index, (name, setting) in enumerate(applied):
        rule = RULES[name]
        lines = [f"{one}: {annotations[one]}" for one in rule.annotations if one in annotations]
        lines += read.pop(name, [])
        yield Row(
            claim.container,
            claim.role,
            index == 0,
            tuple(lines),
            name,
            rule.sentence,
            _decider(setting, policy),
            tuple(becomes[index]),
        )


def _of_change(change: Change, policy: Policy, *, first: bool) -> Row:
    return Row(
        change.container,
        change.role,
        first,
        tuple(f"{key}: {value}" for key, value in change.read.items()),
        change.rule,
        RULES[change.rule].sentence,
        _decider(change.setting, policy),
        change.becomes,
    )


def _decider(setting: str | None, policy: Policy) -> tuple[str, Any] | None:
    return None if setting is None else (setting, _value(policy, setting))


@lru_cache(maxsize=4)
def spelled(policy: Policy) -> Mapping[str, Any]:
    """The settings of the translation, as a settings file would spell them."""
    dumped: Mapping[str, Any] = policy.settings.model_dump(
        mode="json", by_alias=True, include=set(TranslationSettings.model_fields)
    )
    return dumped


def _spread(lines: list[str], rows: int) -> list[list[str]]:
    """Lines over rows, one each; the last row takes what is left."""
    return [*([line] for line in lines[: rows - 1]), lines[rows - 1 :], *([] for _ in range(rows - 1 - len(lines)))]


def _value(policy: Policy, setting: str) -> Any:
    """The value of a setting, as a settings file would spell it."""
    value: Any = spelled(policy)
    for part in setting.split("."):
        value = value[part]
    return value


def _becomes(claim: Claim) -> Iterator[str]:
    kind = "card"
    if claim.share:
        kind = "share"
    elif claim.mig_profile is not None or "mig" in claim.device_class:
        kind = "MIG device"
    devices = f"{claim.devices} {kind}{'' if claim.devices == 1 else 's'}"
    details = []
    if claim.mig_profile is not None:
        details.append(f"profile {claim.mig_profile}")
    elif claim.memory_mib is not None:
        details.append(f"{claim.memory_mib} MiB")
    elif claim.memory_percentage is not None:
        details.append(f"{claim.memory_percentage} % of its memory")
    elif not claim.share:
        details.append("all memory")
    if claim.cores is not None:
        details.append(f"cores {claim.cores}")
    if claim.exclusive:
        details.append("for itself")
    yield f"{devices}: {', '.join(details)}" if details else devices
    yield f"class {claim.device_class}"
    if claim.shares_claim_of is not None:
        yield f"claim {claim.claim} of {claim.shares_claim_of}"
    else:
        yield f"claim {claim.claim} from {claim.template}"
