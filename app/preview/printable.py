"""Texts of manifests and clusters as a terminal may show them."""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal obeys instead of showing it: control characters, line separators, and what turns the direction of
text around; and halves of surrogate pairs, which cannot be written at all."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with escapes (``\x1b``, ``\u202e``) for what a terminal would obey.

    Args:
        text: of anybody.
        lines: it has several lines, which stay.
    """
    return _OBEYED.sub(lambda match: match[0] if lines and match[0] == "\n" else _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
