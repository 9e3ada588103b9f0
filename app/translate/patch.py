"""Builds a minimal JSON Patch (RFC 6902) on the raw pod (S69).

Explicit operations, no diffing and no ``test``: unknown fields are never named, so they survive byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.translate.memory import remembered

Path = tuple[str | int, ...]
Operation = dict[str, Any]


@remembered()
def pointer(path: Path) -> str:
    """A JSON pointer; ``~`` and ``/`` are escaped. Cached: pods differ, their paths hardly do."""
    return "".join(f"/{_escaped(str(part))}" for part in path)


@remembered()
def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


class Patch:
    """Operations relative to one pod, in an order that applies."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, path: Path, value: Any) -> None:
        """Adds a member, or replaces one that is ``null``; its parent exists."""
        self.operations.append({"op": "add", "path": pointer(path), "value": value})

    def replace(self, path: Path, value: Any) -> None:
        """Replaces a member that exists."""
        self.operations.append({"op": "replace", "path": pointer(path), "value": value})

    def remove(self, path: Path) -> None:
        """Removes a member that exists."""
        self.operations.append({"op": "remove", "path": pointer(path)})

    def remove_keys(self, path: Path, keys: Iterable[str]) -> None:
        """Removes keys of a map, all of which are there."""
        base = pointer(path)
        self.operations += [{"op": "remove", "path": f"{base}/{_escaped(key)}"} for key in keys]

    def append(self, path: Path, current: object, values: Sequence[Any]) -> None:
        """Appends to the list ``current``, or makes it when it is absent, ``null`` or empty; its parent exists."""
        if not values:
            return
        if not current:
            self.add(path, list(values))
            return
        for value in values:
            self.add((*path, "-"), value)

    def update(self, path: Path, current: object, values: Mapping[str, Any]) -> None:
        """Sets keys of the map ``current``, or makes it when it is absent or ``null``; its parent exists."""
        if not isinstance(current, dict):
            self.add(path, dict(values))
            return
        for key, value in values.items():
            if key not in current:
                self.add((*path, key), value)
            elif current[key] != value:
                self.replace((*path, key), value)

    def put(self, owner: Mapping[str, Any], path: Path, value: Any) -> None:
        """Adds a member of ``owner`` at the end of a path whose parents may be absent or ``null``."""
        for depth, part in enumerate(path[:-1]):
            inner = owner.get(str(part))
            if not isinstance(inner, dict):
                for outer in reversed(path[depth + 1 :]):
                    value = {outer: value}
                self.add(path[: depth + 1], value)
                return
            owner = inner
        self.add(path, value)
