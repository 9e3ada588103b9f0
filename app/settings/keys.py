"""Which keys the settings tree has, and how files, environment and flags spell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.settings.tree import Settings

ENV_PREFIX = "HAMI_DRA_"
ENV_DELIMITER = "__"
KeyPath = tuple[str | int, ...]
"""Keys as files spell them, and positions in lists: ``("options", "tolerations", 0, "key")``."""


def spelling(name: str, field: FieldInfo) -> str:
    """The key of a field as files spell it."""
    return field.alias or name


def spellings(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a group by the key that files use."""
    return {spelling(name, field): field for name, field in model.model_fields.items()}


def group_of(field: FieldInfo) -> type[BaseModel] | None:
    """The group that a field holds, or that the items of a list hold; None for a plain value and for free maps."""
    return _model_in(field.annotation)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return None
    return next((model for argument in get_args(annotation) if (model := _model_in(argument)) is not None), None)


def is_plain(field: FieldInfo) -> bool:
    """Whether one word of text can hold the value; lists, maps and groups need JSON in an environment variable."""
    return group_of(field) is None and not any(
        get_origin(a) in (tuple, dict) for a in (field.annotation, *get_args(field.annotation))
    )


def is_optional(field: FieldInfo) -> bool:
    """Whether null is a value."""
    return NoneType in get_args(field.annotation)


_LONG_LIST = 24
"""Choices beside a good guess; the widest group of the tree has about as many."""


@dataclass(frozen=True)
class Setting:
    """One thing that can be set."""

    path: KeyPath
    """As files spell it."""
    variable: str
    """Its environment variable: ``server.opsPort`` is ``HAMI_DRA_SERVER__OPS_PORT``."""
    field: FieldInfo
    description: str


def all_settings(
    model: type[BaseModel] = Settings, path: KeyPath = (), names: tuple[str, ...] = ()
) -> Iterator[Setting]:
    """Every setting in the order of the tree; a list or map is one setting."""
    for name, field in model.model_fields.items():
        inner, inner_names = (*path, spelling(name, field)), (*names, name)
        group = field.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from all_settings(group, inner, inner_names)
        else:
            variable = ENV_PREFIX + ENV_DELIMITER.join(inner_names).upper()
            yield Setting(inner, variable, field, field.description or model.__doc__ or "")


def unknown_keys(
    values: Mapping[str, Any], model: type[BaseModel], path: KeyPath = ()
) -> Iterator[tuple[KeyPath, str]]:
    """Every key that the tree does not have: its path, and a sentence that says what is allowed there."""
    fields = spellings(model)
    for key, value in values.items():
        field = fields.get(key)
        if field is None:
            yield (*path, key), f"is not a setting; {did_you_mean(key, fields)}"
            continue
        group = group_of(field)
        if group is None:
            continue
        for place, item in _groups_in(value, (*path, key)):
            yield from unknown_keys(item, group, place)


def _groups_in(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        yield path, value
    elif isinstance(value, list | tuple):
        yield from (((*path, i), item) for i, item in enumerate(value) if isinstance(item, Mapping))


def did_you_mean(word: str, allowed: Mapping[str, object]) -> str:
    """``did you mean "x"?`` when something is close, and what is allowed unless that is a long list."""
    folded = {_folded(key): key for key in allowed}
    close = get_close_matches(_folded(word), folded, n=1, cutoff=0.6)
    choices = f"Allowed here: {', '.join(allowed)}"
    if not close:
        return choices
    hint = f'did you mean "{folded[close[0]]}"?'
    return hint if len(allowed) > _LONG_LIST else f"{hint} {choices}"


def _folded(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
