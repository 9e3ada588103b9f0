"""The renderings of a preview for machines: the report and the patches as JSON."""

from __future__ import annotations

from typing import Any

import orjson

from app.preview.report import Preview


def render_json(preview: Preview) -> str:
    """The PreviewReport, indented."""
    return orjson.dumps(preview.report(), option=orjson.OPT_INDENT_2).decode() + "\n"


def patches(preview: Preview) -> list[dict[str, Any]]:
    """For each pod that changes, where it comes from and its RFC 6902 patch."""
    return [
        {"source": item.place(), "patch": list(item.decision.patch)}
        for item in preview.items
        if item.pod is not None and item.decision is not None and item.decision.patch
    ]


def render_patches(preview: Preview) -> str:
    """The patches as a JSON list."""
    return orjson.dumps(patches(preview), option=orjson.OPT_INDENT_2).decode() + "\n"
