"""The devices of a cluster and who has them: answers what a claim matches and whether a pod fits now.

Built from raw API objects, whoever read them. The truth is the scheduler of Kubernetes 1.36; what it looks at besides
devices (CPU, node taints, affinity, quotas) is not looked at here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from app.inventory.answers import Fit, Match
from app.inventory.fitting import fit_of
from app.inventory.judge import Judge
from app.inventory.matching import matches_of
from app.inventory.model import InventoryError, Slice, read_slice
from app.inventory.nodes import Node
from app.inventory.occupancy import Occupancy
from app.inventory.place import Place
from app.inventory.pools import Pool, Pools
from app.inventory.requests import ClaimSpec, read_claim, read_class

JSON = Any
_REMEMBERED: Final = 1024
"""Claim specs whose results are kept; far more than there are different asks in a cluster."""


class Inventory:
    """The devices of a cluster, built with :meth:`from_objects`.

    Answers are remembered, so ask again freely. Not thread-safe: one inventory belongs to one thread at a time.
    """

    def __init__(
        self,
        slices: Iterable[Slice],
        classes: Mapping[str, tuple[str, ...]] | None,
        nodes: Sequence[Node] | None,
        taken: Occupancy | None,
    ) -> None:
        self._pools = Pools(slices)
        self._classes = classes
        self._occupancy = taken
        self._nodes = nodes if nodes is not None else [Node(name) for name in self._pools.node_names]
        self._judge = Judge(classes or {})
        self._on_nodes: dict[str, list[Pool]] | None = None
        self._specs: dict[str, ClaimSpec] = {}
        self._matches: dict[str, tuple[Match, ...]] = {}
        self._fits: dict[tuple[str, ...], Fit] = {}

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, JSON]], *, known: Iterable[str] = ()) -> Inventory:
        """The inventory of API objects: ResourceSlices, DeviceClasses, ResourceClaims and Nodes, no others.

        Of claims and nodes only allocations and labels are kept. ``List`` objects count by their items. A kind of which
        there is no object is unknown: without DeviceClasses nothing can be matched, without ResourceClaims nothing can
        be said about what fits, and without Nodes the nodes that slices name are all there are.

        Args:
            objects: as the API or a YAML file gives them, each with its ``kind``.
            known: kinds that are known although no object of them may be there, as ``ResourceClaim``.

        Raises:
            InventoryError: an object is not as the API publishes it.
        """
        slices: list[Slice] = []
        classes: dict[str, tuple[str, ...]] = {}
        nodes: list[Node] = []
        taken = Occupancy()
        seen = set(known)
        for item in _flat(objects, seen):
            kind = item.get("kind")
            seen.add(str(kind))
            try:
                if kind == "ResourceSlice":
                    slices.append(read_slice(item))
                elif kind == "DeviceClass":
                    classes[str(item["metadata"]["name"])] = read_class(item)
                elif kind == "Node":
                    nodes.append(Node(str(item["metadata"]["name"]), dict(item["metadata"].get("labels") or {})))
                elif kind == "ResourceClaim":
                    taken.add(item)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InventoryError(_about(item, error)) from error
        return cls(
            slices,
            classes if "DeviceClass" in seen else None,
            nodes if "Node" in seen else None,
            taken if "ResourceClaim" in seen else None,
        )

    @property
    def knows_classes(self) -> bool:
        """DeviceClasses are known; without them :meth:`matches` has no answer."""
        return self._classes is not None

    @property
    def knows_claims(self) -> bool:
        """Existing claims are known; without them :meth:`fit` has no answer."""
        return self._occupancy is not None

    def matches(self, spec: Mapping[str, JSON]) -> tuple[Match, ...]:
        """What each request of a claim matches, whoever has the devices now.

        Args:
            spec: of a ResourceClaim, ``{"devices": {"requests": […], "constraints": […]}}``.

        Returns:
            One for each request, or for each alternative of a request with ``firstAvailable``; nothing while
            DeviceClasses are unknown.

        Raises:
            InventoryError: the spec is not one that the API server accepts.
        """
        if not self.knows_classes:
            return ()
        key, claim = self._spec(spec)
        if key not in self._matches:
            self._matches[key] = matches_of(claim, self._pools_on_nodes(), self._judge)
        return self._matches[key]

    def fit(self, specs: Sequence[Mapping[str, JSON]], names: Sequence[str] = ()) -> Fit | None:
        """Whether all claims of one pod can be allocated together on one node now.

        Args:
            specs: of the claims, in the order of the pod's ``spec.resourceClaims``.
            names: of those entries, for :attr:`Fit.why`; may be left out.

        Returns:
            The answer, or None while DeviceClasses or existing claims are unknown.

        Raises:
            InventoryError: a spec is not one that the API server accepts.
        """
        if self._occupancy is None or not self.knows_classes:
            return None
        pairs = [self._spec(spec) for spec in specs]
        key = (*(text for text, _ in pairs), "", *names)
        if key not in self._fits:
            places = {
                node: Place(pools, self._judge, self._occupancy) for node, pools in self._pools_on_nodes().items()
            }
            self._fits[key] = fit_of([claim for _, claim in pairs], names, places)
        return self._fits[key]

    def _spec(self, spec: Mapping[str, JSON]) -> tuple[str, ClaimSpec]:
        """The parsed spec, and the text that stands for it."""
        key = json.dumps(spec, sort_keys=True)
        if key not in self._specs:
            if len(self._specs) >= _REMEMBERED:
                self._forget()
            self._specs[key] = read_claim(spec)
        return key, self._specs[key]

    def _forget(self) -> None:
        self._judge.forget()
        self._specs.clear()
        self._matches.clear()
        self._fits.clear()

    def _pools_on_nodes(self) -> dict[str, list[Pool]]:
        if self._on_nodes is None:
            self._on_nodes = {node.name: self._pools.on(node) for node in self._nodes}
        return self._on_nodes


def _flat(objects: Iterable[Mapping[str, JSON]], seen: set[str]) -> Iterator[Mapping[str, JSON]]:
    """The objects, and those in lists; an empty list of a kind makes the kind known, too."""
    for item in objects:
        if not isinstance(item, Mapping):
            continue
        kind = str(item.get("kind", ""))
        if not kind.endswith("List"):
            yield item
            continue
        seen.add(kind.removesuffix("List"))
        yield from _flat(item.get("items") or (), seen)


def _about(item: Mapping[str, JSON], error: Exception) -> str:
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return f"{item.get('kind')} {name or 'without a name'} is not as the API publishes it: {what}"
