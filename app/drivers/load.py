"""Reads driver profiles: those that ship with the package and files that a site adds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from app.drivers.model import DriverProfile, ProfileError


@cache
def builtin_profiles() -> Mapping[str, DriverProfile]:
    """The profiles that ship with the package, by name."""
    folder = resources.files("app.drivers") / "profiles"
    sources = {entry.name: entry.read_text() for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return _parse(sources)


def load_profiles(files: Iterable[Path] = ()) -> Mapping[str, DriverProfile]:
    """Built-in profiles plus a site's own files; a file with a built-in name replaces that profile.

    Raises:
        ProfileError: with every problem of every file at once.
    """
    sources: dict[str, str] = {}
    problems: list[str] = []
    for file in files:
        try:
            sources[str(file)] = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{file}: cannot be read: {error}")
    try:
        own = _parse(sources)
    except ProfileError as error:
        problems += error.problems
    if problems:
        raise ProfileError(problems)
    return {**builtin_profiles(), **own}


def _parse(sources: Mapping[str, str]) -> dict[str, DriverProfile]:
    profiles: dict[str, DriverProfile] = {}
    problems: list[str] = []
    origin: dict[str, str] = {}
    for source, text in sorted(sources.items()):
        try:
            profile = DriverProfile.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            problems.append(f"{source}: not TOML: {error}")
        except ValidationError as error:
            for one in error.errors():
                where = ".".join(str(part) for part in one["loc"]) or "(file)"
                problems.append(f"{source}: {where}: {one['msg'].removeprefix('Value error, ')}")
        else:
            if profile.name in profiles:
                problems.append(f"{source}: name: {profile.name!r} is already defined by {origin[profile.name]}")
            profiles[profile.name], origin[profile.name] = profile, source
    if problems:
        raise ProfileError(problems)
    return profiles
