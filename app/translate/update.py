"""UPDATE of a converted pod: applying the same manifest again must change nothing (S60).

A client that applies the file again puts the removed keys back (it diffs against its own file, and the
stored pod lacks them). They are taken out again, and so is everything else that a conversion of the
file would change, but only when the outcome is exactly what is stored. Any difference is left to the API
server's own refusal.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.translate import marks, quantity
from app.translate.additions import PRIORITY_VARIABLE, option_tolerations
from app.translate.containers import Container, Shape, check, items, mapping, read_containers
from app.translate.decision import Change, Decision, Note, Outcome
from app.translate.gates import TERMS, pinned_terms, required_terms
from app.translate.memory import forget
from app.translate.patch import Patch, Path
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.translate import is_large


def translate_update(pod: Mapping[str, Any], old: Mapping[str, Any], policy: Policy) -> Decision:
    """Decides about an update of ``old`` to ``pod``; neither is changed, and no template is ever needed."""
    decision = _translate_update(pod, old, policy)
    if is_large(pod) or is_large(old):
        forget()
    return decision


def _translate_update(pod: Mapping[str, Any], old: Mapping[str, Any], policy: Policy) -> Decision:
    recorded = marks.read_originals(old)
    if recorded is None:
        return _untouched("the pod was not converted")
    if mapping(pod.get("metadata")).get("deletionTimestamp"):
        return _untouched("the pod is being deleted")
    containers = read_containers(mapping(pod.get("spec")), policy)
    before = {one.shape.name: one for one in read_containers(mapping(old.get("spec")), policy)}
    returned = {
        shape.name: [key for key in shape.keys if shape.name not in before or key not in before[shape.name].shape.keys]
        for shape, _ in containers
    }
    if any(returned.values()):
        difference = _difference(containers, before, returned, recorded)
        if difference is not None:
            return _untouched(difference)
    restoration = _Restoration(pod)
    for shape, _ in containers:
        if returned[shape.name]:
            _strip_again(restoration, shape, before[shape.name], returned[shape.name])
    for shape, raw in containers:
        if shape.name in before:
            _restore_priority(restoration, shape, raw, before[shape.name].raw, recorded, policy)
    _restore_placement(restoration, pod, old, policy)
    operations = restoration.patch.operations
    if not operations:
        return _untouched("no legacy key came back")
    restoration.keep_field_managers(old)
    note = Note(Reason.REAPPLIED, "the same manifest was applied again; what was converted stays converted")
    change = Change("S60", becomes=("the pod as it is stored",))
    return Decision(Outcome.CONVERTED, (note,), changes=(change,), patch=tuple(operations))


class _Restoration:
    """A patch together with the pod that it leads to."""

    def __init__(self, pod: Mapping[str, Any]) -> None:
        self.patch = Patch()
        self._result: Any = copy.deepcopy(pod)

    def remove(self, path: Path) -> None:
        """Removes a member that exists."""
        self.patch.remove(path)
        del self._parent(path)[path[-1]]

    def replace(self, path: Path, value: Any) -> None:
        """Replaces a member that exists."""
        self.patch.replace(path, value)
        self._parent(path)[path[-1]] = value

    def keep_field_managers(self, old: Mapping[str, Any]) -> None:
        """Restores managedFields when nothing else is left of the update.

        The API server has renewed the applier's time stamp and may have sorted the entries anew; with both undone the
        update is none, and the resourceVersion stays. When anything else changed, its new owner must be kept.
        """
        stored = mapping(old.get("metadata")).get("managedFields")
        current = mapping(self._result.get("metadata")).get("managedFields")
        if not stored or not current or current == stored or _owned(current) != _owned(stored):
            return  # nothing to do, or somebody took over by force and must stay the owner
        if _without_managers(self._result) == _without_managers(old):
            self.replace(("metadata", "managedFields"), stored)

    def _parent(self, path: Path) -> Any:
        value = self._result
        for part in path[:-1]:
            value = value[part]
        return value


def _owned(managers: object) -> list[Any]:
    """Who owns what, without the times."""
    entries = [{key: value for key, value in mapping(one).items() if key != "time"} for one in items(managers)]
    return sorted(entries, key=lambda one: json.dumps(one, sort_keys=True))


def _without_managers(pod: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in mapping(pod.get("metadata")).items() if key != "managedFields"}
    return {**pod, "metadata": metadata}


def _untouched(text: str) -> Decision:
    return Decision(Outcome.UNTOUCHED, (Note(Reason.UPDATE_UNTOUCHED, text),))


def _difference(
    containers: Sequence[Container],
    before: Mapping[str, Container],
    returned: Mapping[str, Sequence[str]],
    recorded: marks.Originals,
) -> str | None:
    """What the file asks otherwise than the one that was converted; None when it is the same file."""
    invalid, too_large = check(list(containers))
    if invalid or too_large:
        return (invalid or too_large)[0].message
    for one, _ in containers:
        originals = recorded.containers.get(one.name, {})
        optional = recorded.added_by_others.get(one.name, ())
        keys = returned[one.name]
        if keys and one.name not in before:
            return f"container {one.name} is new"
        for key in keys:
            if key not in originals:
                return f"{key} is new in container {one.name}"
            if quantity.parse(originals[key]) != one.values[key]:
                return f"{key} was {originals[key]} and is {one.values[key]} in container {one.name}"
        missing = [key for key in originals if key not in keys and key not in optional]
        if missing:
            return f"{missing[0]} is gone from container {one.name}"
    return None


def _strip_again(restoration: _Restoration, one: Shape, before: Container, keys: Sequence[str]) -> None:
    base = ("spec", one.group, one.index, "resources")
    old_resources = mapping(before.raw.get("resources"))
    for part, values in one.parts:
        gone = [key for key in keys if key in values]
        if gone and len(gone) == len(values) and part not in old_resources:
            restoration.remove((*base, part))
        else:
            for key in gone:
                restoration.remove((*base, part, key))


def _restore_priority(
    restoration: _Restoration,
    one: Shape,
    raw: Mapping[str, Any],
    old: Mapping[str, Any],
    recorded: marks.Originals,
    policy: Policy,
) -> None:
    """Puts the priority's variable back where the user sets it too.

    Names in ``env`` are keys to whoever merges lists: kubectl moves a second entry beside the first, and server-side
    apply drops it (S35).
    """
    priority = recorded.containers.get(one.name, {}).get(policy.settings.resource_names.priority)
    env, stored = items(raw.get("env")), items(old.get("env"))
    if priority is None or not env or env == stored:
        return
    ours = {"name": PRIORITY_VARIABLE, "value": str(quantity.parse(priority))}
    if [entry for entry in env if entry != ours] == [entry for entry in stored if entry != ours]:
        restoration.replace(("spec", one.group, one.index, "env"), stored)


def _restore_placement(
    restoration: _Restoration, pod: Mapping[str, Any], old: Mapping[str, Any], policy: Policy
) -> None:
    """Scheduler, node and tolerations go back to the stored ones where converting the file would give just these."""
    spec, stored = mapping(pod.get("spec")), mapping(old.get("spec"))
    schedulers = policy.settings.schedulers
    if spec.get("schedulerName") == schedulers.legacy and stored.get("schedulerName") == schedulers.target:
        restoration.replace(("spec", "schedulerName"), schedulers.target)
    node = spec.get("nodeName") or stored.get("nodeName")
    terms, stored_terms = required_terms(pod), required_terms(old)
    if isinstance(node, str):
        if terms and terms != stored_terms and pinned_terms(terms, node) == stored_terms:
            restoration.replace(TERMS, stored_terms)
        (pin,) = pinned_terms([], node)[0]["matchFields"]
        pins = [match for term in stored_terms for match in items(mapping(term).get("matchFields"))]
        if spec.get("nodeName") and not stored.get("nodeName") and pin in pins:
            restoration.remove(("spec", "nodeName"))
    tolerations = items(spec.get("tolerations"))
    # Clients replace the whole list: what the options added stays, and the API server judges the rest.
    kept = items(stored.get("tolerations"))
    missing = [t for t in option_tolerations(policy) if t in kept and t not in tolerations]
    if missing and tolerations:
        restoration.replace(("spec", "tolerations"), [*tolerations, *missing])
