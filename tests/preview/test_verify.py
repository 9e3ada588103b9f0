"""A rewritten text is read beside the value that it shall say; a patched pod shares what stays."""

from __future__ import annotations

import copy

import jsonpatch
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.preview.patched import patched
from app.preview.verify import reads_as
from app.translate import Facts, Policy, translate
from tests.preview.inputs import container, pod

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "1", "yes", "0x1", "~", "<<", "a: b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_a_text_says_its_own_value_and_no_other(value: object, other: object) -> None:
    text = yaml.safe_dump(value)
    assert reads_as(text, value)
    assert reads_as(text, other) is (value == other)


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("a: &x 1\nb: *x\n", {"a": 1, "b": 1}, True),
        ("a: &x {c: 1}\nb: {<<: *x}\n", {"a": {"c": 1}, "b": {"c": 1}}, True),
        ("a: &x {c: 1}\nb: {<<: *x}\n", {"a": {"c": 1}, "b": {}}, False),
        ("a: 1\na: 1\n", {"a": 1}, False),
        ("a: 1\n", {"a": 1, "b": None}, False),
        ("a: 1\nb:\n", {"a": 1}, False),
        ("- 1\n- 2\n", [1], False),
        ("- 1\n", [1, 2], False),
        ("a: [1]\n", {"a": {"1": 1}}, False),
        ("a: {b: 1}\n", {"a": "b"}, False),
        ("[a]: 1\n", {"a": 1}, False),
        ("010: y\n", {"8": True}, True),
        ("a: [\n", {"a": []}, False),
        ("a: *nobody\n", {"a": None}, False),
        ("a: .inf\n", {"a": ".inf"}, False),
        ("", None, False),
    ],
)
def test_aliases_doubled_keys_and_shapes_count(text: str, value: object, said: bool) -> None:
    assert reads_as(text, value) is said


def test_a_patched_pod_is_what_the_patch_says_and_leaves_the_pod_alone() -> None:
    legacy = pod(
        spec={"containers": [container(), container("other", {"cpu": 1}), container("third")], "volumes": [{}]}
    )
    before = copy.deepcopy(legacy)
    patch = translate(legacy, Facts(), Policy()).patch
    said = copy.deepcopy([*patch])
    changed = patched(legacy, patch)
    assert changed == jsonpatch.apply_patch(legacy, said)
    assert (legacy, [*patch]) == (before, said)
    assert changed["spec"]["volumes"] is legacy["spec"]["volumes"]
    assert changed["spec"]["containers"][1] is legacy["spec"]["containers"][1]
