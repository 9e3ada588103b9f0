"""Text of users made safe for answers and logs."""

from __future__ import annotations

from app.translate.quantity import shown as shown_value

MAX_NAME_CHARACTERS = 253
"""Longest legal name of an object; a review is seen before its names are validated."""


def shown(value: object) -> str:
    """A value from a request as text that is short and safe enough for a message; big ones by their kind only."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else shown_value(value)


def one_line(text: str, limit: int) -> str:
    """Text without line breaks, tabs and other control characters, cut to a number of characters."""
    if not text.isprintable():
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def name_of(value: object) -> str | None:
    """A name for a log line; None where there is none."""
    return one_line(value, MAX_NAME_CHARACTERS) if isinstance(value, str) and value else None
