"""What the cluster package tells whoever counts: the hooks behind the metrics."""

from __future__ import annotations

from typing import Protocol


class StoreObserver(Protocol):
    """Counts what happens to templates. Every label value comes from a small fixed set.

    One object serves the connection, the store and the sweeper. The methods must be quick and must not raise.
    """

    def created(self) -> None:
        """A template was written."""

    def reused(self) -> None:
        """A template that exists already serves one more pod."""

    def renewed(self) -> None:
        """The renew stamp of a template in use was written."""

    def restored(self) -> None:
        """A template that vanished under waiting pods was put back."""

    def removed(self) -> None:
        """The sweeper deleted a template that nobody used."""

    def failed(self, reason: str) -> None:
        """A pod cannot have its template; ``reason`` is :attr:`app.cluster.store.TemplateError.reason`."""

    def api_call(self, verb: str, code: int) -> None:
        """One HTTP exchange with the API server: RBAC verb and HTTP status, 0 when no answer came."""


class NoObserver:
    """Counts nothing."""

    def created(self) -> None:
        """Do nothing."""

    def reused(self) -> None:
        """Do nothing."""

    def renewed(self) -> None:
        """Do nothing."""

    def restored(self) -> None:
        """Do nothing."""

    def removed(self) -> None:
        """Do nothing."""

    def failed(self, reason: str) -> None:
        """Do nothing."""

    def api_call(self, verb: str, code: int) -> None:
        """Do nothing."""


NO_OBSERVER = NoObserver()
