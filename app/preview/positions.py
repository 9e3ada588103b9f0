"""Where a field stands in the text that it was read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.preview.documents import Document
from app.preview.kinds import Path
from app.preview.nodes import Kind, Node

_STEP: Final = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)')


def steps(dotted: str) -> Iterator[str | int]:
    """``spec.containers[0].resources.limits["nvidia.com/gpumem"]`` as keys and indexes."""
    for quoted, index, name in _STEP.findall(dotted):
        yield int(index) if index else quoted or name


def place(document: Document, path: Path) -> tuple[int, int] | None:
    """Line and column of what is at a path, from 1, as deep as the text has it; None for JSON, which has no tree."""
    if document.root is None:
        return None
    node = locate(document.root, path)
    return node.line + 1, node.column + 1


def locate(root: Node, path: Path) -> Node:
    """The key, or the item of a list, at a path; as deep as the text has it, since merged keys stand elsewhere."""
    place = node = root
    for step in path:
        node = node.resolved
        if isinstance(step, str) and node.kind is Kind.MAPPING:
            found = next(((key, value) for key, value in node.pairs if key.text == step), None)
        elif isinstance(step, int) and node.kind is Kind.SEQUENCE and step < len(node.children):
            found = (node.children[step], node.children[step])
        else:
            found = None
        if found is None:
            break
        place, node = found
    return place
