"""What holds for any small cluster and pod: it fits exactly when there is an allocation that anybody can check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.inventory.place import Place
from app.inventory.requests import read_claim
from app.inventory.search import Budget, Search
from tests.inventory.claims import allocated, claim, inventory, request
from tests.inventory.machines import HAMI, device, resource_slice

JSON = Any
GIB = 1 << 30
Choice = tuple[tuple[int, ...], ...]
"""For each request the indices of its cards."""


@dataclass(frozen=True)
class Card:
    """A card of a node."""

    shared: bool
    gib: int
    numa: int
    taken: int
    """GiB that another claim has; of a whole card anything above 0 is all."""

    @property
    def left(self) -> int:
        """GiB that are left."""
        return self.gib - self.taken if self.shared else 0 if self.taken else self.gib


@dataclass(frozen=True)
class Asked:
    """A request."""

    count: int
    gib: int
    least: int
    """GiB that the card must have, by a selector."""


CARDS = st.lists(
    st.builds(Card, st.booleans(), st.integers(1, 4), st.integers(0, 1), st.sampled_from([0, 0, 0, 1])), max_size=4
)
PODS = st.lists(
    st.lists(st.builds(Asked, st.integers(1, 2), st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=2),
    min_size=1,
    max_size=2,
)
KINDS = st.sampled_from(["", "", "matchAttribute", "distinctAttribute"])


def possible(cards: Sequence[Card], asked: Sequence[Asked], choice: Choice) -> bool:
    """Whether the cards chosen for some requests can all be had at once."""
    users = Counter(index for chosen in choice for index in chosen)
    loads: Counter[int] = Counter()
    for one, chosen in zip(asked, choice, strict=True):
        for index in chosen:
            loads[index] += one.gib
            if cards[index].gib < max(one.least, one.gib):
                return False
    return all(
        loads[index] <= cards[index].left if cards[index].shared else users[index] == 1 and not cards[index].taken
        for index in users
    )


def agrees(kind: str, cards: Sequence[Card], choice: Choice) -> bool:
    """Whether the cards of one claim agree with its constraint."""
    values = [cards[index].numa for chosen in choice for index in chosen]
    if kind == "matchAttribute":
        return len(set(values)) <= 1
    return kind != "distinctAttribute" or len(set(values)) == len(values)


def choices(cards: Sequence[Card], asked: Sequence[Asked]) -> Iterator[Choice]:
    """All ways to give each request its number of different cards."""
    yield from product(*(list(combinations(range(len(cards)), one.count)) for one in asked))


@settings(deadline=None)
@given(CARDS, PODS, KINDS)
def test_a_pod_fits_exactly_when_some_allocation_is_possible(
    cards: list[Card], pod: list[list[Asked]], kind: str
) -> None:
    if kind == "distinctAttribute":  # of several cards of one request the scheduler may forget some (issue 140438)
        pod = [[replace(one, count=1) for one in asked] for asked in pod]
    published = [
        device(f"card-{i}", {"numa": card.numa}, f"{card.gib}Gi", allowMultipleAllocations=card.shared)
        for i, card in enumerate(cards)
    ]
    existing = [
        allocated((HAMI, "a", f"card-{i}"), share={"memory": f"{card.taken}Gi"} if card.shared else None)
        for i, card in enumerate(cards)
        if card.taken
    ]
    cluster = inventory(resource_slice("s", HAMI, "a", published), claims=existing)
    constraints = [{kind: f"{HAMI}/numa"}] if kind else []
    specs = [
        claim(
            *(
                request(
                    f"r{i}",
                    f'device.capacity["{HAMI}"].memory.compareTo(quantity("{one.least}Gi")) >= 0',
                    count=one.count,
                    capacity={"requests": {"memory": f"{one.gib}Gi"}},
                )
                for i, one in enumerate(asked)
            ),
            constraints=constraints,
        )
        for asked in pod
    ]
    found = cluster.fit(specs)
    assert found is not None
    everything = [one for asked in pod for one in asked]
    starts = [sum(len(asked) for asked in pod[:i]) for i in range(len(pod))]

    def right(choice: Choice) -> bool:
        parts = (choice[start : start + len(asked)] for start, asked in zip(starts, pod, strict=True))
        return possible(cards, everything, choice) and all(agrees(kind, cards, part) for part in parts)

    assert found.now is any(right(choice) for choice in choices(cards, everything))
    if found.now:
        place = Place(cluster._pools_on_nodes()["a"], cluster._judge, cluster._occupancy)
        grants = Search(place, [read_claim(spec) for spec in specs], Budget(10_000)).run()
        assert grants is not None
        chosen = tuple(
            tuple(
                int(one.device[2].removeprefix("card-")) for one in grants if (one.claim, one.request) == (c, f"r{i}")
            )
            for c, asked in enumerate(pod)
            for i in range(len(asked))
        )
        assert [len(cards) for cards in chosen] == [one.count for one in everything]
        assert right(chosen)
