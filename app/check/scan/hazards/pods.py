"""Hazards that stand in the pods themselves. Images are never pulled: what they set by themselves stays unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from app.check.scan.hazard import Check, Found, Severity
from app.check.scan.judge import Outcome
from app.check.scan.shapes import AUTOSCALER, containers_of
from app.check.scan.survey import Survey
from app.translate import Reason
from app.translate.advice import VISIBLE_DEVICES, shows_cards
from app.translate.containers import items, mapping

JSON = Any


def _visible_devices(survey: Survey) -> Iterator[Found]:
    for workload, shape in survey.visible():
        for one in containers_of(mapping(shape.pod.get("spec"))):
            for entry in map(mapping, items(one.get("env"))):
                if shows_cards(entry):
                    value = entry.get("value") or "set from elsewhere"
                    yield Found(str(workload.ref), f"container {one.get('name')}: {value}")


def _host_devices(survey: Survey) -> Iterator[Found]:
    for workload, shape in survey.visible():
        if shape.host_devices:
            yield Found(str(workload.ref), ", ".join(shape.host_devices))


def _privileged(survey: Survey) -> Iterator[Found]:
    for workload, shape in survey.visible():
        names = [
            str(one.get("name"))
            for one in containers_of(mapping(shape.pod.get("spec")))
            if mapping(one.get("securityContext")).get("privileged") is True
        ]
        if names:
            yield Found(str(workload.ref), f"container {', '.join(names)}")


def _runtime_class(survey: Survey) -> Iterator[Found]:
    for workload, shape in survey.visible(survey.converting):
        name = mapping(shape.pod.get("spec")).get("runtimeClassName")
        if name:
            yield Found(str(workload.ref), f"runtimeClassName: {name}")


def _node_name(survey: Survey) -> Iterator[Found]:
    for workload in survey.asking:
        notes = (*workload.reasons, *workload.warnings)
        hit = next((note for note in notes if note.reason in (Reason.NODE_NAME, Reason.NODE_NAME_PINNED)), None)
        if hit is not None:
            yield Found(str(workload.ref), hit.message)


def _preempts(survey: Survey) -> Iterator[Found]:
    for workload, shape in survey.visible(survey.converting):
        if shape.priority_class is not None:
            yield Found(str(workload.ref), f"priorityClassName: {shape.priority_class}")


def _autoscaler(survey: Survey) -> Iterator[Found]:
    for workload in survey.workloads if survey.converting else ():
        shapes = (judged.variant.shape for judged in workload.judged)
        if any(shape is not None and AUTOSCALER in shape.components for shape in shapes):
            yield Found(str(workload.ref))


def _old_scheduler(survey: Survey) -> Iterator[Found]:
    for workload in survey.workloads:
        if workload.outcome is Outcome.NO_GPU:
            for note in workload.warnings:
                if note.reason is Reason.SCHEDULER_WITHOUT_KEYS:
                    yield Found(str(workload.ref), note.path)


CHECKS: Final = (
    Check(
        "sees-cards-unasked",
        Severity.WARNS,
        f"A container sets {VISIBLE_DEVICES}, so the NVIDIA runtime may show it cards that no claim gave to it.",
        "Remove the variable, or set it to void. Images may set it, too: images are not pulled to find out.",
        _visible_devices,
    ),
    Check(
        "host-devices",
        Severity.WARNS,
        "A pod mounts devices of its node, so it reaches cards that no claim gave to it.",
        "Ask for a card instead; only device plugins, drivers and monitoring need the node's devices.",
        _host_devices,
    ),
    Check(
        "scheduler-without-keys",
        Severity.WARNS,
        "A pod names HAMi's scheduler and asks for nothing legacy: the webhook never sees it (S4).",
        "Remove schedulerName; without HAMi nobody would place the pod.",
        _old_scheduler,
    ),
    Check(
        "node-name",
        Severity.WARNS,
        "A GPU pod names its node, and nobody allocates claims for a pod that skips the scheduler (S7).",
        "Write a node selector or an affinity instead of nodeName.",
        _node_name,
    ),
    Check(
        "no-preemption",
        Severity.WARNS,
        "Pods that wait for claims preempt nobody: a priority class no longer frees a card for them.",
        "Keep room free for urgent workloads, or use a queue such as Kueue.",
        _preempts,
    ),
    Check(
        "privileged",
        Severity.INFORMS,
        "A privileged container reaches every card of its node, asked for or not.",
        "Keep such pods off nodes with cards, or take the privilege away.",
        _privileged,
    ),
    Check(
        "runtime-class",
        Severity.INFORMS,
        "A GPU workload names a runtime class, which stays: it must exist on the nodes of the DRA driver.",
        "Remove it once no device plugin needs it: DRA drivers hand devices over by CDI.",
        _runtime_class,
    ),
    Check(
        "autoscaler",
        Severity.INFORMS,
        "A cluster autoscaler runs: a node group scales up from zero for claims only if it knows DRA.",
        "Keep one node for each kind of card, or use an autoscaler that simulates ResourceSlices.",
        _autoscaler,
    ),
)
