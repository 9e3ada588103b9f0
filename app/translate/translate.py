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
from typing import Any

from app.translate import advice, gates
from app.translate.containers import GROUPS, Container, check, items, malformed, mapping, pod_level, read_containers
from app.translate.conversion import Conversion, leave_keys
from app.translate.decision import CONVERTED_LABEL, ORIGINALS_ANNOTATION, Decision, Note, Outcome
from app.translate.essence import essence
from app.translate.facts import Facts
from app.translate.memory import forget, remembered
from app.translate.notes import short
from app.translate.policy import Key, Policy
from app.translate.reasons import Reason
from app.translate.selection import ANNOTATIONS

_NATIVE_SINCE = (1, 36)
"""First version that turns an extended resource into a claim by default (KEP-5004)."""
_REMEMBERED_CHARACTERS = 16 * 1024
"""Larger essences (an env of megabytes is legal) are decided anew: 512 times 4 of these are 32 MiB."""
_LARGE_CHARACTERS = 4096
"""Names and quantities of one container, or the annotations that choose cards; ordinary ones have some 200."""
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
    try:
        return _translate(pod, facts, policy, avoid)
    except RecursionError:
        forget()
        return Decision(Outcome.UNTOUCHED, (Note(Reason.INVALID_REQUEST, "the pod is nested too deep to be read"),))


def _translate(pod: Mapping[str, Any], facts: Facts, policy: Policy, avoid: frozenset[str]) -> Decision:
    spec = mapping(pod.get("spec"))
    containers = read_containers(spec, policy)
    if any(shape.keys for shape, _ in containers) or pod_level(spec, policy):
        what_counts = essence(pod, policy)
        decisions = _decisions(tuple(shape for shape, _ in containers), facts, policy, avoid)
        for known, decision in decisions:
            if known == what_counts:
                return decision
        decision = _decide(what_counts, facts, policy, avoid)
        if len(repr(what_counts)) <= _REMEMBERED_CHARACTERS:
            decisions.insert(0, (copy.deepcopy(what_counts), decision))
            del decisions[_REMEMBERED_PER_SHAPE:]
    else:
        decision = _without_keys(pod, spec, containers, policy)
    if is_large(pod):
        forget()
    return decision


def is_large(pod: Mapping[str, Any]) -> bool:
    """Whether a pod brings more text than caches may keep. The API server refuses such names, but only after us."""
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    if sum(_length(annotations[name]) for name in ANNOTATIONS if name in annotations) > _LARGE_CHARACTERS:
        return True
    spec = mapping(pod.get("spec"))
    containers = (mapping(raw) for group in GROUPS for raw in items(spec.get(group)))
    lengths = [_length_of(one) for one in (spec, *containers)]
    # Shapes of recorded originals are kept, and the shapes of all containers of a pod together.
    everything = sum(lengths) + _length(annotations.get(ORIGINALS_ANNOTATION))
    return max(lengths) > _LARGE_CHARACTERS or everything > _REMEMBERED_CHARACTERS


def _length_of(container: Mapping[str, Any]) -> int:
    """Of what is kept of it, or of a pod: name, resource names and quantities."""
    resources = mapping(container.get("resources"))
    parts = (mapping(resources.get(part)) for part in ("limits", "requests"))
    return _length(container.get("name")) + sum(len(k) + _length(v) for part in parts for k, v in part.items())


def _length(value: object) -> int:
    """Characters of a text or number; anything else is out of place, and too long to keep."""
    if isinstance(value, str):
        return len(value)
    return 0 if value is None or isinstance(value, int | float) else _LARGE_CHARACTERS + 1


@remembered(512)
def _decisions(*_of: object) -> list[tuple[Mapping[str, Any], Decision]]:
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
    invalid += malformed(pod, containers) + pod_level(pod["spec"], policy)
    look_alikes = advice.look_alikes(containers, policy)
    if invalid:
        reasons = tuple(Note(Reason.INVALID_REQUEST, note.message, note.path) for note in invalid)
        warnings = [note for note in invalid if note.reason is not Reason.INVALID_REQUEST]
        return Decision(Outcome.UNTOUCHED, reasons, short(warnings + look_alikes))
    if too_large:
        return Decision(Outcome.DENIED, tuple(too_large), short(look_alikes))
    if _is_native(pod, containers, facts, policy):
        native = Note(Reason.NATIVE, "Kubernetes itself makes the claim for whole cards")
        return leave_keys(pod, policy, native, look_alikes)
    return conversion.decide(look_alikes)


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
