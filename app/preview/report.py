"""What a preview found, and the report that machines read.

The report is a stable interface (``apiVersion: hami.io/v1alpha1``, ``docs/preview.md``): members may be added, none is
renamed or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.preview.documents import Document, Source
from app.preview.errors import Code, ManifestError, shape
from app.preview.explanation import Row
from app.preview.hints import RENDER_FIRST, holds_template
from app.preview.kinds import Path
from app.preview.matches import Matches
from app.preview.positions import place, steps
from app.preview.workloads import FoundPod, at, dotted, name_of, namespace_of, rewritable
from app.translate import Claim, Decision, Note, Role
from app.translate.containers import GROUPS, items, mapping

API_VERSION = "hami.io/v1alpha1"


class Outcome(StrEnum):
    """What happens to a pod, or to a document."""

    CONVERTED = "converted"
    UNTOUCHED = "untouched"
    DENIED = "denied"
    INVALID = "invalid"
    """Not a manifest, or a pod that the API server refuses (S6)."""


@dataclass(slots=True)
class Item:
    """One pod or pod template, an object without any, or a document that is no manifest."""

    source: Source
    document: Document
    outcome: Outcome
    manifest: Mapping[str, Any] = field(default_factory=dict)
    path: Path = ()
    """Of the manifest in its document; not empty inside a List."""
    found: FoundPod | None = None
    decision: Decision | None = None
    reasons: tuple[Note, ...] = ()
    """Why, where no decision says it."""
    pod_warnings: tuple[Note, ...] = ()
    """Those of the decision, and of the cluster for its pod."""
    object_warnings: tuple[Note, ...] = ()
    """Those that only the whole object shows; their paths are in it."""
    explanation: tuple[Row, ...] = ()
    """A row for each rule of each claim and each other change."""
    matches: Matches | None = None
    """What the cluster has for the claims; None where its devices are not known."""
    pod: Mapping[str, Any] | None = None
    """The pod as it would be admitted; None where it would not."""
    changed: Mapping[str, Any] | None = None
    """The object with that pod in it; None where it stays as it is."""
    error: ManifestError | None = None

    @property
    def namespace(self) -> str | None:
        """As the object gives it; None = where kubectl applies it."""
        return namespace_of(self.manifest)

    @property
    def title(self) -> str:
        """What the item is about, for people: ``RayCluster/tuning spec.headGroupSpec.template``."""
        if not self.manifest:
            return f"document {self.document.index + 1}"
        path = "" if self.found is None else dotted(self.found.path)
        return f"{name_of(self.manifest)} {path}".rstrip()

    @property
    def stays(self) -> bool:
        """Its pods convert, while the object itself is never rewritten (S71)."""
        return self.outcome is Outcome.CONVERTED and not rewritable(self.manifest)

    def why(self) -> list[str]:
        """The reasons as sentences, with their place."""
        if self.error is not None:
            return [str(self.error)]
        return [
            (f"{note.message} [{note.path}]" if note.path else note.message) + (f" ({hint})" if hint else "")
            for note, hint in ((note, self._hint(note)) for note in self.notes)
        ]

    def report(self) -> dict[str, Any]:
        """This item in the report."""
        decision = self.decision
        return {
            "source": self.place(),
            "outcome": self.outcome.value,
            "reasons": self.reasons_shaped(),
            "warnings": [note.message for note in self.warnings],
            "containers": [] if decision is None or self.pod is None else _containers(self.pod, decision.claims),
            "explanation": [row.report() for row in self.explanation],
            "templates": [] if decision is None else [one.body(self.namespace) for one in decision.templates],
            "pod": None
            if self.pod is None
            else {key: self.pod[key] for key in ("metadata", "spec") if key in self.pod},
            "object": self.changed if self.changed is not None else self.manifest or None,
            "patch": [] if decision is None else list(decision.patch),
            **({} if self.matches is None else self.matches.report()),
        }

    def place(self) -> dict[str, Any]:
        """Where the item comes from."""
        metadata = mapping(self.manifest.get("metadata"))
        return {
            "file": self.source.readable_name,
            "document": self.document.index,
            "apiVersion": _text(self.manifest.get("apiVersion")),
            "kind": _text(self.manifest.get("kind")),
            "namespace": self.namespace,
            "name": _text(metadata.get("name")),
            "generateName": _text(metadata.get("generateName")),
            "podPath": None if self.found is None else dotted(self.found.path),
        }

    def reasons_shaped(self) -> list[dict[str, Any]]:
        """The reasons, in the one shape of all errors."""
        if self.error is not None:
            return [self.error.shape()]
        document = self.document.index
        return [
            shape(
                note.reason.value,
                note.message,
                document=document,
                path=note.path,
                hint=self._hint(note),
                **self._at(note),
            )
            for note in self.notes
        ]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Why this outcome; empty for what is no manifest."""
        return self.reasons if self.decision is None else self.decision.reasons

    @property
    def warnings(self) -> tuple[Note, ...]:
        """All of them."""
        return self.pod_warnings + self.object_warnings

    def position(self, note: Note | None = None) -> tuple[int, int] | None:
        """Line and column, from 1, of what a note is about, of the pod or the object where it is about the whole.

        As deep as the text shows it; None where it shows nothing.
        """
        inside = () if self.found is None or note in self.object_warnings else self.found.path
        return place(self.document, (*self.path, *inside, *steps("" if note is None else note.path)))

    def _hint(self, note: Note) -> str | None:
        """What to do instead, where the value that a note is about shows it."""
        value = None if self.found is None else at(self.found.pod, tuple(steps(note.path)))
        return RENDER_FIRST if holds_template(value) else None

    def _at(self, note: Note) -> dict[str, int]:
        """Line and column of what a note is about, from 1; nothing where the text does not show it."""
        found = self.position(note) if note.path and self.found is not None else None
        return {} if found is None else {"line": found[0], "column": found[1]}


