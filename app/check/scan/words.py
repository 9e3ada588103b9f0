"""Sentences that the table and the page share."""

from __future__ import annotations

from typing import Final

from app.check.scan.hazard import Severity
from app.check.scan.judge import Outcome
from app.check.scan.offers import Offer, Supply
from app.check.scan.report import ScanReport
from app.translate.facts import Version

MEANINGS: Final = {
    Outcome.DENIED: "the webhook refuses their pods and says what to write instead",
    Outcome.INVALID: "the API server refuses their pods, with or without the webhook",
    Outcome.FOREIGN_SCHEDULER: "another scheduler places them, so they are left alone",
    Outcome.CONVERTS_WITH_WARNINGS: "their pods get claims, and something to know comes with it",
    Outcome.CONVERTS: "their pods get claims for the same devices",
    Outcome.STAYS: "they keep their legacy requests",
    Outcome.ALREADY_DRA: "they ask for claims already",
    Outcome.NO_GPU: "they ask for no device",
}
LABELS: Final = {
    outcome: outcome.value.replace("-", " ").replace("dra", "DRA").replace("gpu", "GPU") for outcome in Outcome
}
"""Outcomes as people write them."""
NEEDS_SOMEBODY: Final = (Outcome.DENIED, Outcome.INVALID, Outcome.FOREIGN_SCHEDULER, Outcome.STAYS)
"""Outcomes whose workloads are listed with their reasons."""
UNKNOWN: Final = "unknown"


def verdict(report: ScanReport) -> str:
    """The answer in one line: ready, or what stands in the way."""
    parts = []
    for outcome, text in ((Outcome.DENIED, "would be denied"), (Outcome.INVALID, "cannot be created at all")):
        if report.outcomes[outcome]:
            parts.append(f"{counted(report.outcomes[outcome], 'workload')} {text}")
    blocking = sum(hazard.check.severity is Severity.BLOCKS for hazard in report.hazards)
    if blocking:
        parts.append(f"{counted(blocking, 'hazard')} {'blocks' if blocking == 1 else 'block'}")
    if parts:
        return f"not ready: {', '.join(parts)}"
    return "ready, as far as could be read" if report.cluster.gaps else "ready"


def scope(report: ScanReport) -> str:
    """Which cluster, how much of it, and by which settings."""
    asked = report.scope.namespaces
    where = f"in {', '.join(asked)}" if asked else f"in {counted(len(report.namespaces), 'namespace')}"
    pods = UNKNOWN if report.pods is None else f"{report.pods:,}"
    parts = [
        f"{report.cluster.host}, Kubernetes {shown_version(report.cluster.version)}",
        f"{counted(len(report.workloads), 'workload')} {where}, pods: {pods}",
        f"settings: {report.scope.settings}",
    ]
    return "; ".join(parts + ["as if the driver was installed"] * report.scope.as_if_installed)


def shown_version(version: Version | None) -> str:
    """As people write it."""
    return UNKNOWN if version is None else f"{version[0]}.{version[1]}"


def opted_in(value: bool | None) -> str:
    """Whether a namespace is switched over."""
    return UNKNOWN if value is None else "yes" if value else "no"


def counted(number: int, word: str) -> str:
    """A number with its word: ``1 pod``, ``2,000 pods``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def asked(supply: Supply) -> str:
    """What pods that wait ask of one kind of devices."""
    need = supply.need
    if not need.pods:
        return "nothing"
    parts = [counted(need.devices, "device"), f"{need.whole:,} whole"]
    if need.memory_mib:
        parts.append(f"{need.memory_mib:,} MiB")
    if need.percent:
        parts.append(f"{need.percent:,} % of a card's memory")
    if need.cores:
        parts.append(f"{need.cores:,} % cores")
    return f"{', '.join(parts)} ({counted(need.pods, 'pod')})"


def offered(offer: Offer | None) -> str:
    """What there is of one kind of devices."""
    if offer is None:
        return UNKNOWN
    parts = [counted(offer.devices, "device"), f"{len(offer.untouched):,} untouched", f"{offer.memory_mib:,} MiB"]
    if offer.cores is not None:
        parts.append(f"{offer.cores:,} % cores")
    return ", ".join(parts)


def fits(supply: Supply) -> str:
    """Whether the sum fits, as far as sums can tell."""
    if supply.offered is None:
        return UNKNOWN
    return "; ".join(supply.short) or "in sum"
