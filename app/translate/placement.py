"""Which container uses which claim: own ones, or an init container that borrows (S61, S63, S65)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.translate.asks import Ask
from app.translate.claims import ClaimPlan
from app.translate.containers import Shape
from app.translate.decision import Note, Role
from app.translate.devices import smallest_card_mib
from app.translate.facts import Facts
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.selection import Selection

_NAME_LENGTH = 63
_NO_LIMIT = 1 << 62
"""Sorts a whole card behind every amount."""


@dataclass(slots=True)
class Use:
    """One claim of one container."""

    shape: Shape
    plan: ClaimPlan
    owner: Use | None = None
    """The use whose claim this one borrows."""
    name: str = ""
    """The entry in ``spec.resourceClaims``; set for every use, borrowed or not."""


def place(
    planned: Sequence[tuple[Shape, Sequence[ClaimPlan]]],
    taken: Iterable[str],
    selection: Selection,
    facts: Facts,
    policy: Policy,
) -> tuple[list[Use], list[Note]]:
    """Gives every planned claim an owner and a name.

    Args:
        planned: containers in starting order with their claims.
        taken: names of ``spec.resourceClaims`` that are in use already.
        selection: of the pod; with facts and policy it tells how small a whole card may be.

    Returns:
        The uses in the order of ``planned``, and warnings about init containers.
    """
    uses = [Use(shape, plan) for shape, plans in planned for plan in plans]
    owners = [use for use in uses if use.shape.role is Role.CONTAINER]
    warnings: list[Note] = []
    inits = [use for use in uses if use.shape.role is Role.INIT]
    # Largest first, so that a smaller init container finds the larger one's claim.
    for use in sorted(inits, key=lambda u: _size(u.plan), reverse=True):
        fitting = [o for o in owners if _covers(o.plan, use.plan, selection, facts, policy)]
        name = use.shape.name
        if fitting:
            use.owner = min(fitting, key=lambda o: _size(o.plan))
            if _size(use.owner.plan) != _size(use.plan):
                text = f"init container {name} shares the claim of {use.owner.shape.name} and gets its larger limit"
                warnings.append(Note(Reason.INIT_LARGER_LIMIT, text, use.shape.path))
        else:
            owners.append(use)
            text = f"the card of init container {name} stays reserved until the pod ends and adds up"
            warnings.append(Note(Reason.INIT_OWN_CLAIM, text, use.shape.path))
    names = set(taken)
    for use in uses:
        if use.owner is None:
            use.name = _free_name(use, names)
            names.add(use.name)
    for use in uses:
        if use.owner is not None:
            use.name = use.owner.name
    return uses, warnings


def _size(plan: ClaimPlan) -> tuple[tuple[int, int, int], ...]:
    return tuple((a.devices, a.memory_mib or (a.percentage or _NO_LIMIT), a.cores or 0) for a in plan.asks)


def _covers(claim: ClaimPlan, wanted: ClaimPlan, selection: Selection, facts: Facts, policy: Policy) -> bool:
    if claim.target != wanted.target or len(claim.asks) != len(wanted.asks):
        return False
    smallest = smallest_card_mib(claim.target, selection, facts, policy)
    return all(_ask_covers(a, b, smallest) for a, b in zip(claim.asks, wanted.asks, strict=True))


def _ask_covers(claim: Ask, wanted: Ask, smallest_card: int | None) -> bool:
    same = (claim.kind, claim.mig_profile, claim.percentage) == (wanted.kind, wanted.mig_profile, wanted.percentage)
    if not same or claim.devices < wanted.devices or (claim.cores or 0) < (wanted.cores or 0):
        return False
    if claim.memory_mib is not None:
        return wanted.memory_mib is not None and claim.memory_mib >= wanted.memory_mib
    # A whole card covers an amount only when the smallest card it may turn out to be holds it.
    return wanted.memory_mib is None or smallest_card is None or smallest_card >= wanted.memory_mib


def _free_name(use: Use, taken: set[str]) -> str:
    suffix = "mig" if use.plan.target.mig else "gpu"
    number = 1
    while True:
        tail = f"-{suffix}" if number == 1 else f"-{suffix}-{number}"
        name = use.shape.name[: _NAME_LENGTH - len(tail)].rstrip("-") + tail
        if name not in taken:
            return name
        number += 1
