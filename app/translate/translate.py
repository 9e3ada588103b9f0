"""The one function that decides.

When do we translate? The first row that holds decides; rows below it are not looked at.

====================================================  ==========  =======================  =====
the pod                                               outcome     reason                   rule
====================================================  ==========  =======================  =====
holds no configured key                               untouched   no-legacy-keys           S1
is opted out by label                                 untouched   opted-out                S2
is a mirror pod                                       untouched   mirror-pod               S3
names a scheduler that does not allocate claims       untouched   foreign-scheduler        S4
holds a value that the API server refuses             untouched   invalid-request          S6
asks whole cards only, which stay with Kubernetes     untouched   native                   S67
asks what no claim can say                            denied      (several, all of them)   S7-S53
holds only keys that cannot be converted              untouched   keys-stay                S9
had all its containers converted in an earlier round  untouched   already-converted        S5
anything else                                         converted   converted                S64
====================================================  ==========  =======================  =====
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from app.translate import advice, gates
from app.translate.containers import Container, check, malformed, mapping, read_containers
from app.translate.conversion import Conversion, leave_keys
from app.translate.decision import CONVERTED_LABEL, Decision, Note, Outcome
from app.translate.essence import essence
from app.translate.facts import Facts
from app.translate.notes import short
from app.translate.policy import Key, Policy
from app.translate.reasons import Reason
from app.translate.selection import ANNOTATIONS

_NATIVE_SINCE = (1, 36)
"""First version that turns an extended resource into a claim by default (KEP-5004)."""
_REMEMBERED_PER_SHAPE = 4
"""Workloads with equal containers and, say, different card annotations; more of them are decided anew."""


def translate(pod: Mapping[str, Any], facts: Facts, policy: Policy, *, avoid: frozenset[str] = frozenset()) -> Decision:
    """Decides about one pod that is being created.

    Args:
        pod: the raw object of a review, or the pod that a manifest leads to. Never changed.
        facts: what is known of the cluster.
        policy: settings and driver profiles.
        avoid: template names that are taken by other content in the pod's namespace (S62).

    Returns:
        Equal decisions for equal input. Every malformed pod gets a decision too; nothing is raised for it.
    """
    spec = mapping(pod.get("spec"))
    containers = read_containers(spec, policy)
    if not any(shape.keys for shape, _ in containers):
        return _without_keys(pod, spec, containers, policy)
    what_counts = essence(pod, policy)
    remembered = _remembered(tuple(shape for shape, _ in containers), facts, policy, avoid)
    for known, decision in remembered:
        if known == what_counts:
            return decision
    decision = _decide(what_counts, facts, policy, avoid)
    remembered.insert(0, (copy.deepcopy(what_counts), decision))
    del remembered[_REMEMBERED_PER_SHAPE:]
    return decision


@lru_cache(maxsize=512)
def _remembered(*_of: object) -> list[tuple[Mapping[str, Any], Decision]]:
    """Decisions about pods of equal container shapes, latest first; filled by :func:`translate`."""
    return []


def _decide(pod: Mapping[str, Any], facts: Facts, policy: Policy, avoid: frozenset[str]) -> Decision:
    """Decides about the essence of a pod."""
    containers = read_containers(pod["spec"], policy)
    staying_out = gates.stays_out(pod, policy)
    if staying_out is not None:
        return Decision(Outcome.UNTOUCHED, (staying_out,), short((staying_out,) if _warns(staying_out) else ()))
    conversion = Conversion(pod, containers, facts, policy, avoid)
    invalid, too_large = check([one for one in containers if one.shape not in conversion.ours])
    invalid += malformed(pod, containers)
    if invalid:
        reasons = tuple(Note(Reason.INVALID_REQUEST, note.message, note.path) for note in invalid)
        warnings = short(note for note in invalid if note.reason is not Reason.INVALID_REQUEST)
        return Decision(Outcome.UNTOUCHED, reasons, warnings)
    if too_large:
        return Decision(Outcome.DENIED, tuple(too_large))
    if _is_native(pod, containers, facts, policy):
        return leave_keys(pod, policy, Note(Reason.NATIVE, "Kubernetes itself makes the claim for whole cards"), ())
    return conversion.decide()


def _warns(note: Note) -> bool:
    return note.reason is Reason.FOREIGN_SCHEDULER


def _without_keys(
    pod: Mapping[str, Any], spec: Mapping[str, Any], containers: Sequence[Container], policy: Policy
) -> Decision:
    warnings = advice.look_alikes(containers, policy)
    metadata = mapping(pod.get("metadata"))
    if CONVERTED_LABEL in mapping(metadata.get("labels")):
        note = Note(Reason.ALREADY_CONVERTED, "the pod was converted before and holds no legacy key")
    else:
        note = Note(Reason.NO_LEGACY_KEYS, "no container asks for a legacy resource")
        if spec.get("schedulerName") == policy.settings.schedulers.legacy:
            text = f"schedulerName {spec['schedulerName']} stays, the webhook never sees this pod: remove it"
            warnings.append(Note(Reason.SCHEDULER_WITHOUT_KEYS, text, "spec.schedulerName"))
    return Decision(Outcome.UNTOUCHED, (note,), short(warnings))


def _is_native(pod: Mapping[str, Any], containers: Iterable[Container], facts: Facts, policy: Policy) -> bool:
    """S67: whole cards only, no annotations, and a DeviceClass that claims the name."""
    if policy.settings.whole_gpu != "native" or facts.server_version is None or facts.server_version < _NATIVE_SINCE:
        return False
    count = policy.settings.resource_names.count
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    return (
        any(c.extended_resource_name == count for c in (facts.device_classes or {}).values())
        and all(match.key is Key.COUNT for shape, _ in containers for match in shape.keys.values())
        and not any(str(annotations.get(name) or "").strip() for name in ANNOTATIONS)
    )
