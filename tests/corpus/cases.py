"""Reads the corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """What must be true of one object, or of the pods of one template in it."""

    kind: str
    name: str
    """``*`` at its end stands for the rest of a generated name."""
    outcome: str
    template: str | None = None
    """Path of the pod template in a custom kind; ``[*]`` stands for every index."""
    object_stays: bool = False
    claims: Sequence[Mapping[str, Any]] | None = None
    """None = nothing is said about claims."""
    keys_left: Sequence[str] = ()
    kept: Mapping[str, Any] = field(default_factory=dict)
    env: Sequence[Mapping[str, str]] = ()
    scheduler: str | None = None
    message: Sequence[str] = ()
    warn: Sequence[str] = ()
    placement: Sequence[Mapping[str, Any]] = ()

    @property
    def title(self) -> str:
        return " ".join(part for part in (f"{self.kind}/{self.name}", self.template) if part)


@dataclass(frozen=True)
class Case:
    """One file of manifests."""

    id: str
    file: Path
    exercises: str
    entries: Sequence[Entry]
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: Sequence[str] = ()
    """Driver profiles beyond NVIDIA's."""


def load() -> list[Case]:
    """All cases, with our own judgements in the place of what they replace."""
    folder = HERE / "cases"
    judgements = yaml.safe_load((HERE / "judgements.yaml").read_text())
    instead = {(one["case"], one["object"]): one["instead"] for one in judgements}
    cases = []
    for raw in yaml.safe_load((folder / "cases.yaml").read_text()):
        entries = []
        for entry in raw["expected"]:
            replaced = instead.pop((raw["id"], entry["object"]), {})
            assert not replaced or entry.get("judgement"), f"{raw['id']} {entry['object']} leaves no room for judgement"
            entries.append(_entry({**entry, **replaced}))
        cases.append(
            Case(
                raw["id"],
                folder / raw["file"],
                raw["exercises"],
                entries,
                raw.get("settings", {}),
                raw.get("needs", ()),
            )
        )
    assert not instead, f"judgements about nothing: {sorted(instead)}"
    return cases


def _entry(raw: Mapping[str, Any]) -> Entry:
    kind, _, name = raw["object"].partition("/")
    return Entry(
        kind=kind,
        name=name,
        outcome=raw["outcome"],
        template=raw.get("template"),
        object_stays=raw.get("objectStays", False),
        claims=raw.get("claims"),
        keys_left=raw.get("keysLeft", ()),
        kept=raw.get("kept", {}),
        env=raw.get("env", ()),
        scheduler=raw.get("schedulerName"),
        message=raw.get("message", ()),
        warn=raw.get("warn", ()),
        placement=raw.get("placement", ()),
    )
