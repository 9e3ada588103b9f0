"""Any value in any place ends in an answer, and a fault of ours in one manifest leaves the others their own."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from app.cli import app
from app.inventory import Inventory
from app.preview import examine, preview, read
from app.preview.converted import convert
from app.preview.diff import render_diff
from app.preview.explain import print_explanation
from app.preview.jobs import Job, Known
from app.preview.kinds import Path as Steps
from app.preview.notes import notes, refusals
from app.preview.printable import printable
from app.preview.render import render_json, render_patches
from app.preview.report import Preview
from app.preview.sides import sides
from app.preview.wanted import Wanted
from app.preview.work import worked
from app.preview.workloads import put
from app.translate import Decision, Facts, Policy, TranslationSettings, facts_from_objects, translate
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, T4_NODE, load
from tests.preview.inputs import pod, workload

JSON = Any
CASES = sorted((Path(__file__).parents[1] / "corpus" / "cases").glob("[0-9]*.yaml"))
FULL = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: team
  annotations: {nvidia.com/use-gputype: A100, hami.io/gpu-scheduler-policy: spread, nvidia.com/numa-bind: "true"}
spec:
  schedulerName: hami-scheduler
  tolerations: [{key: a, operator: Exists}]
  resourceClaims: [{name: mine, resourceClaimTemplateName: t}]
  initContainers:
  - {name: i, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 1}}}
  containers:
  - name: a
    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}, {name: X, valueFrom: {fieldRef: {fieldPath: a}}}]
    securityContext: {privileged: false}
    resources:
      limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000, nvidia.com/gpucores: 30, nvidia.com/priority: 1}
      claims: [{name: mine, request: gpu}]
  - {name: b, env: [], resources: {limits: {nvidia.com/gpumem-percentage: 50}}}
---
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi, namespace: team}
spec:
  batchScheduler: hami-scheduler
  sparkConf: {spark.executor.resource.gpu.amount: "1", spark.executor.resource.gpu.vendor: nvidia.com}
  driver: {gpu: {name: nvidia.com/gpu, quantity: 1}, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}
  executor:
    annotations: {nvidia.com/use-gputype: T4}
    env: [{name: A, value: b}]
    gpu: {name: nvidia.com/gpu, quantity: 2}
    initContainers: [{name: i}]
    sidecars: [{name: s}]
    template: {metadata: {annotations: {a: b}}, spec: {containers: [{name: spark-kubernetes-executor}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
  podMetadata: {annotations: {nvidia.com/use-gputype: A100}}
  templates:
  - {name: a, container: {image: x, resources: {limits: {nvidia.com/gpu: 1}}}, sidecars: [{name: s, image: y}]}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: LimitRange
  metadata: {name: l, namespace: team}
  spec: {limits: [{type: Container, max: {nvidia.com/gpu: 1}, default: {nvidia.com/gpu: 1}}]}
- {apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {requests.nvidia.com/gpu: 1}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {hami.io/dra-webhook: enabled}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: t, namespace: team}
  spec:
    spec:
      devices:
        requests: [{name: gpu, exactly: {deviceClassName: x, capacity: {requests: {memory: 1Gi}}}}]
        constraints: [{matchAttribute: a/b, requests: [gpu]}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: c, annotations: {nvidia.com/use-gputype: A100}}
spec:
  jobTemplate:
    metadata: {labels: {kueue.x-k8s.io/queue-name: q}}
    spec: {template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
---
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: a
  operation: UPDATE
  namespace: team
  subResource: ""
  kind: {group: "", version: v1, kind: Pod}
  object: &object
    apiVersion: v1
    kind: Pod
    metadata: {name: p, annotations: {hami.io/dra-original-resources: "{}"}}
    spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
  oldObject: *object
"""
"""Everything that is read of manifests; the corpus has the rest."""
MANIFESTS = [
    one for text in (FULL, *(case.read_text() for case in CASES)) for one in yaml.safe_load_all(text) if one is not None
]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
) | st.sampled_from([[], {}, [None], [[]], "1e999", 2**70, "{{ x }}", "\x1b", {"name": ["x"]}])
SETTINGS = TranslationSettings.model_validate(
    {"options": {"hideFromOthers": True, "visibleDevices": "void", "gpuCorePolicy": "force", "runtimeClassName": "x"}}
)
CLUSTER = load(A100_NODE, T4_NODE, HAMI_CLASSES)


