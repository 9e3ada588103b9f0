"""Each item before and after, as texts that people compare, and the lines of the input that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.preview import emit
from app.preview.converted import Converted
from app.preview.positions import locate
from app.preview.report import Item, Preview
from app.preview.workloads import at
from app.translate.containers import mapping


def sides(preview: Preview, converted: Converted) -> list[dict[str, Any]]:
    """For each item of a preview, in its order, members for the reader of a page.

    - ``line``, ``lastLine``: where it stands in the input, from 1;
    - ``subject``: ``object``, or ``pod`` where the object itself is never rewritten (S71);
    - ``before``: its text; that of the input where a document holds this object alone, else written as YAML;
    - ``after``: the same, converted; None where nothing changes;
    - ``templates``: the ResourceClaimTemplates that its pods name, as YAML; empty without any.
    """
    whole: dict[int, tuple[int, int]] = {}
    """Lines of each JSON document, by its identity: its items do not know their own, and may be thousands."""
    return [_sides(item, converted, whole) for item in preview.items]


def _sides(item: Item, converted: Converted, whole: dict[int, tuple[int, int]]) -> dict[str, Any]:
    first, last = _lines(item, whole)
    subject, (before, after) = ("pod", _pod(item)) if item.stays else ("object", _object(item, converted))
    return {
        "line": first,
        "lastLine": last,
        "subject": subject,
        "before": before,
        "after": None if after == before else after,
        "templates": "---\n".join(emit.block(template) for template in _templates(item)),
    }


def _object(item: Item, converted: Converted) -> tuple[str, str]:
    document = item.document
    if document.error is not None or (document.root is not None and not item.path):
        before = item.source.text[document.start : document.end]
        return before, converted.text_of(document) if item.changed is not None else before
    before = emit.block(item.manifest or at(document.value, item.path))
    return before, before if item.changed is None else emit.block(item.changed)


def _pod(item: Item) -> tuple[str, str]:
    return emit.block(_shape(mapping(item.found and item.found.pod))), emit.block(_shape(mapping(item.pod)))


def _shape(pod: Mapping[str, Any]) -> dict[str, Any]:
    """What a pod template holds of a pod."""
    return {key: pod[key] for key in ("metadata", "spec") if key in pod}


def _templates(item: Item) -> list[dict[str, Any]]:
    return [] if item.decision is None else [one.body(item.namespace) for one in item.decision.templates]


def _lines(item: Item, whole: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """First and last line of an item in the input, from 1."""
    document, text = item.document, item.source.text
    if document.root is not None:
        node = locate(document.root, item.path)
        return node.line + 1, node.line + 1 + text.count("\n", document.start + node.start, document.start + node.end)
    if id(document) not in whole:
        end = document.start + len(text[document.start : document.end].rstrip())
        whole[id(document)] = document.line + 1, document.line + 1 + text.count("\n", document.start, end)
    return whole[id(document)]
