"""Finds what a device selector reads of a device, from its text.

A cluster has many devices and few kinds of them: devices that agree in what an expression reads share its result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r"|(?P<string>[rRbB]{0,2}(?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<other>.)",
    re.DOTALL,
)
WHOLE_MAPS: Final = {"attributes": "publishedAttributes", "capacity": "publishedCapacity"}
"""The maps of a device, and under which name an expression finds them as a whole."""
_DRIVER: Final = "device.driver"
"""Stands for a key that is the device's driver; no domain or id has such a name."""


@dataclass(frozen=True, slots=True)
class Read:
    """One read of a value of the device."""

    map: str
    """``attributes`` or ``capacity``."""
    domain: str | None
    """None = the device's driver."""
    identifier: str


@dataclass(frozen=True, slots=True)
class Reads:
    """What an expression reads of a device."""

    text: str
    """The expression, with maps that it uses as a whole renamed."""
    domains: frozenset[str]
    """Domains that it indexes."""
    values: frozenset[Read] | None
    """The values that it reads by name; None where it may read anything."""


def find_reads(expression: str) -> Reads:
    """Finds what an expression reads of the device."""
    tokens = [m for m in _TOKEN.finditer(expression) if m.lastgroup != "space"]
    words = [token[0] for token in tokens]
    pieces: list[str] = []
    domains: set[str] = set()
    values: list[Read] = []
    plain, at = True, 0
    for i, word in enumerate(words):
        if word != "device":
            continue
        if words[i + 1 : i + 2] != ["."] or words[i + 2 : i + 3] == []:
            plain = False
            continue
        name = words[i + 2]
        if name not in WHOLE_MAPS:
            continue
        step = _step(words, i + 3)
        if step is None:
            plain = False
            if words[i + 3 : i + 4] != ["["]:  # the map as a whole
                pieces += [expression[at : tokens[i + 2].start()], WHOLE_MAPS[name]]
                at = tokens[i + 2].end()
            continue
        domain, after = step
        if domain != _DRIVER:
            domains.add(domain)
        inner = _step(words, after)
        asked = _plain(words[i - 2]) if i > 1 and words[i - 1] == "in" else None
        identifier = (
            inner[0] if inner is not None else asked if words[after : after + 1] not in (["."], ["["]) else None
        )
        if identifier is None or identifier == _DRIVER:
            plain = False
        else:
            values.append(Read(name, None if domain == _DRIVER else domain, identifier))
    text = "".join([*pieces, expression[at:]])
    return Reads(text, frozenset(domains), frozenset(values) if plain else None)


def _step(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """One step into a map, ``["key"]``, ``[device.driver]`` or ``.key``, optional or not: the key, and what follows."""
    if words[at : at + 1] == ["["]:
        start = at + 1 + (words[at + 1 : at + 2] == ["?"])
        if words[start : start + 4] == ["device", ".", "driver", "]"]:
            return _DRIVER, start + 4
        key = _plain(words[start]) if words[start + 1 : start + 2] == ["]"] else None
        return None if key is None else (key, start + 2)
    if words[at : at + 1] == ["."]:
        start = at + 1 + (words[at + 1 : at + 2] == ["?"])
        if start < len(words) and words[start].isidentifier() and words[start + 1 : start + 2] != ["("]:
            return words[start], start + 1
    return None


def _plain(token: str) -> str | None:
    """The text of a simple string literal; None for other tokens and literals."""
    if len(token) < len('""') or token[0] not in "\"'" or token[:3] in ('"""', "'''") or "\\" in token:
        return None
    return token[1:-1]
