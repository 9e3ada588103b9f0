"""Writes a value as YAML in a style drawn by hypothesis: what people's manifests look like, all at once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Draw = st.DrawFn
_COMMENTS = st.sampled_from(["", "", "", " # why", " # {not: yaml}"])
_LINES = st.sampled_from(["", "", "", "# a line\n", "\n", "# two\n\n"])


def write(draw: Draw, value: Any) -> str:
    """A mapping as one block document."""
    return _block(draw, value, 0)


def _block(draw: Draw, value: Any, indent: int) -> str:
    pad = " " * indent
    if isinstance(value, dict):
        return "".join(
            f"{_comment_line(draw, pad)}{pad}{_scalar(draw, key)}:{_member(draw, one, indent)}"
            for key, one in value.items()
        )
    return "".join(f"{_comment_line(draw, pad)}{pad}-{_item(draw, one, indent)}" for one in value)


def _comment_line(draw: Draw, pad: str) -> str:
    line = draw(_LINES)
    return f"{pad}{line}" if line.startswith("#") else line


def _member(draw: Draw, value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value and draw(st.booleans()):
        step = draw(st.sampled_from([2, 4])) if isinstance(value, dict) else draw(st.sampled_from([0, 2]))
        return f"{draw(_COMMENTS)}\n{_block(draw, value, indent + step)}"
    return f" {_flow(draw, value)}{draw(_COMMENTS)}\n"


def _item(draw: Draw, value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value and draw(st.booleans()):
        lines = _block(draw, value, indent + 2)
        if lines.lstrip(" ").startswith(("#", "\n")):
            return f"\n{lines}"
        return " " + lines.lstrip(" ")
    return f" {_flow(draw, value)}{draw(_COMMENTS)}\n"


def _flow(draw: Draw, value: Any) -> str:
    space = draw(st.sampled_from(["", " "]))
    if isinstance(value, dict):
        inner = f",{draw(st.sampled_from([' ', '  ']))}".join(
            f"{_scalar(draw, key)}: {_flow(draw, one)}" for key, one in value.items()
        )
        return f"{{{space}{inner}{space}}}"
    if isinstance(value, list):
        return f"[{space}{', '.join(_flow(draw, one) for one in value)}{space}]"
    return _scalar(draw, value)


def _scalar(draw: Draw, value: Any) -> str:
    if isinstance(value, str) and value.isalpha() and value not in ("yes", "on") and draw(st.booleans()):
        return value
    if isinstance(value, str) and "'" not in value and value.isprintable() and draw(st.booleans()):
        return f"'{value}'"
    return json.dumps(value)
