"""Which pods are candidates, and what the node name and privileged containers mean for them (S2-S4, S7, S8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.drivers import DriverProfile
from app.translate.containers import Container, items, mapping
from app.translate.decision import Change, Note
from app.translate.patch import Patch, Path
from app.translate.policy import Policy
from app.translate.reasons import Reason

IGNORE_LABEL = "hami.io/webhook"
IGNORE_VALUE = "ignore"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
BOUNDS = ("max", "min")
"""Of a LimitRange: they refuse pods that lack the key (S72)."""
TERMS: Path = (
    "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms",
)  # fmt: skip


def stays_out(pod: Mapping[str, Any], policy: Policy) -> Note | None:
    """Why the pod is none of our business: an opt-out label, a mirror pod, a foreign scheduler (S2, S3, S4)."""
    metadata = mapping(pod.get("metadata"))
    labels = mapping(metadata.get("labels"))
    opt_in = policy.settings.opt_in
    if labels.get(IGNORE_LABEL) == IGNORE_VALUE:
        return Note(Reason.OPTED_OUT, f"label {IGNORE_LABEL}: {IGNORE_VALUE}", f'metadata.labels["{IGNORE_LABEL}"]')
    if labels.get(opt_in.label) == opt_in.opt_out_value:
        text = f"label {opt_in.label}: {opt_in.opt_out_value}"
        return Note(Reason.OPTED_OUT, text, f'metadata.labels["{opt_in.label}"]')
    if MIRROR_ANNOTATION in mapping(metadata.get("annotations")):
        return Note(Reason.MIRROR_POD, "a mirror pod of the kubelet", f'metadata.annotations["{MIRROR_ANNOTATION}"]')
    name = mapping(pod.get("spec")).get("schedulerName") or "default-scheduler"
    schedulers = policy.settings.schedulers
    if name == schedulers.legacy or name in schedulers.convert:
        return None
    if name == "default-scheduler" and schedulers.convert_default:
        return None
    text = f"foreign scheduler {name}: its pods convert only when schedulers.convert names it"
    return Note(Reason.FOREIGN_SCHEDULER, text, "spec.schedulerName")


def switch_scheduler(pod: Mapping[str, Any], patch: Patch, policy: Policy) -> list[Change]:
    """Rewrites the old scheduler's name (S4)."""
    schedulers = policy.settings.schedulers
    if mapping(pod.get("spec")).get("schedulerName") == schedulers.legacy:
        patch.replace(("spec", "schedulerName"), schedulers.target)
        becomes = (f"schedulerName: {schedulers.target}",)
        return [Change("S4", {"schedulerName": schedulers.legacy}, becomes, "schedulers.target")]
    return []


def check_node_name(pod: Mapping[str, Any], policy: Policy) -> tuple[Note | None, bool]:
    """The denial for a pod that names its node, or whether it must be pinned by affinity (S7)."""
    name = mapping(pod.get("spec")).get("nodeName")
    if not name:
        return None, False
    if policy.settings.node_name == "deny":
        text = f"nodeName {name}: nobody allocates a claim for a pod that skips the scheduler; use a node selector"
        return Note(Reason.NODE_NAME, text, "spec.nodeName"), False
    return None, True


def pin_node(pod: Mapping[str, Any], patch: Patch) -> tuple[Note, Change]:
    """Turns ``spec.nodeName`` into a required node affinity (S7)."""
    name = mapping(pod.get("spec"))["nodeName"]
    patch.remove(("spec", "nodeName"))
    patch.put(pod, TERMS, pinned_terms(required_terms(pod), name))
    text = f"nodeName {name} became a required node affinity; the node's taints now apply"
    change = Change("S7", {"nodeName": name}, ("required node affinity: metadata.name",), "nodeName")
    return Note(Reason.NODE_NAME_PINNED, text, "spec.nodeName"), change


def pinned_terms(terms: Sequence[Any], node: str) -> list[Any]:
    """Required terms that also demand the node: in every term, since terms are alternatives, or in one new term."""
    match = {"key": "metadata.name", "operator": "In", "values": [node]}
    if not terms:
        return [{"matchFields": [match]}]
    return [
        # An empty term selects no node, and must go on selecting none.
        {**term, "matchFields": [*items(term.get("matchFields")), match]} if _selects(term) else term
        for term in terms
    ]


def _selects(term: object) -> bool:
    return bool(mapping(term).get("matchExpressions") or mapping(term).get("matchFields"))


def required_terms(pod: Mapping[str, Any]) -> list[Any]:
    """The required node selector terms of a pod."""
    value: Any = pod
    for part in TERMS:
        value = mapping(value).get(str(part))
    return items(value)


def privileged_container(containers: Sequence[Container], profiles: Iterable[DriverProfile]) -> Note | None:
    """The denial for a privileged container beside devices whose driver enforces limits inside containers (S8)."""
    enforcing = next((p for p in profiles if p.privileged == "deny"), None)
    if enforcing is None:
        return None
    for one, raw in containers:  # init containers come first
        if mapping(raw.get("securityContext")).get("privileged") is True:
            text = (
                f"container {one.name} is privileged, which escapes the limits that {enforcing.title} sets: "
                f"run it in a pod of its own"
            )
            return Note(Reason.PRIVILEGED, text, f"{one.path}.securityContext.privileged")
    return None


def limit_range_denial(limit_ranges: Iterable[Mapping[str, Any]], removed: Callable[[str], bool]) -> Note | None:
    """The denial for a LimitRange that bounds a key which conversion removes, asked by this pod or not (S72)."""
    for limit_range in limit_ranges:
        name = mapping(limit_range.get("metadata")).get("name")
        for limit in items(mapping(limit_range.get("spec")).get("limits")):
            for bound in BOUNDS:
                hit = sorted(filter(removed, mapping(mapping(limit).get(bound))))
                if hit:
                    text = f"LimitRange {name} sets {bound} {hit[0]} and refuses every converted pod: remove it there"
                    return Note(Reason.LIMIT_RANGE, text, "")
    return None
