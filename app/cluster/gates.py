"""How an API server shows that the feature gate of a claim field is off.

It clears the field silently. Where the rest makes no sense without it, validation then complains about something that
nobody wrote: a constraint that only had ``distinctAttribute`` becomes "matchAttribute: Required value" (seen on
Kubernetes 1.35).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.translate.feature_gates import field_of

JSON = Any

_REFUSALS = {
    # Field → what validation says about the hole that it leaves.
    "distinctAttribute": re.compile(r"constraints\[\d+\]\S*: Required value"),
    "firstAvailable": re.compile(r"requests\[\d+\]\S*: (Required|Invalid) value.*exactly one"),
}


def pattern_of(path: str) -> str:
    """A path without its indices, to recognise the same loss in another spec."""
    return re.sub(r"\[\d+\]", "[]", path)


def fields(spec: JSON, path: str = "") -> Iterator[str]:
    """Paths of all fields of a claim spec."""
    if isinstance(spec, Mapping):
        for key, value in spec.items():
            inner = f"{path}.{key}" if path else key
            yield inner
            yield from fields(value, inner)
    elif isinstance(spec, list | tuple):
        for i, value in enumerate(spec):
            yield from fields(value, f"{path}[{i}]")


def refused(spec: Mapping[str, JSON], message: str) -> tuple[str, ...]:
    """Paths of gated fields that a validation error (422) complains about in other words; mostly none."""
    return tuple(
        path for path in fields(spec) if (hole := _REFUSALS.get(field_of(path))) is not None and hole.search(message)
    )
