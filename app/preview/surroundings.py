"""What else the input says about a pod's namespace: opt-outs, LimitRanges, ResourceQuotas (S2, S72, S73)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.preview.workloads import group_of, namespace_of
from app.translate import Facts, Note, Policy, Reason
from app.translate.asks import is_removed
from app.translate.containers import items, mapping
from app.translate.gates import BOUNDS, IGNORE_LABEL, IGNORE_VALUE
from app.translate.keys import classify, near_miss

ALWAYS_LEFT_OUT: Final = ("kube-system", "kube-node-lease")
"""Namespaces in which the webhook is never called (S2)."""
_QUOTA_PREFIXES: Final = ("requests.", "limits.")
_UNKNOWN: Final = Facts()


@dataclass(slots=True)
class Surroundings:
    """The objects of an input that say something about a namespace."""

    policy: Policy
    own_namespace: str | None = None
    """The webhook's own namespace, which is left out too; None where it is not known."""
    _opted_out: dict[str, str] = field(default_factory=dict)
    _limit_ranges: dict[str | None, list[Mapping[str, Any]]] = field(default_factory=dict)
    _facts: dict[str | None, Facts] = field(default_factory=dict)
    _quotas: dict[str | None, tuple[Note, ...]] = field(default_factory=dict)

    def read(self, manifests: Iterable[Any]) -> None:
        """Takes note of Namespaces and LimitRanges; other objects are passed over."""
        for manifest in manifests:
            if not isinstance(manifest, dict) or group_of(manifest) != "":
                continue
            metadata = mapping(manifest.get("metadata"))
            if manifest.get("kind") == "Namespace":
                why = self._opt_out(mapping(metadata.get("labels")))
                if why is not None:
                    self._opted_out[str(metadata.get("name"))] = why
            elif manifest.get("kind") == "LimitRange":
                self._limit_ranges.setdefault(namespace_of(manifest), []).append(manifest)

    def read_cluster(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Takes note of LimitRanges and ResourceQuotas that are in the cluster, with their namespaces."""
        for one in objects:
            metadata = mapping(one.get("metadata"))
            if one.get("kind") == "ResourceQuota":
                text = f"ResourceQuota {metadata.get('name')}: "
                found = tuple(
                    replace(note, message=text + note.message, path="") for note in about_object(one, self.policy)
                )
                namespace = namespace_of(one)
                self._quotas[namespace] = (*self.quotas(namespace), *found)
            else:
                self.read([one])

    def quotas(self, namespace: str | None) -> tuple[Note, ...]:
        """What to say of the cluster's ResourceQuotas for a converted pod of a namespace (S73)."""
        return self._quotas.get(namespace, ())

    def left_out(self, namespace: str | None, *, creates: bool = True) -> Note | None:
        """Why the webhook is never called for pods of a namespace; for updates no label is needed (S60)."""
        if namespace in ALWAYS_LEFT_OUT or (namespace is not None and namespace == self.own_namespace):
            return Note(Reason.OPTED_OUT, f"the namespace {namespace} is always left out", "metadata.namespace")
        why = None if namespace is None or not creates else self._opted_out.get(namespace)
        if why is None:
            return None
        return Note(Reason.OPTED_OUT, f"the namespace {namespace} has the label {why}", "metadata.namespace")

    def facts(self, namespace: str | None, facts: Facts) -> Facts:
        """The facts, with the LimitRanges that the input adds to the namespace."""
        if namespace not in self._limit_ranges:
            return facts
        if namespace not in self._facts:
            more = (*facts.limit_ranges, *self._limit_ranges[namespace])
            self._facts[namespace] = replace(facts, limit_ranges=more)
        return self._facts[namespace]

    def _opt_out(self, labels: Mapping[str, Any]) -> str | None:
        opt_in = self.policy.settings.opt_in
        if opt_in.label in labels:
            value = labels[opt_in.label]
            return None if value == opt_in.value else f"{opt_in.label}: {value}"
        return f"{IGNORE_LABEL}: {IGNORE_VALUE}" if labels.get(IGNORE_LABEL) == IGNORE_VALUE else None


def about_object(manifest: Mapping[str, Any], policy: Policy, facts: Facts = _UNKNOWN) -> list[Note]:
    """Warnings about a ResourceQuota or LimitRange that names legacy keys; none for other kinds."""
    spec = mapping(manifest.get("spec"))
    if group_of(manifest) != "":
        return []
    if manifest.get("kind") == "ResourceQuota":
        return [note for name in mapping(spec.get("hard")) if (note := _about_quota(str(name), policy)) is not None]
    if manifest.get("kind") == "LimitRange":
        return [
            Note(
                Reason.LIMIT_RANGE_ON_KEY,
                f"{bound} {key} {_LIMIT_RANGE[bound]}",
                f'spec.limits[{index}].{bound}["{key}"]',
            )
            for index, limit in enumerate(items(spec.get("limits")))
            for bound in _LIMIT_RANGE
            for key in mapping(mapping(limit).get(bound))
            if (is_removed(key, facts, policy) if bound in BOUNDS else classify(policy, key) is not None)
        ]
    return []


_LIMIT_RANGE: Final = {
    "max": "refuses every converted pod of the namespace: remove it",
    "min": "refuses every converted pod of the namespace: remove it",
    "default": "gives every container of the namespace a device",
    "defaultRequest": "gives every container of the namespace a device",
}


def _about_quota(name: str, policy: Policy) -> Note | None:
    prefix = next((prefix for prefix in _QUOTA_PREFIXES if name.startswith(prefix)), None)
    if prefix is None:
        return None
    key = name.removeprefix(prefix)
    path = f'spec.hard["{name}"]'
    if classify(policy, key) is not None:
        text = f"{name} stops counting: converted pods carry no {key}"
        return Note(Reason.QUOTA_STOPS_COUNTING, text, path)
    meant = near_miss(policy, key)
    if meant is None:
        return None
    return Note(Reason.NEAR_MISS, f"{name} never counted anything: {key} is no key, did you mean {meant}?", path)
