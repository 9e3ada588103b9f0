"""Why the server cannot start."""

from __future__ import annotations

from collections.abc import Sequence


class StartError(Exception):
    """The server cannot start; ``problems`` holds one sentence for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))
