"""Whether this replica lives and whether it is ready, check by check."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from certs.source import Health

Check = Callable[[], Health]


class Checks:
    """Named checks that are made when somebody asks. All of them must be quick.

    Args:
        checks: by name, in the order in which they are shown.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(checks)

    def results(self) -> dict[str, Health]:
        """The outcome of each check."""
        return {name: check() for name, check in self._checks.items()}

    def report(self, title: str, *, verbose: bool) -> tuple[bool, str]:
        """Whether all is well, and the text in the form of the API server's own health endpoints."""
        results = self.results()
        ok = all(health.ok for health in results.values())
        summary = f"{title} check {'passed' if ok else 'failed'}"
        if ok and not verbose:
            return ok, "ok"
        lines = [
            f"[{'+' if h.ok else '-'}]{name} {'ok' if h.ok else 'failed'}: {h.text}" for name, h in results.items()
        ]
        return ok, "\n".join([*lines, summary, ""])
