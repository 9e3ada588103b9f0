"""Whether a text says a value: reads it event by event beside the value, and builds nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from app.preview.construct import construct
from app.preview.errors import ManifestError
from app.preview.nodes import parse
from app.preview.scalars import ScalarError, key_text, resolve

_NOTHING: Any = object()


def reads_as(text: str, value: Any) -> bool:
    """Whether a YAML document says a value, as kubectl reads it."""
    try:
        return _read_beside(text, value)
    except _AliasError:  # what an alias or a merge key means, only the tree knows
        return bool(_built(text) == value)
    except (yaml.YAMLError, ScalarError):
        return False


def _built(text: str) -> Any:
    try:
        tree = parse(text)
        return _NOTHING if tree is None else construct(tree)
    except ManifestError:
        return _NOTHING


class _AliasError(Exception):
    """There is an alias or a merge key."""


class _DiffersError(Exception):
    """The text says something else."""


@dataclass(slots=True)
class _Open:
    """A collection whose end was not read yet."""

    wanted: Any
    """A mapping or a list."""
    read: set[str] = field(default_factory=set)
    """Keys."""
    count: int = 0
    """Items."""
    key: str | None = None
    """Whose value comes next."""

    def take(self, event: Any) -> Any:
        """What the value that starts now shall be; for a key, which is read by this, ``_NOTHING``."""
        if isinstance(self.wanted, list):
            self.count += 1
            if self.count > len(self.wanted):
                raise _DiffersError
            return self.wanted[self.count - 1]
        if self.key is not None:
            key, self.key = self.key, None
            return self.wanted[key]
        name = key_text(_scalar(event))
        if name is None or name in self.read or name not in self.wanted:
            raise _DiffersError
        self.read.add(name)
        self.key = name
        return _NOTHING

    @property
    def complete(self) -> bool:
        """All that shall be there was read."""
        return len(self.wanted) == (self.count if isinstance(self.wanted, list) else len(self.read))


def _read_beside(text: str, value: Any) -> bool:
    next_event: Callable[[], Any] = yaml.CBaseLoader(text).get_event
    outside = _Open([value])
    opened = [outside]
    try:
        while (event := next_event()) is not None:
            if isinstance(event, yaml.AliasEvent):
                raise _AliasError
            if isinstance(event, yaml.NodeEvent):
                _value(event, opened)
            elif isinstance(event, yaml.CollectionEndEvent) and not opened.pop().complete:
                return False
    except _DiffersError:
        return False
    return outside.complete


def _value(event: Any, opened: list[_Open]) -> None:
    """Compares a scalar, or opens a collection."""
    scalar = type(event) is yaml.ScalarEvent
    if not scalar and isinstance(opened[-1].wanted, dict) and opened[-1].key is None:
        raise _DiffersError  # a collection is no key
    if scalar and event.value == "<<":
        raise _AliasError
    wanted = opened[-1].take(event)
    if wanted is _NOTHING:
        return
    if not scalar:
        kind = dict if type(event) is yaml.MappingStartEvent else list
        if not isinstance(wanted, kind):
            raise _DiffersError
        opened.append(_Open(wanted))
        return
    if _scalar(event) != wanted:
        raise _DiffersError


def _scalar(event: Any) -> Any:
    if event.style and event.tag is None:
        return event.value
    return resolve(event.value, event.tag, plain=not event.style)
