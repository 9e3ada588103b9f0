"""HAMi's own settings against those of the webhook: the same manifest must mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from app.check.scan.hazard import Check, Found, Severity
from app.check.scan.hazards.hami_files import hami_settings, unreadable
from app.check.scan.survey import Survey

JSON = Any

_MEANING: Final = {
    "resourceCountName": "resourceNames.count",
    "resourceMemoryName": "resourceNames.memory",
    "resourceMemoryPercentageName": "resourceNames.memoryPercentage",
    "resourceCoreName": "resourceNames.cores",
    "resourcePriorityName": "resourceNames.priority",
    "memoryFactor": "memoryFactor",
    "defaultMemory": "defaultMemory",
    "defaultCores": "defaultCores",
    "defaultGPUNum": "defaultGPUNum",
}
"""HAMi's setting → ours, where both decide what a request asks."""
_ADDITIONS: Final = {
    "gpuCorePolicy": "options.gpuCorePolicy",
    "runtimeClassName": "options.runtimeClassName",
    "overwriteEnv": "options.hideFromOthers",
}
"""HAMi's setting → ours, where both decide what pods get beside their devices."""
_UNSET: Final = (None, "", "default", False)


def _differ(survey: Survey, names: dict[str, str]) -> Iterator[Found]:
    ours = survey.policy.settings.model_dump(mode="json", by_alias=True)
    for setting in hami_settings(survey.cluster.hami_settings or (), survey.cluster.nodes):
        path = names.get(setting.name)
        if path is not None:
            mine = _at(ours, path)
            theirs = setting.value == "true" if setting.value in ("true", "false") else setting.value
            if theirs != mine and not (theirs in _UNSET and mine in _UNSET):
                yield setting.found(f"{setting.value} → {path}: {_shown(mine)} here")


def _meaning(survey: Survey) -> Iterator[Found]:
    return _differ(survey, _MEANING)


def _additions(survey: Survey) -> Iterator[Found]:
    return _differ(survey, _ADDITIONS)


def _unreadable(survey: Survey) -> Iterator[Found]:
    return unreadable(survey.cluster.hami_settings or ())


def _at(values: JSON, path: str) -> JSON:
    for part in path.split("."):
        values = values[part]
    return values


def _shown(value: JSON) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


CHECKS: Final = (
    Check(
        "settings-differ",
        Severity.BLOCKS,
        "HAMi reads requests by other names or defaults than the webhook would with these settings.",
        "Write HAMi's value into the settings, and scan again with --config (docs/settings.md).",
        _meaning,
        ("hami_settings",),
    ),
    Check(
        "additions-differ",
        Severity.WARNS,
        "HAMi adds something to GPU pods that the webhook would not add with these settings (S68).",
        "Set the option if pods rely on it (docs/settings.md).",
        _additions,
        ("hami_settings",),
    ),
    Check(
        "hami-settings-unreadable",
        Severity.WARNS,
        "A settings file of HAMi cannot be read, so its values are not compared.",
        "Compare it by hand with docs/settings.md.",
        _unreadable,
        ("hami_settings",),
    ),
)
