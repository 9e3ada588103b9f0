"""Which container uses which claim: own ones, or an init container that borrows (S61, S63, S65)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from app.translate.asks import FULL, Ask
from app.translate.claims import ClaimPlan
from app.translate.containers import Shape
from app.translate.decision import Note, Role
from app.translate.devices import smallest_card_mib
from app.translate.facts import Facts
from app.translate.policy import Policy
from app.translate.reasons import Reason
from app.translate.selection import Selection
from app.translate.target import Target

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
    # Smallest first: the first claim that covers an ask is the smallest one that does.
    owners = sorted((use for use in uses if use.shape.role is Role.CONTAINER), key=_size_of)
    warnings: list[Note] = []
    inits = [use for use in uses if use.shape.role is Role.INIT]

    @cache
    def smallest_card(target: Target) -> int | None:
        """Asked for once and not for each pair of containers: it looks at every device of the cluster."""
        return smallest_card_mib(target, selection, facts, policy)

    # Largest first, so that a smaller init container finds the larger one's claim.
    for use in sorted(inits, key=_size_of, reverse=True):
        use.owner = next((one for one in owners if _covers(one.plan, use.plan, smallest_card)), None)
        name = use.shape.name
        if use.owner is not None:
            if _size(use.owner.plan) != _size(use.plan):
                text = f"init container {name} shares the claim of {use.owner.shape.name} and gets its {_gets(use)}"
                warnings.append(Note(Reason.INIT_LARGER_LIMIT, text, use.shape.path))
        else:
            insort(owners, use, key=_size_of)
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


def _size_of(use: Use) -> tuple[tuple[int, int, int], ...]:
    return _size(use.plan)


def _gets(use: Use) -> str:
    """What an init container gets of a claim that is not its equal. Cores 0 are no limit, so more can be less."""
    owner = use.owner or use
    for own, lent in zip(use.plan.rows, owner.plan.rows, strict=True):
        if own.cores == 0 and lent.cores and lent.cores < FULL:
            return f"limit of {lent.cores} % cores, where it asks for none"
    return "larger limit"


def _size(plan: ClaimPlan) -> tuple[tuple[int, int, int], ...]:
    return tuple((a.devices, a.memory_mib or (a.percentage or _NO_LIMIT), a.cores or 0) for a in plan.asks)


def _covers(claim: ClaimPlan, wanted: ClaimPlan, smallest_card: Callable[[Target], int | None]) -> bool:
    if claim.target != wanted.target or len(claim.asks) != len(wanted.asks):
        return False
    return all(_ask_covers(a, b, claim.target, smallest_card) for a, b in zip(claim.asks, wanted.asks, strict=True))


def _ask_covers(claim: Ask, wanted: Ask, target: Target, smallest_card: Callable[[Target], int | None]) -> bool:
    same = (claim.kind, claim.mig_profile, claim.percentage) == (wanted.kind, wanted.mig_profile, wanted.percentage)
    if not same or claim.devices < wanted.devices or (claim.cores or 0) < (wanted.cores or 0):
        return False
    if claim.memory_mib is not None:
        return wanted.memory_mib is not None and claim.memory_mib >= wanted.memory_mib
    # A whole card covers an amount only when the smallest card it may turn out to be holds it.
    if wanted.memory_mib is None:
        return True
    smallest = smallest_card(target)
    return smallest is None or smallest >= wanted.memory_mib


def _free_name(use: Use, taken: set[str]) -> str:
    suffix = "mig" if use.plan.target.mig else "gpu"
    number = 1
    while True:
        tail = f"-{suffix}" if number == 1 else f"-{suffix}-{number}"
        name = use.shape.name[: _NAME_LENGTH - len(tail)].rstrip("-") + tail
        if name not in taken:
            return name
        number += 1
