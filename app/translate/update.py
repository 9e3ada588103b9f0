"""UPDATE of a converted pod: applying the same manifest again must change nothing (S60).

A client that applies the file again puts the removed keys back (it diffs against its own file, and the
stored pod lacks them). They are taken out again, and so is everything else that a conversion of the
file would change, but only when the outcome is exactly what is stored. Any difference is left to the API
server's own refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.translate import marks, quantity
from app.translate.containers import Container, check, items, mapping, read_containers
from app.translate.decision import Decision, Note, Outcome
from app.translate.gates import TERMS, pinned_terms, required_terms
from app.translate.patch import Patch
from app.translate.policy import Policy
from app.translate.reasons import Reason


def translate_update(pod: Mapping[str, Any], old: Mapping[str, Any], policy: Policy) -> Decision:
    """Decides about an update of ``old`` to ``pod``; neither is changed, and no template is ever needed."""
    recorded = marks.read_originals(old)
    if recorded is None:
        return _untouched("the pod was not converted")
    if mapping(pod.get("metadata")).get("deletionTimestamp"):
        return _untouched("the pod is being deleted")
    spec, old_spec = mapping(pod.get("spec")), mapping(old.get("spec"))
    containers = read_containers(spec, policy)
    before = {one.name: one for one in read_containers(old_spec, policy)}
    returned = {
        one.name: [key for key in one.keys if key not in before[one.name].keys] if one.name in before else [*one.keys]
        for one in containers
    }
    patch = _restore_placement(pod, old, spec, old_spec, policy)
    if any(returned.values()):
        difference = _difference(containers, returned, recorded)
        if difference is not None:
            return _untouched(difference)
    for one in containers:
        if returned[one.name]:
            _strip_again(patch, one, before[one.name], returned[one.name])
    if not patch.operations:
        return _untouched("no legacy key came back")
    note = Note(Reason.REAPPLIED, "the same manifest was applied again; what was converted stays converted")
    return Decision(Outcome.CONVERTED, (note,), patch=tuple(patch.operations))


def _untouched(text: str) -> Decision:
    return Decision(Outcome.UNTOUCHED, (Note(Reason.UPDATE_UNTOUCHED, text),))


def _difference(
    containers: Sequence[Container], returned: Mapping[str, Sequence[str]], recorded: marks.Originals
) -> str | None:
    """What the file asks otherwise than the one that was converted; None when it is the same file."""
    invalid, too_large = check(list(containers))
    if invalid or too_large:
        return (invalid or too_large)[0].message
    for one in containers:
        originals = recorded.containers.get(one.name, {})
        optional = recorded.added_by_others.get(one.name, ())
        keys = returned[one.name]
        for key in keys:
            if key not in originals:
                return f"{key} is new in container {one.name}"
            if quantity.parse(originals[key]) != one.values[key]:
                return f"{key} was {originals[key]} and is {one.values[key]} in container {one.name}"
        missing = [key for key in originals if key not in keys and key not in optional]
        if missing:
            return f"{missing[0]} is gone from container {one.name}"
    return None


def _strip_again(patch: Patch, one: Container, before: Container, keys: Sequence[str]) -> None:
    base = ("spec", one.group, one.index, "resources")
    old_resources = mapping(before.raw.get("resources"))
    for part, values in one.parts:
        gone = [key for key in keys if key in values]
        if gone and len(gone) == len(values) and part not in old_resources:
            patch.remove((*base, part))
        else:
            patch.remove_keys((*base, part), gone)


def _restore_placement(
    pod: Mapping[str, Any], old: Mapping[str, Any], spec: Mapping[str, Any], old_spec: Mapping[str, Any], policy: Policy
) -> Patch:
    """Scheduler, node and tolerations go back to the stored ones where converting the file would give just these."""
    patch = Patch(pod)
    schedulers = policy.settings.schedulers
    if spec.get("schedulerName") == schedulers.legacy and old_spec.get("schedulerName") == schedulers.target:
        patch.replace(("spec", "schedulerName"), schedulers.target)
    node = spec.get("nodeName") or old_spec.get("nodeName")
    terms, stored = required_terms(pod), required_terms(old)
    if isinstance(node, str):
        if terms != stored and pinned_terms(terms, node) == stored:
            patch.replace(TERMS, stored)
        if (
            spec.get("nodeName")
            and not old_spec.get("nodeName")
            and pinned_terms([], node)[0]["matchFields"][0]
            in (match for term in stored for match in items(mapping(term).get("matchFields")))
        ):
            patch.remove(("spec", "nodeName"))
    wanted = [t.model_dump(by_alias=True, exclude_none=True) for t in policy.settings.options.tolerations]
    tolerations = items(spec.get("tolerations"))
    missing = [t for t in wanted if t not in tolerations]
    if missing and [*tolerations, *missing] == items(old_spec.get("tolerations")):
        patch.append(("spec", "tolerations"), missing)
    return patch
