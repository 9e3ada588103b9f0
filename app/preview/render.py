"""The renderings of a preview for machines: the report and the patches as JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson

from app.preview.report import Preview


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """A value as JSON; whole numbers of any size, as manifests may hold them."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError:  # more than 64 bits
        separators = None if indent else (",", ":")
        return json.dumps(value, ensure_ascii=False, indent=2 if indent else None, separators=separators).encode()


def render_json(preview: Preview) -> str:
    """The PreviewReport, indented."""
    return to_json(preview.report(), indent=True).decode() + "\n"


def patches(preview: Preview) -> list[dict[str, Any]]:
    """For each pod that changes, where it comes from and its RFC 6902 patch."""
    return [
        {"source": item.place(), "patch": list(item.decision.patch)}
        for item in preview.items
        if item.pod is not None and item.decision is not None and item.decision.patch
    ]


def render_patches(preview: Preview) -> str:
    """The patches as a JSON list."""
    return to_json(patches(preview), indent=True).decode() + "\n"
