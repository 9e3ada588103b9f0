"""Writes docs/reasons.md from the enumeration of reasons: ``python docs/generate_reasons.py``.

A test compares the file with what this module renders, so the two cannot drift apart.
"""

from __future__ import annotations

from pathlib import Path

from app.translate import Reason

TARGET = Path(__file__).with_name("reasons.md")
_INTRODUCTION = """# Reasons and warnings

Each decision carries reasons, and may carry warnings. The word is what metrics, logs, the annotation
`hami.io/dra-warnings` and the preview's JSON hold; the message that people see adds what was read, where, and what to
write instead. The rule is explained in [translation.md](translation.md).

This file is written by `python docs/generate_reasons.py`.
"""


def render() -> str:
    """The whole file."""
    entries = [
        f"## {reason.value}\n\n{reason.sentence}{f' (rule {reason.rule})' if reason.rule else ''}\n"
        for reason in Reason
    ]
    return "\n".join([_INTRODUCTION, *entries])


if __name__ == "__main__":
    TARGET.write_text(render())
