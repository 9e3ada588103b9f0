"""Hazards of numbers: what is asked against what is offered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.check.scan.hazard import Check, Found, Severity
from app.check.scan.survey import Survey


def _matches_nothing(survey: Survey) -> Iterator[Found]:
    for one in survey.unmatched:
        yield Found(str(one.workload), f"container {one.container}: {one.template}")


def _not_enough(survey: Survey) -> Iterator[Found]:
    for supply in survey.supplies:
        for sentence in supply.short:
            yield Found(f"DeviceClass/{supply.need.kind.device_class}", sentence)


CHECKS: Final = (
    Check(
        "matches-nothing",
        Severity.BLOCKS,
        "A workload asks for something that no published device can serve, whoever has the devices now.",
        "Look at its annotations and amounts with `preview --context`, or install the driver on the nodes it used.",
        _matches_nothing,
        ("slices", "classes"),
    ),
    Check(
        "not-enough",
        Severity.WARNS,
        "All workloads that convert ask more together than is there for them, so some pods will wait.",
        "Move nodes over before namespaces; while both ways exist, both need room.",
        _not_enough,
        ("slices",),
    ),
)
