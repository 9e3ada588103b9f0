"""The conversion of one pod that holds legacy keys and passed the gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.translate import additions, advice, gates, marks, quantity
from app.translate.asks import Asked, Kind, asks_of, is_removed
from app.translate.claims import ClaimPlan, plan_claims, slug_of
from app.translate.containers import EMPTY, Container, Shape, items, mapping, shape_of
from app.translate.decision import Change, Claim, Decision, Note, Outcome, Role, Template
from app.translate.facts import Facts
from app.translate.memory import remembered
from app.translate.notes import short
from app.translate.patch import Operation, Patch
from app.translate.placement import Use, place
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.selection import ANNOTATIONS, Selection, compare_with_facts, read_selection


def leave_keys(pod: Mapping[str, Any], policy: Policy, note: Note, warnings: Iterable[Note]) -> Decision:
    """Leaves the keys; the old scheduler's name goes all the same, and a re-apply finds its way back (S4, S60)."""
    patch = Patch()
    changes = gates.switch_scheduler(pod, patch, policy)
    kept = short(warnings)
    if patch.operations:
        marks.mark(pod, patch, marks.Originals(), kept, label=False)
    return Decision(Outcome.UNTOUCHED, (note,), kept, changes=tuple(changes), patch=tuple(patch.operations))


@dataclass(slots=True)
class _Part:
    """One container on its way."""

    shape: Shape
    raw: Mapping[str, Any]
    asked: Asked
    ours: bool = False
    """It was converted in an earlier round of this admission (S5)."""
    plans: tuple[ClaimPlan, ...] = ()
    removed: tuple[str, ...] = ()
    """Keys that disappear, with the priority."""


