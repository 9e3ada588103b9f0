"""Reads the settings from everywhere and says everything that is wrong with them at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from app.drivers import ProfileError
from app.settings.keys import KeyPath
from app.settings.sources import EnvironmentSource, FileSource, FlagSource, Source, dotted
from app.settings.tree import Settings
from app.translate.policy import PolicyError


class SettingsError(ValueError):
    """Settings that cannot be used; ``problems`` holds one sentence for each, with where it was read."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n  - ".join((f"{count} in the settings:", *self.problems)))


def load_settings(
    config: Path | None = None,
    overrides: Mapping[str, object] = MappingProxyType({}),
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings from flags, environment, file and defaults; the first of these that has a value wins.

    Args:
        config: YAML file, spelled as in ``docs/settings.md``.
        overrides: values of flags, nested as in the file; None = the flag was not given.
        environment: environment variables; None = those of this process.

    Raises:
        SettingsError: with every problem of every source, of the driver profiles and of their bindings.
    """
    sources: list[Source] = [
        FlagSource(overrides),
        EnvironmentSource(os.environ if environment is None else environment),
        *([] if config is None else [FileSource(config)]),
    ]
    problems = [problem for source in sources for problem in source.problems]
    try:
        settings = Settings(_build_sources=(tuple(sources), {}))
        _ = settings.policy
    except ValidationError as error:
        problems += _validation_problems(error, sources)
    except ProfileError as error:
        problems += [f"driverProfiles: {problem}" for problem in error.problems]
    except PolicyError as error:
        problems += [_placed(problem, sources) for problem in error.problems]
    if problems:
        raise SettingsError(problems)
    return settings


def _placed(problem: str, sources: Iterable[Source]) -> str:
    path, _, sentence = problem.partition(": ")
    return f"{_place(tuple(path.split('.')), sources)}: {sentence}"


def _place(path: KeyPath, sources: Iterable[Source]) -> str:
    holder = next((source for source in sources if source.holds(path)), None)
    return f"default of {dotted(path)}" if holder is None else holder.place(path)


def _validation_problems(error: ValidationError, sources: Sequence[Source]) -> Iterable[str]:
    for one in error.errors(include_url=False):
        path: KeyPath = tuple(one["loc"])
        yield f"{_place(path, sources)}: {sentence(one['type'], one['msg'], one['input'], one.get('ctx', {}))}"


def sentence(kind: str, message: str, read: Any, context: Mapping[str, Any]) -> str:
    """One problem that pydantic found, as people say it."""
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    if kind == "value_error":
        return text
    text = f"{text}; read {read!r:.80}"
    if kind in {"literal_error", "string_type"} and isinstance(read, int | float):
        # YAML's own trap: a version such as 1.30 is a number, and a different one.
        return f"{text}, which is {'a switch' if isinstance(read, bool) else 'a number'}: put the text in quotes"
    if kind == "literal_error":
        allowed = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        close = get_close_matches(str(read), allowed, n=1, cutoff=0.6)
        return f'{text}, did you mean "{close[0]}"?' if close else text
    return text
