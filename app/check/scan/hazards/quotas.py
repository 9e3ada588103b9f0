"""Hazards of ResourceQuotas and LimitRanges on legacy keys (S72, S73)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from app.check.scan.hazard import Check, Found, Severity, name_of
from app.check.scan.survey import Survey
from app.preview.surroundings import about_object
from app.translate import Facts, Reason
from app.translate.asks import is_removed
from app.translate.containers import items, mapping
from app.translate.gates import BOUNDS
from app.translate.keys import Match, classify
from app.translate.policy import Key, Policy

JSON = Any

_GIVING: Final = ("default", "defaultRequest")
_CLASS_QUOTA: Final = ".deviceclass.resource.k8s.io/devices"
"""Suffix of the quota that counts devices of a class when their claims are made (KEP-4381)."""


def _stopping(survey: Survey) -> Iterator[Found]:
    for quota in survey.cluster.quotas or ():
        if any(note.reason is Reason.QUOTA_STOPS_COUNTING for note in about_object(quota, survey.policy)):
            for name, value in sorted(mapping(mapping(quota.get("spec")).get("hard")).items()):
                key = name.partition(".")[2]
                match = classify(survey.policy, key)
                if match is not None and name.startswith(("requests.", "limits.")):
                    becomes = _becomes(survey, name, key, match)
                    yield Found(_name(quota), f"{name}: {value} → {becomes.format(value=value)}")


def _becomes(survey: Survey, name: str, key: str, match: Match) -> str:
    """What to write instead. ``limits.`` counted for HAMi's scheduler only, and not the number of cards."""
    if match.key in (Key.MEMORY, Key.PERCENTAGE, Key.CORES, Key.PRIORITY):
        return "nothing counts memory or cores of claims"
    if name.startswith("limits."):
        return "never counted anything"
    claimed = any(one["spec"].get("extendedResourceName") == key for one in survey.cluster.classes or ())
    if claimed:
        return "goes on counting, since a DeviceClass has this extendedResourceName"
    device_class = _class_of(survey.policy, match)
    return "stays and counts" if device_class is None else f"{device_class}{_CLASS_QUOTA}: {{value}}"


def _class_of(policy: Policy, match: Match) -> str | None:
    if match.key is Key.COUNT:
        return policy.count_class
    if match.shared or match.key is Key.SHARED:
        return None if policy.shared_profile is None else policy.shared_profile.device_class
    profile = policy.mig_profile
    return None if profile is None or profile.mig is None else profile.mig.device_class


def _misspelt(survey: Survey) -> Iterator[Found]:
    for quota in survey.cluster.quotas or ():
        for note in about_object(quota, survey.policy):
            if note.reason is Reason.NEAR_MISS:
                yield Found(_name(quota), note.message)


def _bounds(survey: Survey, bounds: tuple[str, ...], concerns: Callable[[str], bool]) -> Iterator[Found]:
    for limit_range in survey.cluster.limit_ranges or ():
        hit = [
            f"{bound} {key}: {value}"
            for limit in items(mapping(limit_range.get("spec")).get("limits"))
            for bound in bounds
            for key, value in mapping(mapping(limit).get(bound)).items()
            if concerns(key)
        ]
        if hit:
            yield Found(_name(limit_range), ", ".join(hit))


def _refusing(survey: Survey) -> Iterator[Found]:
    return _bounds(survey, BOUNDS, lambda key: is_removed(key, Facts(), survey.policy))


def _giving(survey: Survey) -> Iterator[Found]:
    return _bounds(survey, _GIVING, lambda key: classify(survey.policy, key) is not None)


def _name(obj: Mapping[str, JSON]) -> str:
    metadata = mapping(obj.get("metadata"))
    return name_of(str(obj.get("kind")), str(metadata.get("name")), str(metadata.get("namespace") or ""))


CHECKS: Final = (
    Check(
        "limit-range-refuses",
        Severity.WARNS,
        "A LimitRange with max or min on a legacy key refuses every converted pod of its namespace (S72).",
        "Remove the key from max and min when the namespace opts in; a quota on the DeviceClass can take its place.",
        _refusing,
        ("limit_ranges",),
    ),
    Check(
        "limit-range-gives-devices",
        Severity.WARNS,
        "A LimitRange gives every container of its namespace a legacy resource, which becomes a claim.",
        "Remove the key from default and defaultRequest, unless every container shall have a device.",
        _giving,
        ("limit_ranges",),
    ),
    Check(
        "quota-stops-counting",
        Severity.WARNS,
        "A ResourceQuota on a legacy key stops counting pods once they are converted (S73).",
        "Write the quota that stands behind the arrow, beside the old one until the namespace is switched over.",
        _stopping,
        ("quotas",),
    ),
    Check(
        "quota-never-counted",
        Severity.INFORMS,
        "A ResourceQuota names something that only looks like a legacy key.",
        "Remove it, or write the name that was meant.",
        _misspelt,
        ("quotas",),
    ),
)