@dataclass(slots=True)
class Conversion:
    """The conversion of one pod with keys. Lives for one call."""

    pod: Mapping[str, Any]
    """The essence of the pod."""
    containers: Sequence[Container]
    facts: Facts
    policy: Policy
    avoid: frozenset[str]
    recorded: marks.Originals | None = field(init=False)
    selection: Selection = field(init=False)
    selection_warnings: list[Note] = field(init=False)
    ours: frozenset[Shape] = field(init=False, default=frozenset())
    """The containers that were converted in an earlier round: whatever came back into them goes (S5)."""
    warnings: list[Note] = field(default_factory=list)
    denials: list[Note] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.recorded = recorded = marks.read_originals(self.pod)
        self.selection, self.selection_warnings = read_selection(self._annotations())
        if recorded is not None:
            self.ours = self._converted_before(recorded)

    def _annotations(self) -> Mapping[str, Any]:
        return mapping(mapping(self.pod.get("metadata")).get("annotations"))

    def decide(self, look_alikes: Sequence[Note]) -> Decision:
        """The decision; everything that denies is collected, so that one look at the pod shows all of it.

        Args:
            look_alikes: warnings about keys that only resemble ours (S9).
        """
        annotations = self._annotations()
        parts = [_Part(shape, raw, asks_of(shape, self.facts, self.policy)) for shape, raw in self.containers]
        for part in parts:
            if self.recorded is not None and part.shape in self.ours:
                part.ours = True
                self._compare_with_recorded(part, self.recorded)
            else:
                self._plan(part)
        self.warnings += look_alikes
        if not any(part.asked.converts for part in parts):
            self._warn_about_lone_priority(parts)
            return leave_keys(
                self.pod, self.policy, Note(Reason.KEYS_STAY, "none of the legacy keys can be converted"), self.warnings
            )
        planned = [(part.shape, part.plans) for part in parts if part.plans]
        if planned:
            denial, pinned = gates.check_node_name(self.pod, self.policy)
            privileged = gates.privileged_container(
                self.containers, (plan.target.profile for _, plans in planned for plan in plans)
            )
            self.denials += [note for note in (denial, privileged) if note is not None]
        else:
            pinned = False
        if self.facts.limit_ranges:
            limit_range = gates.limit_range_denial(
                self.facts.limit_ranges, lambda key: is_removed(key, self.facts, self.policy)
            )
            self.denials += [limit_range] if limit_range is not None else []
        if self.denials:
            return Decision(Outcome.DENIED, tuple(dict.fromkeys(self.denials)), short(self.warnings))
        self._warn_about_selection(planned, annotations)
        self.warnings += advice.about_annotations(annotations)
        self.warnings += advice.about_pod(self.pod, self.containers, self.policy)
        return self._convert(parts, planned, pinned=pinned)

    def _converted_before(self, recorded: marks.Originals) -> frozenset[Shape]:
        """The containers that carry the claim that their recorded originals lead to (S5)."""
        keys = {one: recorded.containers.get(one.name, EMPTY) for one, _ in self.containers}
        plans = {one: self._recorded_plans(one, keys[one]) for one in keys}
        # An init container may borrow the claim of any other container, so every recorded one counts.
        slugs = {plan.slug for made, _ in plans.values() for plan in made}
        templates = {
            entry["name"]: entry.get("resourceClaimTemplateName")
            for entry in map(mapping, items(self.pod["spec"].get("resourceClaims")))
            if isinstance(entry.get("name"), str)
        }

        def is_ours(one: Shape, raw: Mapping[str, Any]) -> bool:
            if not keys[one] or not asks_of(self._recorded_shape(one, keys[one]), self.facts, self.policy).converts:
                return False
            made, refused = plans[one]
            if refused:
                return False  # an earlier round would have denied it: the record came with a copied manifest
            if not made:
                return True  # zero cards: nothing was claimed, and nothing is to be claimed now
            names = [mapping(claim).get("name") for claim in items(mapping(raw.get("resources")).get("claims"))]
            used = [templates.get(name) for name in names if isinstance(name, str)]
            return any(isinstance(template, str) and slug_of(template) in slugs for template in used)

        return frozenset(one for one, raw in self.containers if is_ours(one, raw))

    def _recorded_plans(self, one: Shape, keys: Mapping[str, Any]) -> tuple[tuple[ClaimPlan, ...], bool]:
        """The claims that the recorded keys of a container lead to, and whether they are refused now."""
        original = self._recorded_shape(one, keys)
        if original.invalid or original.too_large:
            return (), True
        asked = asks_of(original, self.facts, self.policy)
        plans, denials = plan_claims(asked.asks, self.selection, self.facts, self.policy)
        return plans, bool(asked.denials or denials)

    def _recorded_shape(self, one: Shape, keys: Mapping[str, Any]) -> Shape:
        return shape_of(self.policy, one.group, one.index, one.role, one.name, keys, EMPTY)

    def _compare_with_recorded(self, part: _Part, recorded: marks.Originals) -> None:
        one = part.shape
        for key in part.asked.converts:
            before = recorded.containers[one.name].get(key)
            if before is not None and quantity.parse(before) != one.values[key]:
                read = quantity.shown(one.written(key)) if one.invalid else one.values[key]
                text = f"{key} came back as {read}; {before} was converted and stays (container {one.name})"
                self.warnings.append(Note(Reason.VALUE_DIFFERS, text, one.key_path(key)))

    def _plan(self, part: _Part) -> None:
        one, asked = part.shape, part.asked
        self.warnings += asked.warnings
        self.denials += asked.denials
        if not asked.asks:
            return
        part.plans, refused = plan_claims(asked.asks, self.selection, self.facts, self.policy)
        self.denials += [Note(reason, f"{text} (container {one.name})", one.path) for reason, text in refused]
        for plan in part.plans:
            self.warnings += [Note(reason, f"{text} ({one.name})", one.path) for reason, text in plan.findings]

    def _warn_about_lone_priority(self, parts: Iterable[_Part]) -> None:
        name = self.policy.settings.resource_names.priority
        for part in parts:
            if part.asked.priority is not None:
                text = f"{name}: priority without a card stays and asks nothing (container {part.shape.name})"
                self.warnings.append(Note(Reason.PRIORITY_WITHOUT_CARD, text, part.shape.key_path(name)))

    def _warn_about_selection(
        self,
        planned: Sequence[tuple[Shape, Sequence[ClaimPlan]]],
        annotations: Mapping[str, Any],
    ) -> None:
        """Warnings about annotations, for the devices that they act on and for those that they do not (section 5)."""
        asks = [(ask, plan) for _, plans in planned for plan in plans for ask in plan.asks]
        counted = [plan.target.profile for ask, plan in asks if ask.from_count]
        if counted:
            self.warnings += self.selection_warnings
            for profile in {profile.name: profile for profile in counted}.values():
                self.warnings += compare_with_facts(self.selection, profile, self.facts)
        keys = sorted({key for ask, _ in asks if not ask.from_count for key in ask.keys})
        for name in ANNOTATIONS if keys else ():
            if str(annotations.get(name) or "").strip():
                text = f"{name} has no effect on devices asked as {', '.join(keys)}"
                self.warnings.append(Note(Reason.ANNOTATION_ON_MIG, text, f'metadata.annotations["{name}"]'))

    def _convert(
        self,
        parts: Sequence[_Part],
        planned: Sequence[tuple[Shape, Sequence[ClaimPlan]]],
        *,
        pinned: bool,
    ) -> Decision:
        taken = [str(mapping(entry).get("name")) for entry in items(self.pod["spec"].get("resourceClaims"))]
        uses, placement_warnings = place(planned, taken, self.selection, self.facts, self.policy)
        self.warnings += placement_warnings
        templates = {id(use): use.plan.template(self.avoid) for use in uses if use.owner is None}
        patch = Patch()
        self.changes += gates.switch_scheduler(self.pod, patch, self.policy)
        if pinned:
            warning, change = gates.pin_node(self.pod, patch)
            self.warnings.append(warning)
            self.changes.append(change)
        priorities = self._strip(patch, parts, uses)
        entries = [
            {"name": use.name, "resourceClaimTemplateName": templates[id(use)].name}
            for use in uses
            if use.owner is None
        ]
        patch.append(("spec", "resourceClaims"), self.pod["spec"].get("resourceClaims"), entries)
        with_devices = {use.shape.name for use in uses} | {part.shape.name for part in parts if part.ours}
        self.changes += additions.add_environment(patch, self.containers, priorities, with_devices, self.policy)
        if uses:
            self.changes += additions.add_to_spec(patch, self.pod["spec"], self.policy)
        warnings = short(self.warnings)
        originals = self._originals(parts, self.recorded or marks.Originals())
        marks.mark(self.pod, patch, originals, warnings, label=True)
        unique = {template.name: template for template in templates.values()}
        return Decision(
            Outcome.CONVERTED,
            (Note(Reason.CONVERTED, "legacy keys were replaced by generated resource claims"),),
            warnings,
            claims=tuple(_claims(uses, templates)),
            changes=tuple(self.changes),
            templates=tuple(unique.values()),
            patch=tuple(patch.operations),
        )

    def _strip(self, patch: Patch, parts: Sequence[_Part], uses: Sequence[Use]) -> dict[int, int]:
        """Removes the keys, adds the claims; returns the priorities by position (S35, S64)."""
        name = self.policy.settings.resource_names.priority
        priorities: dict[int, int] = {}
        for position, part in enumerate(parts):
            part.removed = part.asked.converts
            self.changes += _removed_without_a_claim(part)
            priority = part.asked.priority
            if priority is not None:
                # Every container of a pod that converts, also one without a card of its own.
                priorities[position] = priority
                part.removed = (*part.removed, name)
                one = part.shape
                becomes = (f"env {additions.PRIORITY_VARIABLE}={priority}",)
                self.changes.append(Change("S35", {name: one.written(name)}, becomes, None, one.name, one.role))
                if priority > 1:
                    text = f"{name} is {priority}; it is 0 or 1 (container {part.shape.name})"
                    self.warnings.append(Note(Reason.PRIORITY_RANGE, text, part.shape.key_path(name)))
            if part.removed:
                claims = [use.name for use in uses if use.shape is part.shape]
                _strip_container(patch, part, claims)
        return priorities

    def _originals(self, parts: Iterable[_Part], recorded: marks.Originals) -> marks.Originals:
        containers: dict[str, marks.Keys] = {}
        added: dict[str, tuple[str, ...]] = {}
        for part in parts:
            if part.removed and not part.ours:
                containers[part.shape.name] = marks.record(part.shape, part.removed)
                others = marks.added_by_others(self.pod, part.shape, part.removed)
                if others:
                    added[part.shape.name] = others
        return recorded.with_more(containers, added)


