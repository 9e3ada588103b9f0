"""Mutated reviews sent to the running server: never a 500, the uid echoed, nothing unrelated changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.admission.reviews import SHARED, admitted, pod, request
from tests.server.process import ServerProcess

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
LEGACY = st.sampled_from(
    [
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpumem-percentage",
        "nvidia.com/gpucores",
        "nvidia.com/mig-1g.5gb",
    ]
)
QUANTITIES = st.sampled_from(["0", "1", "2", "33", "8k", "8Gi", "-1", "1e3", "1.5", "", "9" * 30]) | JSON_VALUES
MANY = settings(max_examples=200, deadline=None)


@pytest.fixture(scope="module")
def one_client(server: ServerProcess) -> Iterator[httpx.Client]:
    """One connection for all examples."""
    with server.client() as client:
        yield client


def base() -> dict[str, Any]:
    """A review with everything that the translation looks at."""
    rich = pod(
        SHARED, {"nvidia.com/mig-1g.5gb": "1"}, initContainers=[{"name": "i", "resources": {"limits": dict(SHARED)}}]
    )
    rich["metadata"]["annotations"] = {"nvidia.com/use-gpuuuid": "GPU-1", "nvidia.com/use-gputype": "A100"}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(rich)}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All paths into a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


PLACES = [place for place in places(base()) if place]


def mutate(review: dict[str, Any], place: tuple[Any, ...], value: Any) -> None:
    """Put a value at a path, where the path still exists."""
    target: Any = review
    try:
        for key in place[:-1]:
            target = target[key]
        target[place[-1]]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(target, dict | list):
        target[place[-1]] = value


def check(client: httpx.Client, review: Any) -> None:
    answer = client.post("/mutate?timeout=5s", content=json.dumps(review).encode("utf-8", "surrogatepass"))
    uid = review["request"].get("uid") if isinstance(review["request"], dict) else None
    readable = isinstance(uid, str) and 0 < len(uid) <= 253
    assert answer.status_code in {200, 400}, answer.text
    body = answer.json()
    if answer.status_code == 400:
        assert body["kind"] == "Status"
        assert body.get("details", {}).get("uid") in {uid if readable else None, None}
        return
    response = body["response"]
    assert response["uid"] == uid
    if not response["allowed"]:
        assert response["status"]["code"] in {403, 422}, response
        return
    obj = review["request"].get("object")
    if "patch" in response:
        stored = admitted(obj, body)
        rest = {key: value for key, value in obj.items() if key not in {"metadata", "spec"}}
        assert {key: stored[key] for key in rest} == rest


@MANY
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON_VALUES), min_size=1, max_size=4))
def test_reviews_with_anything_anywhere(one_client: httpx.Client, changes: list[tuple[Any, Any]]) -> None:
    review = base()
    for place, value in changes:
        mutate(review, place, copy.deepcopy(value))
    check(one_client, review)


@MANY
@given(
    st.lists(st.dictionaries(LEGACY, QUANTITIES, max_size=4), min_size=1, max_size=4),
    st.dictionaries(
        st.sampled_from(["nvidia.com/use-gpuuuid", "nvidia.com/nouse-gputype", "nvidia.com/vgpu-mode"]), JSON_VALUES
    ),
)
def test_requests_of_every_kind(
    one_client: httpx.Client, limits: list[dict[str, Any]], annotations: dict[str, Any]
) -> None:
    odd = pod(*limits)
    odd["metadata"]["annotations"] = annotations
    check(one_client, {**base(), "request": request(odd)})


@MANY
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_bodies_of_any_bytes(one_client: httpx.Client, body: bytes) -> None:
    assert one_client.post("/mutate", content=body).status_code == 400


def test_the_server_failed_on_none_of_them(server: ServerProcess) -> None:
    assert not [line for line in server.lines() if line["level"] == "error"]
