"""Writes values as YAML text that kubectl reads back as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.preview.scalars import ScalarError, resolve

_PLAIN = re.compile(r"[A-Za-z0-9_/.(+$](?:[!-~ ]*[!-9;-~])?")
"""Printable ASCII that starts with nothing YAML gives a meaning to and does not end in a colon or blank."""
_BREAKS_PLAIN: Final = (": ", " #")
_FLOW_ONLY = re.compile(r"[,\[\]{}:?]")
"""What ends plain text inside braces and brackets."""
_LITERAL = re.compile(r"(?![ \t\n])[\t\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\U00010000-\U0010ffff]+")
"""Text that a literal block holds without escapes: no blank at its start, no line separators of Unicode."""
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff]")


@dataclass(frozen=True, slots=True)
class Style:
    """How a document indents its blocks; the default is what kubectl prints."""

    step: int = 2
    """Columns by which a mapping stands further right than its key."""
    dash: int = 0
    """Columns by which the dashes of a list stand further right than its key."""


DEFAULT: Final = Style()


def block(value: Any, indent: int = 0, style: Style = DEFAULT) -> str:
    """A mapping or list as lines, each ended by a newline and indented; anything else as one line."""
    if isinstance(value, Mapping) and value:
        return "".join(f"{' ' * indent}{scalar(key)}:{after_key(one, indent, style)}" for key, one in value.items())
    if isinstance(value, list | tuple) and value:
        return "".join(f"{' ' * indent}-{after_dash(one, indent, style)}" for one in value)
    return f"{' ' * indent}{flow(value)}\n"


def after_key(value: Any, indent: int, style: Style = DEFAULT) -> str:
    """What follows the colon of a key that stands at ``indent``, up to the last newline."""
    if isinstance(value, Mapping) and value:
        return "\n" + block(value, indent + style.step, style)
    if isinstance(value, list | tuple) and value:
        return "\n" + block(value, indent + style.dash, style)
    return _inline(value, indent)


def after_dash(value: Any, indent: int, style: Style = DEFAULT) -> str:
    """What follows a dash that stands at ``indent``, up to the last newline."""
    if isinstance(value, Mapping | list | tuple) and value:
        return " " + block(value, indent + 2, style).lstrip(" ")
    return _inline(value, indent)


def flow(value: Any) -> str:
    """A value on one line, as it may stand inside braces."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key, inside=True)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    return scalar(value, inside=True)


def scalar(value: Any, *, inside: bool = False) -> str:
    """A scalar on one line.

    Args:
        inside: it stands inside braces or brackets, where less may stay without quotes.
    """
    if not isinstance(value, str):
        return json.dumps(value)
    plain = _PLAIN.fullmatch(value) is not None and not any(text in value for text in _BREAKS_PLAIN)
    if plain and not (inside and _FLOW_ONLY.search(value)) and _stays_text(value):
        return value
    if '"' in value and "'" not in value and value.isascii() and value.isprintable():
        return f"'{value}'"  # JSON in an annotation stays readable
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _inline(value: Any, indent: int) -> str:
    if isinstance(value, str) and "\n" in value and _LITERAL.fullmatch(value):
        ending = "-" if not value.endswith("\n") else "+" if value.endswith("\n\n") else ""
        lines = value.removesuffix("\n").split("\n")
        body = "\n".join(" " * (indent + 2) + line if line else "" for line in lines)
        return f" |{ending}\n{body}\n"
    return f" {scalar(value)}\n"


def _stays_text(value: str) -> bool:
    try:
        return resolve(value, None, plain=True) == value
    except ScalarError:
        return False
