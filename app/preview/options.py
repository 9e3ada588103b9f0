"""Options of one preview: other settings of the translation than those that the policy was made with.

What can be chosen comes from the driver profiles and the settings tree; there is no second table of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from app.drivers import DriverProfile, builtin_profiles
from app.preview.construct import construct
from app.preview.errors import Code, ManifestError
from app.preview.explanation import spelled
from app.preview.nodes import parse
from app.settings.keys import Setting, all_settings, did_you_mean, is_plain
from app.settings.load import sentence
from app.settings.sources import dotted
from app.translate import Policy, PolicyError, TranslationSettings

_MAX_KEY = 80
_MAX_VALUE = 500
"""Characters of one value; names of Kubernetes have at most 317."""
_SHARING: Final = {
    "exclusive": "hands out whole cards",
    "memory": "shares cards by memory",
    "unlimited": "shares cards without counting memory",
    "shares": "shares cards by a number of shares",
}
_TYPES: Final = {"integer": "integer", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class Problem:
    """An option that cannot be used."""

    option: str
    """``backend`` or ``set``."""
    key: str
    """The backend, or the key of the setting."""
    message: str


class OptionsError(ValueError):
    """Options that cannot be used, all of them at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{one.option} {one.key}: {one.message}" for one in self.problems))


def with_options(policy: Policy, backend: str | None, assignments: Iterable[str]) -> Policy:
    """A policy with other settings.

    Args:
        policy: what holds where nothing else is said.
        backend: name of a driver profile; None = as the policy says.
        assignments: ``key=value``, with the dotted key of a setting of the translation and a YAML value. They win
            over the backend.

    Raises:
        OptionsError: with every problem.
    """
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    profiles = _profiles(policy)
    if backend is not None and backend in profiles:
        values |= _bindings(profiles[backend])
    elif backend is not None:
        backend = backend[:_MAX_KEY]
        problems.append(Problem("backend", backend, f"there is no such backend; {did_you_mean(backend, profiles)}"))
    keys = {dotted(setting.path): setting for setting in all_settings(TranslationSettings)}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        why = "" if equals else "is no assignment; write KEY=VALUE"
        why = why or _unusable(key[:_MAX_KEY], keys)
        if not why:
            try:
                values[key] = _value(text)
            except ManifestError as error:
                why = f"the value is not YAML: {error.message}"
        if why:
            problems.append(Problem("set", key[:_MAX_KEY], why))
    changed = policy
    if values:
        try:
            changed = _overlaid(policy, values)
        except OptionsError as error:
            problems += error.problems
    if problems:
        raise OptionsError(problems)
    return changed


def backends(policy: Policy) -> list[dict[str, Any]]:
    """What a preview can be made for: each driver profile, with the settings that it stands for."""
    current = policy.settings.bindings.nvidia.driver
    return [
        {
            "name": name,
            "title": profile.title,
            "description": _description(profile),
            "set": _bindings(profile),
            "current": name == current,
        }
        for name, profile in sorted(_profiles(policy).items(), key=lambda one: (one[0] != current, one[1].title))
    ]


def settings(policy: Policy) -> list[dict[str, Any]]:
    """The settings of the translation that hold one plain value, in the order of the tree."""
    schema = TranslationSettings.model_json_schema(by_alias=True)
    defaults = spelled(Policy())
    current = spelled(policy)
    profiles = sorted(_profiles(policy))
    return [
        {
            "key": dotted(setting.path),
            "description": " ".join(setting.description.replace("``", "").split()),
            **_kind(_schema_of(setting, schema), profiles if setting.path[0] == "bindings" else ()),
            "value": _at(current, setting),
            "default": _at(defaults, setting),
        }
        for setting in all_settings(TranslationSettings)
        if is_plain(setting.field)
    ]


def _profiles(policy: Policy) -> Mapping[str, DriverProfile]:
    return builtin_profiles() if policy.profiles is None else policy.profiles


def _bindings(profile: DriverProfile) -> dict[str, Any]:
    served = {"driver": True, "mig": profile.mig is not None, "shared": profile.sharing == "shares"}
    return {f"bindings.nvidia.{part}": profile.name for part, serves in served.items() if serves}


def _description(profile: DriverProfile) -> str:
    parts = [f"{profile.driver} {_SHARING[profile.sharing]}"]
    if profile.mig is not None:
        parts.append("has MIG devices")
    if profile.privileged == "deny":
        parts.append("refuses privileged containers")
    return f"{', '.join(parts)}."


def _unusable(key: str, keys: Mapping[str, Setting]) -> str:
    """Why a key cannot be set here; empty when it can."""
    if key in keys:
        return ""
    if any(dotted(setting.path) == key for setting in all_settings()):
        return "is a setting of the server; a preview changes settings of the translation only"
    return f"is not a setting of the translation; {did_you_mean(key, keys)}"


def _value(text: str) -> Any:
    if len(text) > _MAX_VALUE:
        raise ManifestError(Code.TOO_LARGE, f"more than {_MAX_VALUE:,} characters")
    root = parse(text)
    return None if root is None else construct(root)


def _overlaid(policy: Policy, values: Mapping[str, Any]) -> Policy:
    tree: dict[str, Any] = {**spelled(policy)}
    for key, value in values.items():
        *groups, last = key.split(".")
        place = tree
        for group in groups:
            place[group] = {**place[group]}
            place = place[group]
        place[last] = value
    try:
        return Policy(TranslationSettings.model_validate(tree), policy.profiles)
    except ValidationError as error:
        found = [
            Problem("set", dotted(one["loc"]), sentence(one["type"], one["msg"], one["input"], one.get("ctx", {})))
            for one in error.errors(include_url=False)
        ]
        raise OptionsError(found) from error
    except PolicyError as error:
        pairs = (problem.partition(": ") for problem in error.problems)
        raise OptionsError([Problem("set", path, text) for path, _, text in pairs]) from error


def _schema_of(setting: Setting, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    node = schema
    for key in setting.path:
        node = node["properties"][key]
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _kind(node: Mapping[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """What may be chosen: ``type``, ``choices``, ``minimum``, ``maximum``, and whether null is a value."""
    kinds = [one for one in node.get("anyOf", [node]) if one.get("type") != "null"]
    kind = kinds[0]
    choices = kind.get("enum") or ([kind["const"]] if "const" in kind else list(words))
    return {
        "type": "choice" if choices else _TYPES.get(kind.get("type", ""), "string"),
        "nullable": len(kinds) < len(node.get("anyOf", [node])),
        "choices": choices,
        "minimum": kind.get("minimum"),
        "maximum": kind.get("maximum"),
    }


def _at(tree: Mapping[str, Any], setting: Setting) -> Any:
    value: Any = tree
    for key in setting.path:
        value = value[key]
    return value
