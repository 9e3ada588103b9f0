"""``POST /preview``: what it answers, and how it refuses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from app import cli
from app.preview.schema import Error, PreviewOptions, PreviewReport
from app.settings import Settings
from docs.generate_openapi import TARGET, text
from tests.admission.reviews import SHARED, request
from tests.admission.reviews import pod as reviewed_pod
from tests.preview.bad import BAD, GOOD, Bad
from tests.server.process import Certificates, ServerProcess, running

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "workloads").glob("*.yaml"))
NOTEBOOK = EXAMPLES[0].read_bytes()
DENIED = NOTEBOOK.replace(b"nvidia.com/gpumem: 4000", b"nvidia.com/gpumem: 16Gi")


@pytest.fixture
def ops(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.ops, timeout=60) as client:
        yield client


def post(ops: httpx.Client, body: bytes, query: str = "", **headers: str) -> httpx.Response:
    return ops.post(f"/preview?{query}", content=body, headers=headers)


def refusal(answer: httpx.Response) -> dict[str, Any]:
    """The error of an answer, in the shape of all errors."""
    Error.model_validate(answer.json())
    error: dict[str, Any] = answer.json()["error"]
    return error


def printed(body: bytes, output: str, *options: str) -> str:
    """What the command line makes of the same input."""
    return CliRunner().invoke(cli.app, ["preview", "-", "-o", output, *options], input=body).stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_output_is_what_the_command_line_prints(ops: httpx.Client, example: Path) -> None:
    body = example.read_bytes()
    for output in ("yaml", "diff", "explain"):
        assert post(ops, body, f"output={output}&keepGoing=true").text == printed(body, output, "--keep-going")
    for output in ("json", "patch"):
        answer = post(ops, body, f"output={output}&keepGoing=true")
        assert answer.json() == json.loads(printed(body, output, "--keep-going"))
    assert yaml.safe_load(post(ops, body, "output=report").text) == json.loads(printed(body, "json"))


@pytest.mark.parametrize(
    ("accept", "media_type", "starts"),
    [
        ("*/*", "application/json", '{"apiVersion"'),
        ("application/json", "application/json", '{"apiVersion"'),
        ("application/yaml", "application/yaml", "apiVersion: hami.io/v1alpha1"),
        ("application/yaml; as=manifests", "application/yaml", "apiVersion: resource.k8s.io/v1"),
        ("text/x-diff", "text/x-diff; charset=utf-8", "--- /dev/null"),
        ("text/x-patch", "text/x-patch; charset=utf-8", "--- /dev/null"),
        ("text/plain", "text/plain; charset=utf-8", "converted  Deployment/notebook"),
        ("text/*", "text/plain; charset=utf-8", "converted  Deployment/notebook"),
        ("application/json-patch+json", "application/json-patch+json", '[{"source"'),
        ("image/png, application/yaml;q=0.5, text/plain;q=0.8", "text/plain; charset=utf-8", "converted"),
    ],
)
def test_accept_chooses_the_output(ops: httpx.Client, accept: str, media_type: str, starts: str) -> None:
    answer = post(ops, NOTEBOOK, accept=accept)
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert answer.text.startswith(starts)
    assert post(ops, NOTEBOOK, "output=json", accept=accept).headers["content-type"] == "application/json"


def test_a_report_can_bring_its_renderings(ops: httpx.Client) -> None:
    report = post(ops, NOTEBOOK, "include=yaml&include=diff&include=sides").json()
    PreviewReport.model_validate(report)
    assert report["renderings"]["yaml"] == printed(NOTEBOOK, "yaml")
    assert report["renderings"]["diff"] == printed(NOTEBOOK, "diff")
    assert report["renderings"]["notes"] == [
        (
            "warning: stdin:16:9: Deployment/notebook spec.template: "
            'hami.io/gpu-scheduler-policy: "binpack" has no effect with DRA'
        )
    ]
    assert report["renderings"]["sides"][0]["after"] in report["renderings"]["yaml"]


def test_renderings_of_something_refused_hold_no_yaml_unless_asked(ops: httpx.Client) -> None:
    body = DENIED + b"---\n" + NOTEBOOK
    assert post(ops, body, "include=yaml").json()["renderings"]["yaml"] is None
    assert "16Gi" in post(ops, body, "include=yaml&keepGoing=true").json()["renderings"]["yaml"]


@pytest.mark.parametrize("output", ["yaml", "patch"])
def test_half_a_result_is_refused_with_the_reasons(ops: httpx.Client, output: str) -> None:
    body = DENIED + b"---\n" + NOTEBOOK + b"---\na: [\n"
    answer = post(ops, body, f"output={output}")
    assert answer.status_code == 422
    error = refusal(answer)
    assert (error["code"], error["message"].partition(":")[0]) == ("refused", "2 of 3 would not run")
    assert [(one["code"], one["document"], one["line"]) for one in error["causes"]] == [
        ("memory-too-large", 0, NOTEBOOK.decode().splitlines().index("              nvidia.com/gpumem: 4000") + 1),
        ("yaml-syntax", 2, NOTEBOOK.count(b"\n") * 2 + 4),
    ]
    assert post(ops, body, f"output={output}&keepGoing=true").text.rstrip() == (
        printed(body, output, "--keep-going").rstrip()
        if output == "yaml"
        else json.dumps(json.loads(printed(body, output, "--keep-going")), separators=(",", ":"))
    )


def test_lists_are_read_as_kubectl_writes_them(ops: httpx.Client) -> None:
    items = [yaml.safe_load(example.read_text()) for example in EXAMPLES]
    body = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}}
    ).encode()
    report = post(ops, body).json()
    assert [item["source"]["name"] for item in report["items"]] == [item["metadata"]["name"] for item in items]


def test_an_admission_review_is_its_object_in_the_namespace_of_its_request(ops: httpx.Client) -> None:
    pod = reviewed_pod(SHARED)
    del pod["metadata"]["namespace"]
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(pod)}
    (item,) = post(ops, json.dumps(body).encode()).json()["items"]
    assert (item["outcome"], item["source"]["kind"], item["source"]["namespace"]) == ("converted", "Pod", "team-a")
    assert item["templates"][0]["metadata"]["namespace"] == "team-a"
    converted = list(yaml.safe_load_all(post(ops, json.dumps(body).encode(), "output=yaml").text))
    assert [one["kind"] for one in converted] == ["ResourceClaimTemplate", "Pod"]
    deletion = json.dumps({**body, "request": request(None, operation="DELETE")}).encode()
    (refused,) = post(ops, deletion).json()["items"]
    assert refused["reasons"][0]["message"] == "an AdmissionReview without request.object"


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_what_cannot_be_read_is_said_with_its_place_beside_the_other_documents(ops: httpx.Client, bad: Bad) -> None:
    answer = post(ops, bad.text, "include=yaml")
    report = answer.json()
    PreviewReport.model_validate(report)
    assert answer.status_code == 200
    reasons = [item["reasons"][0] for item in report["items"] if item["outcome"] == "invalid"]
    assert (reasons[0]["code"], reasons[0]["line"]) == (bad.code, bad.line)
    assert bad.column in (None, reasons[0]["column"])
    assert bad.hint in (reasons[0]["hint"] or "")
    assert report["summary"]["converted"] == bad.converted
    assert report["renderings"]["yaml"] is None
    error = refusal(post(ops, bad.text, "output=patch"))
    assert (error["code"], error["causes"]) == ("refused", reasons)
    assert reasons[0]["message"] in post(ops, bad.text, "output=explain").text.replace("\n", " ")


def test_an_empty_body_is_an_empty_report(ops: httpx.Client) -> None:
    for body in (b"", b"\n", b"# nothing\n", b"---\n---\n"):
        assert post(ops, body).json()["items"] == []
        assert post(ops, body, "output=yaml").content == body


def test_a_backend_and_settings_hold_for_one_request(ops: httpx.Client) -> None:
    plain = post(ops, NOTEBOOK).json()["items"][0]["containers"][0]["claims"][0]
    assert (plain["deviceClass"], plain["memoryMiB"]) == ("hami-core-gpu.project-hami.io", 4000)
    query = "backend=gpu.nvidia.com-memory&set=memoryFactor=2"
    other = post(ops, NOTEBOOK, query).json()["items"][0]["containers"][0]["claims"][0]
    assert (other["deviceClass"], other["memoryMiB"]) == ("gpu.nvidia.com", 8000)
    assert post(ops, NOTEBOOK).json()["items"][0]["containers"][0]["claims"][0] == plain
    options = ("--backend", "gpu.nvidia.com-memory", "--set", "memoryFactor=2")
    assert post(ops, NOTEBOOK, f"output=yaml&{query}").text == printed(NOTEBOOK, "yaml", *options)


@pytest.mark.parametrize(
    ("query", "paths", "words"),
    [
        ("output=ymal", ["output"], 'did you mean "yaml"?'),
        ("output=yaml&output=json", ["output"], "more than once"),
        ("include=html", ["include"], "Allowed here: yaml, diff, sides"),
        ("output=yaml&include=diff", ["include"], "include comes with output=json"),
        ("keepGoing=yes", ["keepGoing"], "true, false"),
        ("outptu=yaml", ["outptu"], 'did you mean "output"?'),
        ("backend=gpu.nvidia", ["backend=gpu.nvidia"], 'did you mean "gpu.nvidia.com"?'),
        ("set=defaultGPUNum=99", ["set=defaultGPUNum"], "less than or equal to 32; read 99"),
        ("set=nvidia.count=share", ["set=nvidia.count"], "share needs bindings.nvidia.shared"),
        ("set=driverProfiles=/etc/passwd", ["set=driverProfiles"], "a setting of the server"),
        ("set=server.port=1", ["set=server.port"], "a setting of the server"),
        ("set=nodeNam=deny", ["set=nodeNam"], 'did you mean "nodeName"?'),
        ("set=nodeName", ["set=nodeName"], "write KEY=VALUE"),
        ("set=nodeName=[", ["set=nodeName"], "not YAML"),
        ("&".join(["set=x"] * 51), [None], "more than 50 options"),
        (f"{'x' * 90}=1", [None], "more than 80 characters"),
        ("set=nodeName=x&set=x=1&output=z", ["output", "set=x", "set=nodeName"], "3 options cannot be used"),
    ],
)
def test_options_that_cannot_be_used_are_all_said_at_once(
    ops: httpx.Client, query: str, paths: list[str | None], words: str
) -> None:
    answer = post(ops, NOTEBOOK, query)
    error = refusal(answer)
    assert (answer.status_code, error["code"]) == (400, "invalid-option")
    assert words in f"{error['message']} {error['hint']}"
    assert {one["path"] for one in error["causes"] or [error]} == set(paths)


def test_options_are_listed_as_the_profiles_and_the_settings_tree_have_them(ops: httpx.Client) -> None:
    options = ops.get("/preview/options").json()
    PreviewOptions.model_validate(options)
    policy = Settings().policy
    assert policy.profiles is not None
    assert {one["name"] for one in options["backends"]} == set(policy.profiles)
    assert [one["name"] for one in options["backends"] if one["current"]] == ["hami-core-gpu.project-hami.io"]
    keys = {one["key"]: one for one in options["settings"]}
    assert keys["nvidia.count"]["choices"] == ["card", "mig", "share"]
    assert (keys["defaultCores"]["minimum"], keys["defaultCores"]["maximum"]) == (0, 100)
    assert not any(key.startswith(("server", "cluster", "driverProfiles", "logging")) for key in keys)
    for one in options["settings"]:
        value = json.dumps(one["value"])
        assert post(ops, NOTEBOOK, str(httpx.QueryParams(set=f"{one['key']}={value}"))).status_code == 200, one


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/preview", 405, "method-not-allowed"),
        ("PUT", "/preview", 405, "method-not-allowed"),
        ("POST", "/preview/options", 405, "method-not-allowed"),
        ("GET", "/previews", 404, "not-found"),
        ("POST", "/preview/x", 404, "not-found"),
    ],
)
def test_wrong_addresses_are_refused_in_the_same_shape(
    ops: httpx.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = ops.request(method, path)
    assert (answer.status_code, refusal(answer)["code"]) == (status, code)


def test_renderings_come_with_json_only_however_it_was_chosen(ops: httpx.Client) -> None:
    error = refusal(post(ops, NOTEBOOK, "include=yaml", accept="text/plain"))
    assert (error["code"], error["path"]) == ("invalid-option", "include")


def test_a_get_says_how_to_post(ops: httpx.Client) -> None:
    assert "curl --data-binary @manifests.yaml" in refusal(ops.get("/preview"))["hint"]


def test_an_answer_that_nobody_makes_is_406(ops: httpx.Client) -> None:
    answer = post(ops, NOTEBOOK, accept="image/png, text/html;q=0.5")
    error = refusal(answer)
    assert (answer.status_code, error["code"], error["path"]) == (406, "not-acceptable", "Accept")
    assert "application/yaml" in error["hint"]


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"content-encoding": "gzip"}, "Content-Encoding"),
        ({"content-type": "multipart/form-data; boundary=x"}, "a form"),
    ],
)
def test_bodies_that_are_not_plain_text_are_415(ops: httpx.Client, headers: dict[str, str], words: str) -> None:
    answer = ops.post("/preview", content=gzip.compress(NOTEBOOK), headers=headers)
    assert (answer.status_code, refusal(answer)["code"]) == (415, "unsupported-body")
    assert words in refusal(answer)["message"]


def test_a_body_of_50_mib_is_413(ops: httpx.Client) -> None:
    answer = post(ops, b"a" * (50 << 20), expect="100-continue")
    assert (answer.status_code, refusal(answer)["code"]) == (413, "too-large")
    assert post(ops, b"a: " + b"b" * (8 << 20)).status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://elsewhere.example.org"},
        {"origin": "null"},
    ],
)
def test_pages_of_other_sites_can_neither_post_nor_read(ops: httpx.Client, headers: dict[str, str]) -> None:
    answer = ops.post("/preview", content=NOTEBOOK, headers={"content-type": "text/plain", **headers})
    assert (answer.status_code, refusal(answer)["code"]) == (403, "cross-site")
    assert ops.get("/preview/options", headers=headers).status_code == 403
    preflight = ops.options(
        "/preview", headers={"origin": "https://x.example.org", "access-control-request-method": "POST"}
    )
    assert preflight.status_code == 405
    assert not [name for name in (*answer.headers, *preflight.headers) if name.startswith("access-control")]


def test_the_own_page_may_post(ops: httpx.Client) -> None:
    own = f"http://{ops.base_url.host}:{ops.base_url.port}"
    for headers in ({"sec-fetch-site": "same-origin", "origin": "https://proxied.example.org"}, {"origin": own}):
        assert ops.post("/preview", content=NOTEBOOK, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/metrics", "/openapi.json", "/preview", "/preview/options", "/x"]
)
def test_every_answer_carries_the_security_headers(ops: httpx.Client, path: str) -> None:
    headers = ops.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_answers_are_compressed_for_those_who_take_it(ops: httpx.Client) -> None:
    packed = post(ops, NOTEBOOK, **{"accept-encoding": "gzip"})
    plain = post(ops, NOTEBOOK, **{"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.content == plain.content


def test_the_description_holds_examples_that_are_answers_of_today(ops: httpx.Client) -> None:
    """Regenerate with ``python docs/generate_openapi.py``."""
    assert TARGET.read_text() == text()
    described = ops.get("/openapi.json").json()["paths"]["/preview"]["post"]
    assert {one["name"] for one in described["parameters"]} == {"output", "include", "keepGoing", "backend", "set"}
    body = described["requestBody"]["content"]["application/yaml"]["examples"]["notebook"]["value"].encode()
    answers = described["responses"]["200"]["content"]
    assert post(ops, body).json() == answers["application/json"]["examples"]["report"]["value"]
    assert post(ops, body, "output=yaml").text == answers["application/yaml"]["examples"]["manifests"]["value"]
    PreviewReport.model_validate(answers["application/json"]["examples"]["renderings"]["value"])
    Error.model_validate(described["responses"]["422"]["content"]["application/json"]["examples"]["refused"]["value"])


def test_previews_can_be_switched_off(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"enabled": False}) as server:
        for method, path in (("POST", "/preview"), ("GET", "/preview/options"), ("GET", "/")):
            answer = httpx.request(method, server.ops + path)
            assert (answer.status_code, refusal(answer)["code"]) == (404, "not-found")
        assert httpx.get(f"{server.ops}/livez").text == "ok"


def test_nothing_of_a_body_is_logged_or_stored(tmp_path: Path, certificates: Certificates) -> None:
    marker = b"tell-nobody-4711"
    good = GOOD.replace(b"name: good", b"name: " + marker)
    bodies = [
        good,
        b"%s: [\n" % marker,
        good.replace(b"gpumem: 8000", b"gpumem: 16Gi"),
        b"a: &%s *%s" % (marker, marker),
    ]
    with running(tmp_path, certificates, logging={"level": "debug"}, preview={"maxSeconds": 0.5}) as server:
        for body in (*bodies, good * 5000):
            for output in ("json", "yaml", "explain"):
                httpx.post(f"{server.ops}/preview?output={output}&set={marker.decode()}=1", content=body, timeout=60)
                httpx.post(f"{server.ops}/preview?output={output}", content=body, timeout=60)
        metrics = httpx.get(f"{server.ops}/metrics").text
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in written} == {"settings.yaml", "server.log", "server.err"}
    assert not [path for path in written if marker in path.read_bytes()]
    assert marker.decode() not in metrics
