"""Reviews sent to the running server over real TLS."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.admission.reviews import SHARED, UID, admitted, envelope, legacy_keys, pod, review
from tests.server.process import ServerProcess, wait_for

LIMIT = 7 * 1024 * 1024
PATH = "/mutate?timeout=10s"


def post(client: httpx.Client, body: bytes, path: str = PATH) -> httpx.Response:
    return client.post(path, content=body, headers={"content-type": "application/json"})


def test_a_legacy_pod_is_converted(client: httpx.Client) -> None:
    legacy = pod(SHARED)
    answer = post(client, review(legacy))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["response"]["uid"] == UID
    assert legacy_keys(admitted(legacy, answer.json())) == set()


def test_the_connection_is_kept_for_the_next_review(server: ServerProcess) -> None:
    with server.client() as client:
        answers = [post(client, review(pod(SHARED))) for _ in range(3)]
        assert all("connection" not in answer.headers for answer in answers)
        streams = {id(answer.extensions["network_stream"]) for answer in answers}
    assert len(streams) == 1


def test_the_protocol_is_http_1_1_over_tls_1_3(server: ServerProcess) -> None:
    context = server.certificates.client_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with _connect(server, context) as tls:
        assert tls.selected_alpn_protocol() == "http/1.1"
        assert tls.version() == "TLSv1.3"


def test_older_tls_is_refused(server: ServerProcess) -> None:
    context = server.certificates.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        _connect(server, context)


def test_a_known_template_is_reused(server: ServerProcess, client: httpx.Client) -> None:
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1234"}
    post(client, review(pod(limits)))
    created = server.metric('hami_dra_webhook_templates_total{result="created"}')
    reused = server.metric('hami_dra_webhook_templates_total{result="reused"}')
    for _ in range(5):
        post(client, review(pod(limits)))
    assert server.metric('hami_dra_webhook_templates_total{result="created"}') == created
    assert server.metric('hami_dra_webhook_templates_total{result="reused"}') == reused + 5


@pytest.mark.parametrize(
    ("body", "status", "message", "uid"),
    [
        (b"not json", 400, "the body is not JSON", None),
        (b"", 400, "the body is empty; send an AdmissionReview as JSON", None),
        (b"{}", 400, "this webhook speaks apiVersion admission.k8s.io/v1", None),
        (envelope(...), 400, "request must be a JSON object", None),
        (envelope({"uid": UID}, kind="List"), 400, 'kind "List"', UID),
        (envelope({"uid": UID}, apiVersion="admission.k8s.io/v1beta1"), 400, "v1beta1", UID),
        (review(None), 400, "request.object must be a JSON object, and is null", UID),
        (review(pod(SHARED), operation="UPDATE"), 400, "request.oldObject must be a JSON object", UID),
        (b'{"a": NaN}', 400, "the body is not JSON", None),
        (b"[" * 1_000_000, 400, "the body is not JSON", None),
        (b'{"a": "\\ud800"}', 400, "the body is not JSON", None),
        (b"x" * (LIMIT + 1), 413, f"the body is larger than {LIMIT} bytes (setting server.maxBodyBytes)", None),
    ],
    ids=range(12),
)
def test_a_call_that_is_no_review_gets_a_4xx_that_says_why(
    client: httpx.Client, body: bytes, status: int, message: str, uid: str | None
) -> None:
    answer = post(client, body)
    assert answer.status_code == status
    error = answer.json()
    assert (error["kind"], error["status"], error["code"]) == ("Status", "Failure", status)
    assert message in error["message"]
    assert error.get("details", {}).get("uid") == uid


def test_a_body_of_exactly_the_limit_is_read(client: httpx.Client) -> None:
    body = review(pod(SHARED))
    assert post(client, body + b" " * (LIMIT - len(body))).status_code == 200


def test_a_body_without_a_length_is_cut_off_at_the_limit(client: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(LIMIT // 65536 + 20):
            yield b" " * 65536

    answer = client.post(PATH, content=endless())
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


def test_a_client_that_asks_first_is_refused_before_it_sends(server: ServerProcess) -> None:
    with _connect(server, server.certificates.client_context()) as tls:
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {LIMIT + 1}\r\nExpect: 100-continue\r\n\r\n"
        tls.sendall(head.encode())
        assert tls.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_other_paths_and_methods_are_told_where_reviews_go(client: httpx.Client) -> None:
    for answer, status in ((client.get("/mutate"), 405), (client.post("/"), 404), (client.get("/readyz"), 404)):
        assert answer.status_code == status
        assert answer.json()["message"].endswith("reviews are sent with POST /mutate")
    assert client.get("/mutate").headers["allow"] == "POST"


def test_a_body_that_never_comes_ends_within_the_callers_time(server: ServerProcess) -> None:
    with _connect(server, server.certificates.client_context()) as tls:
        began = time.monotonic()
        tls.sendall(b"POST /mutate?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        answer = b"".join(iter(lambda: tls.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body did not arrive within 0.8 s" in answer
    assert 0.7 < time.monotonic() - began < 5, "the default would be 10 s"


def test_a_client_that_goes_away_disturbs_nobody(server: ServerProcess, client: httpx.Client) -> None:
    with _connect(server, server.certificates.client_context()) as tls:
        tls.sendall(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert post(client, review(pod(SHARED))).status_code == 200
    wait_for(lambda: server.metric("hami_dra_webhook_reviews_in_flight") == 0)


def _odd_pods() -> dict[str, Any]:
    nulls = {"apiVersion": None, "kind": None, "metadata": None, "spec": None, "status": None}
    uuids = "GPU-\"'\\\n\t\x00,GPU-ünï\U0001f600,GPU-" + "a" * 300
    return {
        "nothing": {},
        "no containers": {**pod(), "spec": {}},
        "null containers": {**pod(), "spec": {"containers": None, "initContainers": None}},
        "null everywhere": nulls,
        "null limits": pod_with_resources({"limits": None, "requests": None}),
        "limits of text": pod_with_resources({"limits": "nvidia.com/gpu"}),
        "limits of lists": pod_with_resources({"limits": ["nvidia.com/gpu"], "requests": [1]}),
        "values of every type": pod_with_resources(
            {"limits": {"nvidia.com/gpu": [], "nvidia.com/gpumem": {}, "nvidia.com/gpucores": True}}
        ),
        "null value": pod_with_resources({"limits": {"nvidia.com/gpu": None}}),
        "containers of every type": {**pod(), "spec": {"containers": [None, 1, "x", [], {}, {"name": 1}]}},
        "a thousand containers": pod(*[SHARED] * 1000),
        "a large annotation": with_annotations({"nvidia.com/use-gpuuuid": "GPU-x," * 43690}),
        "quotes and control characters": with_annotations({"nvidia.com/use-gpuuuid": uuids}),
        "unicode": with_annotations(
            {"nvidia.com/use-gputype": "\uff21100\uff0c\ufb00\u202e\u0000", "\u043a": "\u503c"}
        ),
        "annotations of every type": {**pod(SHARED), "metadata": {"annotations": {"nvidia.com/use-gpuuuid": 7}}},
        "metadata of text": {**pod(SHARED), "metadata": "x"},
        "a huge number": pod({"nvidia.com/gpu": "9" * 5000}),
        "an endless exponent": pod({"nvidia.com/gpu": "1e999999999"}),
    }


def pod_with_resources(resources: Any) -> dict[str, Any]:
    odd = pod({})
    odd["spec"]["containers"][0]["resources"] = resources
    return odd


def with_annotations(annotations: dict[str, Any]) -> dict[str, Any]:
    odd = pod(SHARED)
    odd["metadata"]["annotations"] = annotations
    return odd


ODD_PODS = _odd_pods()


@pytest.mark.parametrize("name", list(ODD_PODS))
def test_an_odd_pod_gets_a_proper_answer_that_changes_nothing_unrelated(client: httpx.Client, name: str) -> None:
    odd = {**ODD_PODS[name], "unknown": {"kept": [1.5, None, "ü"]}}
    began = time.monotonic()
    answer = post(client, review(odd))
    assert time.monotonic() - began < 5
    assert answer.status_code == 200
    response = answer.json()["response"]
    assert response["uid"] == UID
    if not response["allowed"]:
        assert response["status"]["code"] in {403, 422}, response["status"]
        return
    stored = admitted(odd, answer.json())
    assert stored["unknown"] == odd["unknown"]
    assert {key: stored[key] for key in odd if key not in {"metadata", "spec"}} == {
        key: odd[key] for key in odd if key not in {"metadata", "spec"}
    }


async def test_many_reviews_at_once_each_get_their_own_answer(server: ServerProcess) -> None:
    async with httpx.AsyncClient(verify=server.certificates.client_context(), timeout=30) as client:

        async def one(i: int) -> bool:
            answer = await client.post(f"{server.webhook}{PATH}", content=review(pod(SHARED), uid=f"u-{i}"))
            return bool(answer.json()["response"]["uid"] == f"u-{i}")

        assert all(await asyncio.gather(*(one(i) for i in range(200))))


def test_the_log_has_one_line_for_each_review_and_nothing_of_the_pod(
    server: ServerProcess, client: httpx.Client
) -> None:
    secret = pod(SHARED)
    secret["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    post(client, review(secret, uid="logged-once"))
    line = server.line("review", uid="logged-once")
    assert [one.get("uid") for one in server.lines()].count("logged-once") == 1
    assert line.pop("ms") > 0
    assert line.pop("time").endswith("Z")
    assert line == {
        "event": "review",
        "level": "info",
        "uid": "logged-once",
        "operation": "CREATE",
        "namespace": "team-a",
        "name": None,
        "generate_name": "web-7cc6496f7d-",
        "owner_kind": "ReplicaSet",
        "outcome": "converted",
        "reason": "converted",
        "operations": line["operations"],
    }
    assert "hunter2" not in server.log_file.read_text()


def test_a_bad_call_is_logged_with_its_reason(server: ServerProcess, client: httpx.Client) -> None:
    post(client, json.dumps({"kind": "Forged\n{}"}).encode())
    line = server.line("bad_call", status=400)
    assert line["level"] == "warning"
    assert server.metric('hami_dra_webhook_reviews_total{outcome="bad-call",reason="400"}') >= 1


def _connect(server: ServerProcess, context: ssl.SSLContext) -> ssl.SSLSocket:
    """A connection without a server name, as an API server opens it to an address."""
    context.check_hostname = False
    host, port = server.webhook.removeprefix("https://").split(":")
    return context.wrap_socket(socket.create_connection((host, int(port)), timeout=20))
