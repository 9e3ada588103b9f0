"""Nodes, and which of them a ``nodeSelector`` means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.inventory.model import Place

JSON = Any
_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class Node:
    """A node by name; labels None = unknown, as where only slices name it."""

    name: str
    labels: Mapping[str, str] | None = None


def reaches(place: Place, node: Node) -> bool:
    """Whether devices of a place can be used on a node. A selector needs the node's labels."""
    if place.node is not None:
        return place.node == node.name
    if place.all_nodes:
        return True
    return place.selector is not None and _selected(place.selector, node)


def _selected(selector: Mapping[str, JSON], node: Node) -> bool:
    return any(_term(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _term(term: Mapping[str, JSON], node: Node) -> bool:
    """All requirements hold; a term without any selects nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    if expressions and node.labels is None:
        return False
    return all(_holds(one, (node.labels or {}).get(one["key"])) for one in expressions) and all(
        _holds(one, node.name if one["key"] == _NAME_FIELD else None) for one in fields
    )


def _holds(requirement: Mapping[str, JSON], value: str | None) -> bool:
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: Any) -> bool:
    try:
        left, right = int(str(value)), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
