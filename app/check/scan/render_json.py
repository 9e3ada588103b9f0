"""The report that machines read: a stable interface (``apiVersion: hami.io/v1alpha1``, ``docs/scan.md``).

Members may be added, none is renamed or removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.check.scan.hazard import Hazard, Severity
from app.check.scan.judge import Outcome, Workload
from app.check.scan.offers import Offer, Supply
from app.check.scan.report import UNCHECKED, NamespaceRow, ScanReport, shown_time
from app.preview.report import API_VERSION, granted
from app.translate import Claim, Note

JSON = Any

SHOWN_OBJECTS: Final = 20
"""Objects of one hazard; ``count`` tells how many there are."""


def to_json(report: ScanReport) -> dict[str, JSON]:
    """The ScanReport."""
    version = report.cluster.version
    return {
        "apiVersion": API_VERSION,
        "kind": "ScanReport",
        "ready": report.ready,
        "scannedAt": shown_time(report.at),
        "cluster": {
            "server": report.cluster.host,
            "version": None if version is None else f"{version[0]}.{version[1]}",
        },
        "scope": {
            "namespaces": list(report.scope.namespaces) or None,
            "asIfInstalled": report.scope.as_if_installed,
            "settings": report.scope.settings,
        },
        "summary": _summary(report),
        "namespaces": [_namespace(row, report) for row in report.namespaces],
        "workloads": [_workload(one, report) for one in report.workloads if one.asks_devices or one.warnings],
        "reasons": [
            {
                "code": reason.value,
                "rule": reason.rule,
                "sentence": reason.sentence,
                "doc": reason.anchor,
                "workloads": count,
            }
            for reason, count in report.noted()
        ],
        "devices": [_supply(one) for one in report.supplies],
        "hazards": [_hazard(one) for one in report.hazards],
        "unknown": [
            {"code": one.check.code, "sentence": one.check.sentence, "unread": list(one.unread)}
            for one in report.unknown
        ],
        "unread": [
            {
                "resource": one.gap.resource,
                "namespace": one.gap.namespace,
                "reason": one.gap.reason,
                "message": one.gap.message,
                "affects": list(one.affects),
            }
            for one in report.unread
        ],
        "unchecked": list(UNCHECKED),
    }


def _summary(report: ScanReport) -> dict[str, JSON]:
    opted_in = [row.opted_in for row in report.namespaces]
    return {
        "namespaces": len(report.namespaces),
        "optedIn": None if None in opted_in else opted_in.count(True),
        "pods": report.pods,
        "workloads": _words(report.outcomes),
        "finished": report.finished,
        "hazards": {
            severity.value: sum(one.check.severity is severity for one in report.hazards) for severity in Severity
        },
    }


def _namespace(row: NamespaceRow, report: ScanReport) -> dict[str, JSON]:
    return {
        "name": row.name,
        "optedIn": row.opted_in,
        "pods": _sum([report.pods_of(one) for one in row.workloads]),
        "workloads": _words(row.outcomes),
    }


def _workload(one: Workload, report: ScanReport) -> dict[str, JSON]:
    unread = report.cluster.pods is None
    return {
        "apiVersion": one.ref.api_version,
        "kind": one.ref.kind,
        "namespace": one.ref.namespace,
        "name": one.ref.name,
        "outcome": one.outcome.value,
        "pods": report.pods_of(one),
        "running": None if unread else one.running,
        "served": None if unread else sum(judged.variant.served for judged in one.judged),
        "reasons": _notes(one.reasons),
        "warnings": _notes(one.warnings),
        "claims": _claims(one),
    }


def _claims(one: Workload) -> list[dict[str, JSON]]:
    """What its pods are granted; pods that differ in nothing else than their names are shown once."""
    shown: list[dict[str, JSON]] = []
    for judged in one.judged:
        shown += [row for row in map(_claim, judged.claims) if row not in shown]
    return shown


def _claim(claim: Claim) -> dict[str, JSON]:
    return {"container": claim.container, "template": claim.template, **granted(claim)}


def _sum(numbers: Sequence[int | None]) -> int | None:
    """Unknown as soon as one of them is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _words(outcomes: Mapping[Outcome, int]) -> dict[str, int]:
    return {outcome.value: count for outcome, count in outcomes.items()}


def _notes(notes: Sequence[Note]) -> list[dict[str, str]]:
    return [{"code": note.reason.value, "message": note.message, "path": note.path} for note in notes]


def _supply(one: Supply) -> dict[str, JSON]:
    need = one.need
    return {
        "driver": need.kind.driver,
        "deviceClass": need.kind.device_class,
        "migProfile": need.kind.mig_profile,
        "asked": {
            "pods": need.pods,
            "devices": need.devices,
            "wholeDevices": need.whole,
            "memoryMiB": need.memory_mib,
            "memoryPercentage": need.percent,
            "cores": need.cores,
        },
        "offered": _offer(one.offered),
        "free": _offer(one.free),
        "short": list(one.short),
    }


def _offer(offer: Offer | None) -> dict[str, JSON] | None:
    if offer is None:
        return None
    return {
        "devices": offer.devices,
        "untouchedDevices": len(offer.untouched),
        "memoryMiB": offer.memory_mib,
        "cores": offer.cores,
    }


def _hazard(hazard: Hazard) -> dict[str, JSON]:
    check = hazard.check
    return {
        "code": check.code,
        "severity": check.severity.value,
        "sentence": check.sentence,
        "fix": check.fix,
        "doc": check.anchor,
        "count": len(hazard.found),
        "objects": [{"object": found.object, "detail": found.detail} for found in hazard.found[:SHOWN_OBJECTS]],
    }
