"""The renderings of a preview for machines: the report and the patches as JSON."""

from __future__ import annotations

import orjson

from app.preview.report import Preview


def render_json(preview: Preview) -> str:
    """The PreviewReport, indented."""
    return orjson.dumps(preview.report(), option=orjson.OPT_INDENT_2).decode() + "\n"


def render_patches(preview: Preview) -> str:
    """For each pod that changes, where it comes from and its RFC 6902 patch, as a JSON list."""
    rows = [
        {"source": row["source"], "patch": row["patch"]}
        for row in (item.report() for item in preview.items if item.decision is not None and item.decision.patch)
        if row["pod"] is not None
    ]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n"