def _removed_without_a_claim(part: _Part) -> Iterator[Change]:
    """Keys that came back into a container with a claim of ours (S5), and keys that ask for nothing (S34)."""
    one = part.shape
    asking = {key for ask in part.asked.asks for key in ask.keys} if not part.ours else set()
    read = {key: one.written(key) for key in part.asked.converts if key not in asking}
    if read:
        rule, becomes = ("S5", "nothing more than it has") if part.ours else ("S34", "no device")
        yield Change(rule, read, (becomes,), None, one.name, one.role)


def _strip_container(patch: Patch, part: _Part, claims: Sequence[str]) -> None:
    base = ("spec", part.shape.group, part.shape.index, "resources")
    resources = mapping(part.raw.get("resources"))
    removals, emptied = _removals(part.shape, part.removed)
    if not claims and emptied == len(resources):
        patch.remove(base)
        return
    patch.operations += removals
    patch.append((*base, "claims"), resources.get("claims"), [{"name": name} for name in claims])


@remembered()
def _removals(one: Shape, keys: tuple[str, ...]) -> tuple[tuple[Operation, ...], int]:
    """The operations that remove keys from limits and requests, and how many of the two maps disappear."""
    patch, emptied = Patch(), 0
    for part, values in one.parts:
        gone = [key for key in keys if key in values]
        if gone and len(gone) == len(values):
            patch.remove(("spec", one.group, one.index, "resources", part))
            emptied += 1
        else:
            patch.remove_keys(("spec", one.group, one.index, "resources", part), gone)
    return tuple(patch.operations), emptied


def _claims(uses: Iterable[Use], templates: Mapping[int, Template]) -> Iterable[Claim]:
    for use in uses:
        owner = use.owner or use
        for row, own in zip(owner.plan.rows, use.plan.rows, strict=True):
            ask = row.ask
            yield Claim(
                container=use.shape.name,
                role=use.shape.role,
                claim=use.name,
                template=templates[id(owner)].name,
                request=row.request,
                driver=owner.plan.target.profile.driver,
                device_class=row.device_class,
                devices=ask.devices,
                memory_mib=row.memory_mib,
                memory_percentage=row.percentage,
                cores=row.cores,
                exclusive=row.exclusive,
                mig_profile=ask.mig_profile,
                share=ask.kind is Kind.SHARE and not owner.plan.target.by_memory,
                shares_claim_of=use.owner.shape.name if use.owner is not None else None,
                rules=(*own.rules, *(("S65",) if use.shape.role is not Role.CONTAINER else ())),
                settings=own.settings,
                read={key: use.shape.written(key) for key in own.ask.keys},
            )
