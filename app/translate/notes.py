"""Warnings as they may be sent: each once, one line, at most 120 characters."""

from __future__ import annotations

from collections.abc import Iterable

from app.translate.decision import Note

MAX_LENGTH = 120
"""The API asks webhooks to keep warnings below this; texts with newlines or tabs are dropped by the API server."""


def short(warnings: Iterable[Note]) -> tuple[Note, ...]:
    """The warnings in order, without doubles; long ones are cut, since their path says where the rest is."""
    cut = []
    for note in warnings:
        text = " ".join(note.message.split())
        if len(text) > MAX_LENGTH:
            text = text[: MAX_LENGTH - 1] + "…"
        cut.append(Note(note.reason, text, note.path))
    return tuple(dict.fromkeys(cut))