def paths(value: JSON, path: Steps = ()) -> Iterator[Steps]:
    """Of everything in a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in inner:
        yield from paths(child, (*path, step))


PLACES = [(index, path) for index, one in enumerate(MANIFESTS) for path in paths(one)]


def previewed(*manifests: JSON) -> Preview:
    """The preview on a cluster, after everything was made of it that the doors hand out."""
    inventory = Inventory.from_objects(CLUSTER, known=["ResourceClaim"])
    source = read(yaml.safe_dump_all(manifests, allow_unicode=True))
    result = preview([source], facts_from_objects(CLUSTER), Policy(SETTINGS), inventory=inventory)
    converted = convert(result)
    render_json(result)
    render_patches(result)
    render_diff(converted)
    converted.yaml()
    sides(result, converted)
    print_explanation(result, Console(file=io.StringIO()))
    assert all(line == printable(line) for line in [*refusals(result), *notes(result, converted)])
    return result


@given(st.sampled_from(PLACES), ODD)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_value_in_any_place_is_answered(place: tuple[int, Steps], odd: JSON) -> None:
    index, path = place
    assert previewed(put(MANIFESTS[index], [(path, odd)])).fault is None


ODD_NAMES = [["x"], {"a": 1}, True, 1, 1.5]


@pytest.mark.parametrize("odd", ODD_NAMES, ids=str)
def test_names_that_are_no_text_are_answered(odd: JSON) -> None:
    """Where names become keys: of variables, of a Spark application's card, and the namespace of a template."""
    env, spark, _, objects = MANIFESTS[:4]
    for manifest, path in (
        (env, ("spec", "containers", 0, "env", 0, "name")),
        (spark, ("spec", "driver", "gpu", "name")),
        (spark, ("spec", "executor", "env", 0, "name")),
        (objects, ("items", 3, "metadata", "namespace")),
    ):
        changed = put(manifest, [(path, odd)])
        assert changed != manifest
        result = previewed(changed, pod("other"))
        assert (result.fault, result.items[-1].outcome.value) == (None, "converted")


@pytest.mark.parametrize("number", ["-9223372036854775809", "18446744073709551616", "1e20"])
def test_whole_numbers_of_any_size_come_back(number: str) -> None:
    text = f"{yaml.safe_dump(pod())}x: {number}\n"
    shown = CliRunner().invoke(app, ["preview", "-o", "json", "-"], input=text)
    head, body = worked(Job(text.encode(), Wanted()), Known(Policy(), Facts()))
    assert (shown.exit_code, head["status"]) == (0, 200)
    for report in (shown.stdout, body):
        assert json.loads(report)["items"][0]["object"]["x"] == pytest.approx(float(number))


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A translation that has a fault for pods called ``odd``."""

    def translated(found: Mapping[str, JSON], facts: Facts, policy: Policy) -> Decision:
        if "odd" in str(found["metadata"]):
            raise ValueError("somebody's secret")
        return translate(found, facts, policy)

    monkeypatch.setattr(examine, "translate", translated)


INPUT = yaml.safe_dump_all(
    [pod(), {"apiVersion": "v1", "kind": "List", "items": [workload(), workload(name="odd"), pod()]}, pod()]
)


@pytest.mark.usefixtures("faulty")
def test_a_fault_of_ours_is_an_item_and_the_others_are_theirs() -> None:
    result = CliRunner().invoke(app, ["preview", "-o", "json", "-"], input=INPUT)
    assert result.exit_code == 1
    items = orjson.loads(result.stdout)["items"]
    assert [item["outcome"] for item in items] == ["converted", "converted", "invalid", "converted", "converted"]
    (reason,) = items[2]["reasons"]
    assert (items[2]["source"]["name"], reason["code"], reason["document"]) == ("odd", "internal-error", 1)
    assert INPUT.splitlines()[reason["line"] - 1].startswith("- apiVersion: apps/v1")
    assert reason["message"].startswith("a fault of hami-dra-webhook: ValueError in test_odd_values.py, line ")
    assert f"error: stdin:{reason['line']}:3: a fault of hami-dra-webhook" in result.stderr
    assert "secret" not in result.output
    going = CliRunner().invoke(app, ["preview", "-o", "yaml", "--keep-going", "-"], input=INPUT)
    assert [one["metadata"]["name"] for one in list(yaml.safe_load_all(going.stdout))[-2]["items"]] == ["w", "odd", "p"]


@pytest.mark.usefixtures("faulty")
def test_a_fault_of_ours_is_logged_where_the_endpoint_reports_the_others() -> None:
    head, body = worked(Job(INPUT.encode(), Wanted()), Known(Policy(), Facts()))
    assert head["status"] == 200
    assert "ValueError in test_odd_values.py, line" in (head["fault"] or "")
    assert orjson.loads(body)["summary"] == {"converted": 4, "untouched": 0, "denied": 0, "invalid": 1}


def test_a_fault_of_ours_in_what_a_document_says_of_others_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def says(_self: object, manifests: list[JSON]) -> None:
        if any("odd" in str(one) for one in manifests):
            raise KeyError

    monkeypatch.setattr("app.preview.surroundings.Surroundings.read", says)
    items = preview([read(INPUT)], Facts(), Policy()).items
    assert [item.outcome.value for item in items] == ["converted", "invalid", "converted"]


@pytest.mark.parametrize("where", ["app.preview.examine.find_pods", "app.preview.surroundings.Surroundings.read"])
def test_a_lack_of_memory_is_no_fault_of_a_document(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(where, no_memory)
    with pytest.raises(MemoryError):
        preview([read(INPUT)], Facts(), Policy())
