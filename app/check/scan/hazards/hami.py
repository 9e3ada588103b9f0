"""What is left of HAMi, and its settings that have no form in DRA (docs/translation.md, last section)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from app.check.scan.hazard import Check, Found, Severity, name_of
from app.check.scan.hazards.hami_files import hami_settings
from app.check.scan.keep import CORDON_ANNOTATION
from app.check.scan.shapes import HAMI_SCHEDULER
from app.check.scan.survey import Survey
from app.translate.containers import items, mapping
from app.translate.gates import IGNORE_LABEL, IGNORE_VALUE

JSON = Any
HAMI_WEBHOOK: Final = "vgpu.hami.io"
"""Name of HAMi's webhook inside its configuration, whatever the release is called."""


def _webhook(survey: Survey) -> Iterator[Found]:
    for one in survey.cluster.webhooks or ():
        if any(webhook.get("name") == HAMI_WEBHOOK for webhook in one["webhooks"]):
            yield Found(name_of(one["kind"], one["metadata"]["name"]))


def _scheduler(survey: Survey) -> Iterator[Found]:
    for workload in survey.workloads:
        shapes = (judged.variant.shape for judged in workload.judged)
        if any(shape is not None and HAMI_SCHEDULER in shape.components for shape in shapes):
            yield Found(str(workload.ref))


def _with_value(name: str, matters: Callable[[JSON], bool]) -> Callable[[Survey], Iterable[Found]]:
    """Finds the places where HAMi has a setting with a value that matters."""

    def find(survey: Survey) -> Iterator[Found]:
        for setting in hami_settings(survey.cluster.hami_settings or (), survey.cluster.nodes):
            if setting.name == name and matters(setting.value):
                yield setting.found()

    return find


def _scaled(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 1


def _hides_cards(value: JSON) -> bool:
    return any(items(mapping(value).get(by)) for by in ("uuid", "index"))


def _cordoned(survey: Survey) -> Iterator[Found]:
    for node in survey.cluster.nodes or ():
        cards = str(node["metadata"]["annotations"].get(CORDON_ANNOTATION) or "").strip(" ,")
        if cards:
            yield Found(name_of("Node", node["metadata"]["name"]), cards)


CHECKS: Final = (
    Check(
        "hami-webhook",
        Severity.WARNS,
        "HAMi's own webhook still changes GPU pods, before this one sees them.",
        f"Label namespaces {IGNORE_LABEL}: {IGNORE_VALUE} together with the opt-in; remove it with HAMi at the end.",
        _webhook,
        ("webhooks",),
    ),
    Check(
        "hami-scheduler",
        Severity.WARNS,
        "HAMi's scheduler runs, and knows nothing of the cards that claims hold.",
        "Give each node to one of the two: no device plugin of HAMi where a DRA driver offers the cards.",
        _scheduler,
    ),
    Check(
        "memory-scaling",
        Severity.WARNS,
        "HAMi offers more memory than the cards have; claims for more than the physical memory never fit.",
        "Bring the requests of such workloads down to what a card has; percentages count from the physical memory.",
        _with_value("deviceMemoryScaling", _scaled),
        ("hami_settings",),
    ),
    Check(
        "core-scaling",
        Severity.WARNS,
        "HAMi offers another amount of cores than 100 for each card; a DRA card has 100.",
        "Add up the cores of pods that share a card: beyond 100 they no longer fit together.",
        _with_value("deviceCoreScaling", _scaled),
        ("hami_settings",),
    ),
    Check(
        "cards-hidden",
        Severity.WARNS,
        "HAMi hides cards of a node, which its DRA driver would publish.",
        "Taint those devices with a DeviceTaintRule, or hide them from the driver.",
        _with_value("filterDevices", _hides_cards),
        ("hami_settings",),
    ),
    Check(
        "cards-cordoned",
        Severity.WARNS,
        f"The annotation {CORDON_ANNOTATION} has no form in DRA: cordoned cards come back.",
        "Taint those devices with a DeviceTaintRule before the driver starts on the node.",
        _cordoned,
        ("nodes",),
    ),
    Check(
        "dynamic-mig",
        Severity.WARNS,
        "HAMi cuts MIG devices on demand on a node; claims get those that the driver publishes.",
        "Use a driver that publishes MIG devices, and bind it in bindings.nvidia.mig.",
        _with_value("operatingMode", lambda value: value == "mig"),
        ("hami_settings",),
    ),
    Check(
        "memory-preconfigured",
        Severity.WARNS,
        "HAMi is told how much memory its cards have; the driver publishes what it measures.",
        "Compare the two; percentages count from what the driver publishes.",
        _with_value("preConfiguredDeviceMemory", bool),
        ("hami_settings",),
    ),
    Check(
        "no-share-cap",
        Severity.INFORMS,
        "HAMi lets at most this many containers on a card; with DRA only memory and cores limit them.",
        "Nothing, unless many small pods on one card are a problem: then ask more memory for each.",
        _with_value("deviceSplitCount", lambda value: isinstance(value, int) and value > 1),
        ("hami_settings",),
    ),
)
