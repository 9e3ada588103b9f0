"""Why a claim looks as it does: rows of what was read, the rule that decided and what it becomes.

The report carries these rows, and the text for people is made from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.preview.rules import RULES
from app.translate import Claim, Policy, Role, TranslationSettings


@dataclass(frozen=True, slots=True)
class Row:
    """One rule of one claim."""

    container: str
    role: Role
    first: bool
    """The first row of its claim."""
    read: tuple[str, ...]
    """``nvidia.com/gpu: 1``: resources and annotations."""
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
            "role": self.role.value,
            "read": list(self.read),
            "rule": self.rule,
            "because": self.because,
            "setting": None if self.setting is None else dict(zip(("name", "value"), self.setting, strict=True)),
            "becomes": list(self.becomes),
        }


def explain(claims: Sequence[Claim], annotations: Mapping[str, Any], policy: Policy) -> list[Row]:
    """A row for each rule of each claim.

    Args:
        claims: of one pod.
        annotations: of that pod, as they were read.
        policy: what the settings are.
    """
    rows = []
    for claim in claims:
        keys = [f"{key}: {value}" for key, value in claim.read.items()]
        by_keys = [name for name in claim.rules if not RULES[name].annotations]
        read = dict(zip(by_keys, _spread(keys, len(by_keys)), strict=True))
        becomes = _spread(list(_becomes(claim)), len(claim.rules))
        for index, name in enumerate(claim.rules):
            rule = RULES[name]
            lines = read.get(name) or [f"{one}: {annotations[one]}" for one in rule.annotations if one in annotations]
            setting = None if rule.setting is None else (rule.setting, _value(policy, rule.setting))
            row = (tuple(lines), name, rule.sentence, setting, tuple(becomes[index]))
            rows.append(Row(claim.container, claim.role, index == 0, *row))
    return rows


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
    kind = "MIG device" if claim.mig_profile is not None or "mig" in claim.device_class else "card"
    devices = f"{claim.devices} {kind}{'' if claim.devices == 1 else 's'}"
    details = []
    if claim.mig_profile is not None:
        details.append(f"profile {claim.mig_profile}")
    elif claim.memory_mib is not None:
        details.append(f"{claim.memory_mib} MiB")
    elif claim.memory_percentage is not None:
        details.append(f"{claim.memory_percentage} % of its memory")
    else:
        details.append("all memory")
    if claim.cores is not None:
        details.append(f"cores {claim.cores}")
    if claim.exclusive:
        details.append("for itself")
    yield f"{devices}: {', '.join(details)}"
    yield f"class {claim.device_class}"
    if claim.shares_claim_of is not None:
        yield f"claim {claim.claim} of {claim.shares_claim_of}"
    else:
        yield f"claim {claim.claim} from {claim.template}"
