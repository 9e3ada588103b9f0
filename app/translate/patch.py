"""Builds a minimal JSON Patch (RFC 6902) on the raw pod (S69).

Explicit operations, no diffing and no ``test``: unknown fields are never named, so they survive byte for byte.
The builder knows the pod and what it has added so far, so that parents are created exactly once, also
where the pod holds ``null``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]
Operation = dict[str, Any]


@lru_cache(maxsize=4096)
def pointer(path: Path) -> str:
    """A JSON pointer; ``~`` and ``/`` are escaped. Cached: pods differ, their paths hardly do."""
    return "".join(f"/{_escaped(str(part))}" for part in path)


@lru_cache(maxsize=4096)
def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


class Patch:
    """Operations relative to one pod, in an order that applies."""

    def __init__(self, pod: Mapping[str, Any]) -> None:
        self._pod = pod
        self._added: dict[Path, Any] = {}
        self.operations: list[Operation] = []

    def add(self, path: Path, value: Any) -> None:
        """Adds or replaces a member whose parent exists."""
        self._operation("add", path, value)

    def replace(self, path: Path, value: Any) -> None:
        """Replaces a member that exists."""
        self._operation("replace", path, value)

    def remove(self, path: Path) -> None:
        """Removes a member that exists."""
        self.operations.append({"op": "remove", "path": pointer(path)})

    def remove_keys(self, path: Path, keys: Iterable[str]) -> None:
        """Removes keys of a map, all of which are there."""
        base = pointer(path)
        self.operations += [{"op": "remove", "path": f"{base}/{_escaped(key)}"} for key in keys]

    def set_in_map(self, path: Path, key: str, value: Any) -> None:
        """Sets one key of a map, which is made when it is absent or null; nothing when the value is there already."""
        current = self._map(path)
        if current is None:
            self._make(path, {key: value})
        elif key in current:
            if current[key] != value:
                self.replace((*path, key), value)
        else:
            self.add((*path, key), value)
            if path in self._added:
                self._added[path] = {**current, key: value}

    def append(self, path: Path, values: Sequence[Any]) -> None:
        """Appends to a list, which is made when it is absent, null or empty."""
        if not values:
            return
        if not self._value(path):
            self._make(path, list(values))
            return
        for value in values:
            self._operation("add", (*path, "-"), value)

    def _operation(self, op: str, path: Path, value: Any) -> None:
        self.operations.append({"op": op, "path": pointer(path), "value": value})

    def _make(self, path: Path, value: Any) -> None:
        for length in range(1, len(path)):
            if not isinstance(self._value(path[:length]), dict | list):
                nested = value
                for part in reversed(path[length:]):
                    nested = {part: nested}
                self.add(path[:length], nested)
                for deeper in range(length, len(path) + 1):
                    self._added[path[:deeper]] = nested
                    nested = nested[path[deeper]] if deeper < len(path) else nested
                return
        self.add(path, value)
        self._added[path] = value

    def _map(self, path: Path) -> Mapping[str, Any] | None:
        value = self._value(path)
        return value if isinstance(value, dict) else None

    def _value(self, path: Path) -> Any:
        if path in self._added:
            return self._added[path]
        value: Any = self._pod
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value
