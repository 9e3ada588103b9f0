"""What a terminal gets and a file does not: colours, and a progress bar where something takes long."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, TextIO, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.preview.printable import printable

T = TypeVar("T")
_PATIENCE_SECONDS: Final = 1.0
"""A bar that is gone before it is read only flickers."""
_WORDS: Final = {"error": "red", "denied": "red", "invalid": "red", "warning": "yellow", "note": "cyan"}
"""How lines on stderr begin."""


class Color(StrEnum):
    """When to colour; the words are those of grep, ls and git."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


ColorOption = Annotated[
    Color, typer.Option("--color", help="Colour the output; auto: on a terminal, unless NO_COLOR is set.")
]


def coloured(color: Color, stream: TextIO) -> bool:
    """Whether a stream gets colours (https://no-color.org)."""
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Prints lines on stderr; nothing in them commands the terminal."""
    typer.echo(printable(text, lines=True), err=True)


def accented(line: str) -> str:
    """A line for stderr with its first word (``error:``, ``warning:`` …) in its colour."""
    word, colon, rest = line.partition(":")
    return f"{typer.style(word + colon, fg=_WORDS[word], bold=True)}{rest}" if word in _WORDS else line


def bar(console: Console) -> Progress:
    """A progress bar that counts steps, and is gone when it ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def track(things: Sequence[T], what: str) -> Iterator[T]:
    """The things one by one, with a progress bar on stderr where that is a terminal and they take long.

    Args:
        things: what is worked on between two steps of the iteration.
        what: word in front of the bar.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from things
        return
    progress = bar(console)
    task = progress.add_task(what, total=len(things))
    begin = time.monotonic()
    try:
        for thing in things:
            yield thing
            progress.advance(task)
            if not progress.live.is_started and time.monotonic() - begin > _PATIENCE_SECONDS:
                progress.start()
    finally:
        progress.stop()
