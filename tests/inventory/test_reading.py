"""What a viewer can tell of an API server that drops claim fields."""

from __future__ import annotations

import pytest

from app.cluster.inventory import dropped_fields
from tests.cluster.testbed.hardware import H100_NODE, T4_NODE, load

SHARED = [one for one in load(T4_NODE) if one["kind"] == "ResourceSlice"]
WHOLE = [one for one in load(H100_NODE) if one["kind"] == "ResourceSlice"]


@pytest.mark.parametrize(
    ("minor", "slices", "dropped"),
    [
        (36, WHOLE, set()),
        (37, [], set()),
        (35, WHOLE, {"capacity", "distinctAttribute"}),
        (35, SHARED, set()),
        (35, [], {"capacity", "distinctAttribute"}),
        (34, WHOLE, {"capacity", "distinctAttribute"}),
        (34, SHARED, set()),
        (33, SHARED, {"firstAvailable"}),
        (None, WHOLE, set()),
    ],
)
def test_the_version_and_the_slices_tell_which_fields_are_dropped(
    minor: int | None, slices: list[dict[str, object]], dropped: set[str]
) -> None:
    assert dropped_fields(None if minor is None else (1, minor), slices) == dropped