@dataclass(slots=True)
class Preview:
    """What an input becomes."""

    sources: list[Source]
    items: list[Item] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """The PreviewReport."""
        return {
            "apiVersion": API_VERSION,
            "kind": "PreviewReport",
            "summary": self.summary(),
            "items": [item.report() for item in self.items],
        }

    def summary(self) -> dict[str, int]:
        """Number of items by outcome."""
        counts = {outcome.value: 0 for outcome in Outcome}
        for item in self.items:
            counts[item.outcome.value] += 1
        return counts

    @property
    def refused(self) -> list[Item]:
        """Items that would not run: denied, invalid or unreadable."""
        return [item for item in self.items if item.outcome in (Outcome.DENIED, Outcome.INVALID)]

    @property
    def fault(self) -> str | None:
        """The first fault of ours that a document met, for a log; None where all is well."""
        errors = (item.error for item in self.items)
        return next((one.message for one in errors if one is not None and one.code is Code.INTERNAL_ERROR), None)

    @property
    def unreadable(self) -> bool:
        """A document could not be read at all."""
        return any(document.error is not None for source in self.sources for document in source.documents)


def _containers(pod: Mapping[str, Any], claims: tuple[Claim, ...]) -> list[dict[str, Any]]:
    """Every container of a pod, in the order in which they start, with what it is granted."""
    rows = []
    for group in GROUPS:
        for one in items(mapping(pod.get("spec")).get(group)):
            name = mapping(one).get("name")
            role = Role.CONTAINER if group == "containers" else Role.INIT
            if role is Role.INIT and mapping(one).get("restartPolicy") == "Always":
                role = Role.SIDECAR
            mine = [_claim(claim) for claim in claims if claim.container == name]
            rows.append({"name": _text(name), "role": role.value, "claims": mine})
    return rows


def granted(claim: Claim) -> dict[str, Any]:
    """What a claim grants, as every report spells it."""
    return {
        "deviceClass": claim.device_class,
        "devices": claim.devices,
        "memoryMiB": claim.memory_mib,
        "memoryPercentage": claim.memory_percentage,
        "cores": claim.cores,
        "exclusive": claim.exclusive,
        "migProfile": claim.mig_profile,
        "share": claim.share,
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "claim": claim.claim,
        "template": claim.template,
        "request": claim.request,
        "driver": claim.driver,
        **granted(claim),
        "sharesClaimOf": claim.shares_claim_of,
        "read": dict(claim.read),
        "rules": list(claim.rules),
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
