"""Where settings come from: flags, environment variables and a YAML file.

Each source reads itself into nested mappings that are spelled as files spell them, and keeps what was wrong with it.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from app.settings.keys import (
    ENV_DELIMITER,
    ENV_PREFIX,
    KeyPath,
    all_settings,
    did_you_mean,
    is_optional,
    is_plain,
    unknown_keys,
)
from app.settings.tree import Settings


class Source(PydanticBaseSettingsSource):
    """A source of settings: values as files spell them, and its problems, each with the place it was read from."""

    def __init__(self) -> None:
        super().__init__(Settings)
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """One value of this source (the interface of pydantic-settings)."""
        key = field.alias or field_name
        return self.values.get(key), key, False

    def __call__(self) -> dict[str, Any]:
        """Every value of this source; pydantic-settings lays them over those of weaker sources."""
        return self.values

    @abstractmethod
    def place(self, path: KeyPath) -> str:
        """How people find the value: file and key, variable, or flag."""

    def holds(self, path: KeyPath) -> bool:
        """Whether the value at a path, or the group around it, was read here."""
        place: Any = self.values
        for key in path:
            if isinstance(place, Mapping) and key not in place:
                return False
            if not hasattr(place, "__getitem__") or isinstance(place, str):
                return True  # a plain value stands where a group or a list should be
            place = place[key]
        return bool(path)

    def _refuse_unknown(self) -> None:
        """Report every key that is not a setting, and leave it out, so that the other values are judged too."""
        for path, why in list(unknown_keys(self.values, Settings)):
            self.problems.append(f"{self.place(path)}: {why}")
            group: Any = self.values
            for key in path[:-1]:
                group = group[key]
            del group[path[-1]]


class FlagSource(Source):
    """Values of command line flags, nested as in a file; flags that were not given are None."""

    def __init__(self, overrides: Mapping[str, object]) -> None:
        super().__init__()
        self.values = _without_none(overrides)
        self._refuse_unknown()

    def place(self, path: KeyPath) -> str:
        """``command line: server.port``."""
        return f"command line: {dotted(path)}"


class EnvironmentSource(Source):
    """Variables that start with ``HAMI_DRA_``; lists and maps are JSON."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__()
        self.known = {setting.variable: setting for setting in all_settings()}
        for name, text in sorted(environment.items()):
            if not name.startswith(ENV_PREFIX):
                continue
            setting = self.known.get(name)
            if setting is None and _is_service_link(name, text):
                continue
            if setting is None:
                self.problems.append(f"environment variable {name}: is not a setting; {self._close_to(name)}")
                continue
            try:
                self._put(setting.path, _from_text(text, setting.field))
            except json.JSONDecodeError as error:
                self.problems.append(f"environment variable {name}: must be JSON ({error}); read {text!r}")
        self._refuse_unknown()

    def place(self, path: KeyPath) -> str:
        """``environment variable HAMI_DRA_SERVER__PORT``, and the place inside its JSON."""
        for setting in self.known.values():
            if path[: len(setting.path)] == setting.path:
                inside = dotted(path[len(setting.path) :])
                return f"environment variable {setting.variable}" + (f" ({inside})" if inside else "")
        return f"environment variables {ENV_PREFIX}… ({dotted(path)})"

    def _put(self, path: KeyPath, value: object) -> None:
        group: dict[str | int, Any] = self.values  # type: ignore[assignment]
        for key in path[:-1]:
            group = group.setdefault(key, {})
        group[path[-1]] = value

    def _close_to(self, name: str) -> str:
        group = name.rpartition(ENV_DELIMITER)[0]
        near = {key: None for key in self.known if key.rpartition(ENV_DELIMITER)[0] == group} or self.known
        return did_you_mean(name, near)


# A Service named hami-dra-… puts HAMI_DRA_…_SERVICE_HOST, …_PORT_443_TCP and the like into every pod beside it.
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$")


def _is_service_link(name: str, text: str) -> bool:
    return bool(_SERVICE_LINK.search(name)) or (name.endswith("_PORT") and "://" in text)


class FileSource(Source):
    """A YAML file. Doubled keys are refused, since YAML itself would silently take the last one."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        try:
            text = file.read_text(encoding="utf-8")
            loader = _StrictLoader(text)
            values = loader.get_single_data()
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"{file}: cannot be read: {error}")
            return
        except yaml.YAMLError as error:
            self.problems.append(f"{file}: is not YAML: {' '.join(str(error).split())}")
            return
        self.problems += [f"{file}: {problem}" for problem in loader.doubled]
        if isinstance(values, dict):
            self.values = _text_keys(values)
            self._refuse_unknown()
        elif values is not None:
            self.problems.append(f"{file}: must be a mapping of settings, such as nodeName: deny; read {values!r:.60}")

    def place(self, path: KeyPath) -> str:
        """``settings.yaml: server.port``."""
        return f"{self.file}: {dotted(path)}"


class _StrictLoader(yaml.SafeLoader):
    """Collects doubled keys with their lines."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.doubled: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[object, int] = {}
        for key_node, _ in node.value:
            key, line = key_node.value, key_node.start_mark.line + 1
            if isinstance(key, str) and key in lines:
                self.doubled.append(f'line {line}: key "{key}" is given twice; the other one is in line {lines[key]}')
            elif isinstance(key, str):
                lines[key] = line
        return super().construct_mapping(node, deep)


def dotted(path: KeyPath) -> str:
    """``("options", "tolerations", 0, "key")`` → ``options.tolerations[0].key``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _text_keys(value: Any) -> Any:
    """The same value with every key as text: YAML reads ``1:`` and ``on:`` as other types."""
    if isinstance(value, Mapping):
        return {str(key): _text_keys(item) for key, item in value.items()}
    return [_text_keys(item) for item in value] if isinstance(value, list) else value


def _without_none(values: Mapping[str, object]) -> dict[str, Any]:
    return {
        key: _without_none(item) if isinstance(item, Mapping) else item
        for key, item in values.items()
        if item is not None
    }


def _from_text(text: str, field: FieldInfo) -> object:
    if is_optional(field) and text == "null":
        return None
    return text if is_plain(field) else json.loads(text)
