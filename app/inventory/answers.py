"""What is said about a claim and about a pod: data, and how reports show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

SHOWN_NODES: Final = 10
"""Names of nodes in an answer; the number counts all."""


@dataclass(frozen=True, slots=True)
class Match:
    """The devices that one request of a claim matches, whoever has them now."""

    request: str
    """``request``, or ``request/alternative`` for each alternative of ``firstAvailable``."""
    devices: int
    """In all; with class, selectors, amounts, tolerated taints and the attributes that constraints need."""
    nodes: int
    """Nodes with at least the asked number of them."""
    node_names: tuple[str, ...] = ()
    """The first ten."""
    error: str | None = None
    """Why a selector cannot be evaluated on some device; the scheduler then gives up on the pod."""

    def report(self) -> dict[str, Any]:
        """As in the PreviewReport."""
        error = {} if self.error is None else {"error": self.error}
        names = list(self.node_names)
        return {"request": self.request, "nodes": self.nodes, "devices": self.devices, "nodeNames": names, **error}


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether all claims of one pod can be allocated together on one node now. It speaks of devices only."""

    now: bool | None
    """None = not known; ``why`` says what is missing."""
    nodes: int = 0
    """Nodes on which they fit."""
    node_names: tuple[str, ...] = ()
    """The first ten."""
    why: str | None = None
    """Which request lacks what, unless they fit."""

    def report(self) -> dict[str, Any]:
        """As in the PreviewReport."""
        return {"now": self.now, "nodes": self.nodes, "nodeNames": list(self.node_names), "why": self.why}
