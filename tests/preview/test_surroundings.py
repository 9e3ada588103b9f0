"""What else is in the input counts: Namespaces, LimitRanges, quotas, labels and annotations above the template."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from app.preview import Item, Outcome
from tests.preview.inputs import container, pod, shown, template, workload

USE_TYPE = "nvidia.com/use-gputype"
QUEUE = "kueue.x-k8s.io/queue-name"


def items(*objects: dict[str, Any], **settings: Any) -> list[Item]:
    return shown(yaml.safe_dump_all(objects), **settings).items


def core(kind: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec or {}}


def warnings(item: Item) -> list[tuple[str, str]]:
    return [(note.reason.value, note.message) for note in item.warnings]


def in_namespace(name: str | None) -> dict[str, Any]:
    return pod(metadata={"name": "p", **({"namespace": name} if name else {})})


@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease"])
def test_S2_system_namespaces_are_left_out(namespace: str) -> None:
    (item,) = items(in_namespace(namespace))
    assert (item.outcome, item.why()) == (
        Outcome.UNTOUCHED,
        [f"the namespace {namespace} is always left out [metadata.namespace]"],
    )
    assert item.changed is None


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        ({}, Outcome.CONVERTED),
        ({"hami.io/dra-webhook": "enabled"}, Outcome.CONVERTED),
        ({"hami.io/dra-webhook": "disabled"}, Outcome.UNTOUCHED),
        ({"hami.io/dra-webhook": "yes"}, Outcome.UNTOUCHED),
        ({"hami.io/webhook": "ignore"}, Outcome.UNTOUCHED),
        ({"hami.io/webhook": "ignore", "hami.io/dra-webhook": "enabled"}, Outcome.CONVERTED),
    ],
)
def test_S2_a_namespace_of_the_input_may_opt_out(labels: dict[str, str], outcome: Outcome) -> None:
    """hami.io/webhook counts only while the opt-in label is absent: it also keeps HAMi's own webhook out."""
    first, second, other = items(in_namespace("ns"), core("Namespace", name="ns", labels=labels), in_namespace("other"))
    assert (first.outcome, second.outcome, other.outcome) == (outcome, Outcome.UNTOUCHED, Outcome.CONVERTED)


def test_S2_the_label_is_a_setting() -> None:
    settings = {"opt_in": {"label": "example.org/dra", "value": "on"}}
    namespace = core("Namespace", name="ns", labels={"example.org/dra": "off"})
    assert items(namespace, in_namespace("ns"), **settings)[1].outcome is Outcome.UNTOUCHED


@pytest.mark.parametrize("bound", ["max", "min"])
def test_S72_a_limit_range_on_a_legacy_key_denies_the_pods_of_its_namespace(bound: str) -> None:
    limits = [{"type": "Container", bound: {"nvidia.com/gpu": "2", "cpu": "1"}}]
    denied, limit_range, other = items(
        in_namespace("ns"), core("LimitRange", {"limits": limits}, namespace="ns"), in_namespace("other")
    )
    assert denied.outcome is Outcome.DENIED
    assert "LimitRange x" in denied.why()[0]
    assert other.outcome is Outcome.CONVERTED
    assert limit_range.outcome is Outcome.UNTOUCHED
    assert warnings(limit_range) == [
        ("limit-range-on-key", f"{bound} nvidia.com/gpu refuses every converted pod of the namespace: remove it")
    ]


def test_S72_other_limit_ranges_do_nothing() -> None:
    limits = [
        {"type": "Container", "max": {"cpu": "1", "nvidia.com/gpu.shared": "1"}, "default": {"nvidia.com/gpu": "1"}}
    ]
    item, limit_range = items(in_namespace(None), core("LimitRange", {"limits": limits}))
    assert item.outcome is Outcome.CONVERTED
    assert [code for code, _ in warnings(limit_range)] == ["limit-range-on-key"]


