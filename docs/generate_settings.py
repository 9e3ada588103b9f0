"""Writes ``docs/settings.md`` from the settings tree: ``python docs/generate_settings.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from app.settings.keys import Setting, all_settings, spellings
from app.settings.sources import dotted

TARGET = Path(__file__).with_name("settings.md")

INTRODUCTION = """\
# Settings

<!-- Written by docs/generate_settings.py from the settings tree; change that, not this. -->

A setting comes from the first of these that has it:

1. a command line flag (`hami-dra-webhook serve --help` lists them),
2. an environment variable, `HAMI_DRA_` and the key in upper case, with `__` between group and key,
3. the YAML file given with `--config`,
4. the default below.

```yaml
# settings.yaml
resourceNames:
  count: nvidia.com/vgpu
nodeName: deny
schedulers:
  convert: [volcano]
```

Lists and maps in environment variables are JSON: `HAMI_DRA_SCHEDULERS__CONVERT='["volcano"]'`; `null` is the absent
value. A key or `HAMI_DRA_` variable that is not in this list, a doubled key and a value that cannot be are refused at
the start, all of them at once, each with the place it was read from. Relative file names are relative to the working
directory. Names such as S12 are rules of the translation.
"""

_BASICS = {bool: "`true` or `false`", int: "integer", float: "number", str: "text", Path: "file"}


def page() -> str:
    """The whole document."""
    parts = [INTRODUCTION]
    for group, settings in groupby(all_settings(), key=lambda setting: setting.path[:-1]):
        parts.append(_section(dotted(group), list(settings)))
    return "\n".join(parts)


def _section(title: str, settings: list[Setting]) -> str:
    lines = [f"## {title or 'Top level'}", ""]
    for setting in settings:
        lines += [
            f"### `{dotted(setting.path)}`",
            "",
            _inline(setting.description),
            "",
            f"{type_text(setting.field)}; default `{default_text(setting.field)}`; `{setting.variable}`",
            "",
        ]
    return "\n".join(lines)


def type_text(field: FieldInfo) -> str:
    """What may be written, for people."""
    return _type(field.annotation, tuple(field.metadata))


def _type(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        inner = [m for part in annotation.__metadata__ for m in getattr(part, "metadata", (part,))]
        return _type(arguments[0], (*metadata, *inner))
    if origin in (Union, UnionType):
        kinds = [_type(kind, metadata) for kind in arguments if kind is not NoneType]
        return " or ".join([*kinds, *(["`null`"] if NoneType in arguments else [])])
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"map from {_type(arguments[0])} to {_type(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"maps with {', '.join(f'`{key}`' for key in spellings(annotation))}"
    return _BASICS[annotation] + "".join(_bounds(metadata))


def _bounds(metadata: tuple[Any, ...]) -> Iterator[str]:
    for bound in metadata:
        match bound:
            case Ge(ge=limit):
                yield f", at least {limit}"
            case Gt(gt=limit):
                yield f", above {limit}"
            case Le(le=limit):
                yield f", at most {limit}"
            case Lt(lt=limit):
                yield f", below {limit}"


def default_text(field: FieldInfo) -> str:
    """The default as YAML (flow style) would have it."""
    return json.dumps(to_jsonable_python(field.get_default(call_default_factory=True)))


def _inline(docstring: str) -> str:
    return " ".join(docstring.replace("``", "`").split())


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
