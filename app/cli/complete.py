"""Completes ``kubectl hami-dra …``: kubectl runs ``kubectl_complete-hami_dra`` with the words that were typed so far.

It prints one proposal a line, ``WORD<tab>DESCRIPTION``, and last ``:`` with what the shell shall do besides
(https://github.com/spf13/cobra/blob/main/site/content/completions/_index.md): nothing here, so that it proposes files
where there is no proposal of ours.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Final

from app.cli import DISTRIBUTION, app

_FILES_TOO: Final = 0
"""Cobra's ShellCompDirectiveDefault."""


def main() -> None:
    """Entry point; the last word is the one to complete, empty where nothing is typed of it yet."""
    *before, last = sys.argv[1:] or [""]
    line = " ".join([DISTRIBUTION, *map(shlex.quote, before), shlex.quote(last) if last else ""])
    # The protocol of fish asks for just such lines, and every version of the library speaks it.
    os.environ |= {
        f"_{DISTRIBUTION.replace('-', '_').upper()}_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": line,
    }
    try:
        app(prog_name=DISTRIBUTION)
    finally:
        sys.stdout.write(f":{_FILES_TOO}\n")
