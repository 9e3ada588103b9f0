"""What a cluster has for the claims of a pod: the devices that each request matches, and whether all fit now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.inventory import Fit, Inventory, InventoryError, Match
from app.preview.workloads import group_of, namespace_of
from app.translate import Decision
from app.translate.containers import items, mapping

_RESOURCE_GROUP = "resource.k8s.io"


@dataclass(frozen=True, slots=True)
class Matches:
    """What was found for one pod."""

    requests: tuple[tuple[str, Match], ...] = ()
    """Name of the entry in ``spec.resourceClaims``, and what a request of that claim matches."""
    fit: Fit | None = None
    """None = no device is claimed, or existing claims are not known."""

    def report(self) -> dict[str, Any]:
        """The members of the report."""
        matches = [{"claim": claim, **match.report()} for claim, match in self.requests]
        return {"matches": matches} if self.fit is None else {"matches": matches, "fit": self.fit.report()}

    def sentences(self) -> Iterator[str]:
        """The same for people."""
        for claim, match in self.requests:
            nodes = _counted(match.nodes, "node")
            text = f"{claim}: request {match.request} matches {_counted(match.devices, 'device')}, enough on {nodes}"
            yield text if match.error is None else f"{text}; {match.error}"
        fit = self.fit
        if fit is not None and fit.now:
            more = fit.nodes - len(fit.node_names)
            names = ", ".join(fit.node_names) + (f" and {more} more" if more else "")
            yield f"fits now on {_counted(fit.nodes, 'node')}: {names}"
        elif fit is not None:
            yield f"fits nowhere now: {fit.why}" if fit.now is False else f"not known whether it fits now: {fit.why}"


@dataclass(slots=True)
class Matcher:
    """Asks an inventory about pods; templates of the input count for claims that pods bring themselves."""

    inventory: Inventory
    name_nodes: bool = True
    _templates: dict[tuple[str | None, str], Mapping[str, Any]] = field(default_factory=dict)

    def read(self, manifests: Iterable[Any]) -> None:
        """Takes note of ResourceClaimTemplates; other objects are passed over."""
        for manifest in manifests:
            if not isinstance(manifest, dict) or group_of(manifest) != _RESOURCE_GROUP:
                continue
            if manifest.get("kind") == "ResourceClaimTemplate":
                spec = mapping(mapping(manifest.get("spec")).get("spec"))
                self._templates[namespace_of(manifest), str(mapping(manifest.get("metadata")).get("name"))] = spec

    def matches(self, decision: Decision | None, pod: Mapping[str, Any] | None, namespace: str | None) -> Matches:
        """What the claims that a decision adds match, and whether they fit now together with the pod's own."""
        if pod is None or decision is None or not decision.claims:
            return Matches()
        made = {template.name: template.spec for template in decision.templates}
        entries = [mapping(entry) for entry in items(mapping(pod.get("spec")).get("resourceClaims"))]
        specs: list[Mapping[str, Any]] = []
        requests: list[tuple[str, Match]] = []
        unknown: str | None = None
        for entry in entries:
            name, template = str(entry.get("name")), str(entry.get("resourceClaimTemplateName"))
            spec = made.get(template, self._templates.get((namespace, template)))
            if spec is None:
                unknown = unknown or f"the pod's own claim {name} is not known here"
            else:
                specs.append(spec)
            if template in made:
                requests += [(name, self._shown(match)) for match in self.inventory.matches(made[template])]
        names = [str(entry.get("name")) for entry in entries]
        return Matches(tuple(requests), self._fit(specs, names, unknown))

    def _shown(self, match: Match) -> Match:
        return match if self.name_nodes else replace(match, node_names=())

    def _fit(self, specs: list[Mapping[str, Any]], names: list[str], unknown: str | None) -> Fit | None:
        if unknown is not None:
            return Fit(None, why=unknown) if self.inventory.knows_claims else None
        try:
            return self.inventory.fit(specs, names)
        except InventoryError as error:
            return Fit(None, why=f"the pod's own claim is {error}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