def test_S73_a_quota_names_each_key_that_stops_counting() -> None:
    hard = {
        "requests.nvidia.com/gpu": "4",
        "limits.nvidia.com/gpumem": "40000",
        "requests.nvidia.com/mig-1g.10gb": 1,
        "requests.nvidia.com/gpumemory": "1",
        "requests.cpu": "1",
        "pods": "20",
    }
    (item,) = items(core("ResourceQuota", {"hard": hard}))
    assert item.outcome is Outcome.UNTOUCHED
    assert sorted(code for code, _ in warnings(item)) == ["near-miss", *["quota-stops-counting"] * 3]
    said = " ".join(message for _, message in warnings(item))
    assert all(key in said for key in list(hard)[:4])
    assert "cpu" not in said
    assert "pods: " not in said


def test_S70_annotations_above_the_template_are_named() -> None:
    manifest = workload(annotations={USE_TYPE: "A100", "team": "a"})
    (item,) = items(manifest)
    assert warnings(item) == [
        (
            "annotation-on-workload",
            f"{USE_TYPE}: an annotation on the Deployment has no effect, move it to spec.template.metadata",
        )
    ]
    manifest["spec"]["template"] = template(container(), annotations={USE_TYPE: "T4"})
    assert [code for code, _ in warnings(items(manifest)[0])] == [], "the template says it too"
    plain = workload(annotations={USE_TYPE: "A100"})
    plain["spec"]["template"] = template(container(limits={"cpu": 1}))
    assert warnings(items(plain)[0]) == [], "nothing to choose without a card"


def test_S70_annotations_on_the_job_template_of_a_cron_job_are_named_too() -> None:
    job = {"metadata": {"annotations": {USE_TYPE: "A100"}}, "spec": {"template": template()}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": job}}
    (item,) = items(cron)
    assert [note.path for note in item.warnings] == [f'spec.jobTemplate.metadata.annotations["{USE_TYPE}"]']


def test_S70_S71_a_queued_job_stays_and_says_who_counts_it() -> None:
    (item,) = items(workload("Job", "batch/v1", labels={QUEUE: "q"}))
    assert (item.outcome, item.changed, item.stays) == (Outcome.CONVERTED, None, True)
    assert [code for code, _ in warnings(item)] == ["kueue"]


def test_S71_resources_outside_a_container_are_named() -> None:
    resources = {"limits": {"nvidia.com/gpu": 1, "cpu": 1}, "requests": {"nvidia.com/gpu": 1}}
    predictor = {"model": {"resources": resources}, "resources": resources}
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s"},
        "spec": {"predictor": predictor},
    }
    (item,) = items(service)
    assert [(note.reason.value, note.path) for note in item.warnings] == [
        ("resources-outside-container", "spec.predictor.resources.limits"),
        ("resources-outside-container", "spec.predictor.resources.requests"),
    ]
    task = {"apiVersion": "tekton.dev/v1", "kind": "Task", "spec": {"steps": [{"computeResources": resources}]}}
    assert len(items({**task, "metadata": {"name": "t"}})[0].warnings) == 2
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": {"limits": {"nvidia.com/gpu": 9}}}
    assert items({**pool, "metadata": {"name": "t"}})[0].warnings == (), "limits of something else"


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_S71_resources_of_a_pod_itself_are_refused_by_the_api_server(kind: str) -> None:
    """They are not called resources that ask nothing: no such pod exists."""
    spec = {"containers": [container(limits={"cpu": 1})], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    manifest = pod(spec=spec) if kind == "Pod" else workload() | {"spec": {"template": {"spec": spec}}}
    (item,) = items(manifest)
    assert item.outcome is Outcome.INVALID
    assert item.reasons_shaped()[0]["code"] == "invalid-request"
    assert "no resource of a pod" in item.why()[0]
    assert warnings(item) == []


def test_S71_resources_beside_containers_of_a_custom_kind_are_its_own() -> None:
    own = {"containers": [container()], "resources": {"limits": {"nvidia.com/gpu": 1}}}
    (item,) = items({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": own})
    assert item.outcome is Outcome.CONVERTED
    assert [code for code, _ in warnings(item)] == ["resources-outside-container"]
