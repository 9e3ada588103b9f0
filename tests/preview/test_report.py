"""The report that machines read."""

from __future__ import annotations

from typing import Any

import jsonpatch
import orjson
import yaml

from app.preview.render import render_json, render_patches
from tests.preview.inputs import container, only, pod, shown, workload

DENIED = pod(spec={"containers": [container(limits={"nvidia.com/gpu": 1, "nvidia.com/gpumem": "16Gi"})]})
INVALID = pod(spec={"containers": [container(limits={"nvidia.com/gpu": "0.5"})]})


def report(*objects: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = orjson.loads(render_json(shown(yaml.safe_dump_all(objects))))
    return parsed


def item(value: Any) -> dict[str, Any]:
    items = report(value)["items"]
    assert len(items) == 1
    found: dict[str, Any] = items[0]
    return found


def test_its_members_are_those_of_the_published_format() -> None:
    found = report(workload(namespace="ns"))
    assert set(found) == {"apiVersion", "kind", "summary", "items"}
    assert (found["apiVersion"], found["kind"]) == ("hami.io/v1alpha1", "PreviewReport")
    assert found["summary"] == {"converted": 1, "untouched": 0, "denied": 0, "invalid": 0}
    (one,) = found["items"]
    assert set(one) == {
        "source", "outcome", "reasons", "warnings", "containers", "explanation", "templates", "pod", "object", "patch",
    }  # fmt: skip
    assert one["source"] == {
        "file": None,
        "document": 0,
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "ns",
        "name": "w",
        "generateName": None,
        "podPath": "spec.template",
    }
    (row,) = one["containers"]
    assert (row["name"], row["role"]) == ("main", "container")
    (claim,) = row["claims"]
    (template,) = one["templates"]
    assert claim == {
        "claim": "main-gpu",
        "template": template["metadata"]["name"],
        "request": "gpu",
        "driver": "hami-core-gpu.project-hami.io",
        "deviceClass": "hami-core-gpu.project-hami.io",
        "devices": 1,
        "memoryMiB": 8000,
        "memoryPercentage": None,
        "cores": 0,
        "exclusive": False,
        "migProfile": None,
        "share": False,
        "sharesClaimOf": None,
        "read": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000},
        "rules": claim["rules"],
    }
    assert template["metadata"]["namespace"] == "ns"
    assert "labels" not in template["metadata"], "printed templates carry no mark and are never removed"


def test_the_patch_applied_to_the_pod_gives_the_pod_that_is_shown() -> None:
    preview = shown(yaml.safe_dump(workload()))
    one = preview.items[0]
    assert one.found is not None
    assert one.decision is not None
    shown_pod = one.report()["pod"]
    patched = jsonpatch.apply_patch(one.found.pod, list(one.decision.patch))
    assert shown_pod == {key: patched[key] for key in ("metadata", "spec")}
    assert "nvidia.com/gpu" not in orjson.dumps(patched["spec"]).decode()


def test_the_object_is_the_manifest_with_the_converted_pod_in_it() -> None:
    found = item(workload())
    converted = found["object"]
    assert converted["spec"]["template"]["spec"] == found["pod"]["spec"]
    assert converted["metadata"] == {"name": "w"}
    assert set(converted["spec"]["template"]["metadata"]) == {"labels", "annotations"}


def test_denied_and_invalid_pods_are_not_shown_as_admitted() -> None:
    for value, outcome, word in ((DENIED, "denied", "memory-too-large"), (INVALID, "invalid", "invalid-request")):
        found = item(value)
        assert (found["outcome"], found["pod"], found["object"], found["patch"]) == (outcome, None, value, [])
        (reason,) = found["reasons"]
        assert reason["code"] == word
        assert reason["path"] == 'spec.containers[0].resources.limits["nvidia.com/gpumem"]'.replace(
            "gpumem", "gpumem" if outcome == "denied" else "gpu"
        )
        assert "main" in reason["message"]


def test_S6_fractions_are_invalid_and_whole_cards_only_is_said() -> None:
    assert "whole cards only" in " ".join(item(INVALID)["warnings"])


def test_an_object_without_pods_is_one_untouched_item() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": []}}
    found = item(service)
    assert (found["outcome"], found["object"], found["pod"]) == ("untouched", service, None)
    assert found["source"]["podPath"] is None
    assert found["containers"] == found["templates"] == found["patch"] == found["warnings"] == []


def test_resource_claim_templates_and_slices_are_untouched_objects() -> None:
    kinds = ("ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
    found = report(*({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}} for kind in kinds))
    assert [one["outcome"] for one in found["items"]] == ["untouched"] * 3


def test_custom_kinds_give_an_item_for_each_template_and_stay_as_they_are() -> None:
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "r"},
        "spec": {"workerGroupSpecs": [{"template": {"spec": {"containers": [container()]}}} for _ in range(2)]},
    }
    items = report(cluster)["items"]
    assert [one["source"]["podPath"] for one in items] == [f"spec.workerGroupSpecs[{n}].template" for n in range(2)]
    assert all(one["object"] == cluster and one["patch"] and one["outcome"] == "converted" for one in items)


def test_every_container_has_a_row_with_its_role() -> None:
    spec = {
        "initContainers": [container("warm"), container("cache", restartPolicy="Always")],
        "containers": [container(), {"name": "plain", "image": "x"}],
    }
    rows = item(pod(spec=spec))["containers"]
    assert [(row["name"], row["role"], len(row["claims"])) for row in rows] == [
        ("warm", "init", 1),
        ("cache", "sidecar", 1),
        ("main", "container", 1),
        ("plain", "container", 0),
    ]
    assert rows[0]["claims"][0]["sharesClaimOf"] == "main"


def test_unreadable_documents_are_invalid_items_with_their_place() -> None:
    found = orjson.loads(render_json(shown(f"{yaml.safe_dump(pod())}---\na: [\n")))
    assert found["summary"] == {"converted": 1, "untouched": 0, "denied": 0, "invalid": 1}
    broken = found["items"][1]
    assert (broken["source"]["document"], broken["source"]["kind"], broken["object"]) == (1, None, None)
    (reason,) = broken["reasons"]
    assert (reason["code"], reason["line"], reason["column"]) == ("yaml-syntax", 15, 1)
    assert reason["hint"]


def test_what_is_no_manifest_is_invalid() -> None:
    for text, words in (
        ("- a\n", "not a manifest but a list"),
        ("text\n", "not a manifest but a single value"),
        ("replicas: 2\nimage: x\n", "not a manifest: apiVersion and kind missing"),
        ("kind: Pod\n", "not a manifest: apiVersion missing"),
        ("apiVersion: v1\nkind: 1\n", "not a manifest: kind missing"),
    ):
        found = only(text)
        assert found.outcome.value == "invalid"
        assert words in found.why()[0]
        assert found.title == "document 1"


def test_odd_pods_are_shown_not_crashed_on() -> None:
    for spec in (None, [], {"containers": None}, {"containers": [None, 1, {"name": 1}]}, {"containers": {}}):
        assert item(pod(spec=spec))["outcome"] in ("untouched", "invalid")
    for metadata in (None, [], {"name": 1, "namespace": 2, "labels": "x", "annotations": [1]}):
        item(pod(metadata=metadata))
    item({**workload(), "metadata": None})
    item({**workload(), "spec": {"template": {"metadata": "x", "spec": {"containers": [container()]}}}})


def test_patches_are_listed_with_their_source() -> None:
    rows = orjson.loads(render_patches(shown(yaml.safe_dump_all([pod(), DENIED, workload()]))))
    assert [row["source"]["kind"] for row in rows] == ["Pod", "Deployment"]
    assert all(operation["op"] in ("add", "remove", "replace") for row in rows for operation in row["patch"])


def test_the_explanation_says_what_was_read_which_rule_decided_and_what_it_becomes() -> None:
    rows = item(pod(spec={"containers": [container(limits={"nvidia.com/gpumem": 8000})]}))["explanation"]
    assert [(row["container"], row["role"], row["read"], row["rule"], row["setting"]) for row in rows] == [
        ("main", "container", ["nvidia.com/gpumem: 8000"], "S33", {"name": "defaultGPUNum", "value": 1}),
        ("main", "container", [], "S22", None),
        ("main", "container", [], "S36", None),
    ]
    assert rows[0]["because"] == "no count is given, so the default counts"
    assert rows[0]["becomes"] == ["1 card: 8000 MiB, cores 0"]
    assert rows[2]["becomes"][0].startswith("claim main-gpu from gpu-1x-8000mi-0c-")
    assert item(DENIED)["explanation"] == []


def test_S6_a_template_in_quotes_is_to_be_rendered() -> None:
    refused = pod(spec={"containers": [container(limits={"nvidia.com/gpu": "{{ .Values.gpus }}"})]})
    (reason,) = item(refused)["reasons"]
    assert reason["code"] == "invalid-request"
    assert "helm template" in reason["hint"]
    assert "helm template" in only(yaml.safe_dump(refused)).why()[0]
    assert item(INVALID)["reasons"][0]["hint"] is None


def test_reasons_stand_where_the_text_has_them() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: w}
  spec:
    template:
      spec:
        containers:
        - name: main
          resources:
            limits:
              nvidia.com/gpu: 1
              nvidia.com/gpumem: 16Gi
"""
    (reason,) = shown(text).report()["items"][0]["reasons"]
    assert reason["path"] == 'spec.containers[0].resources.limits["nvidia.com/gpumem"]'
    assert (reason["document"], reason["line"], reason["column"]) == (0, 15, 15)
    merged = """\
x: &x {nvidia.com/gpu: 99}
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: main
    resources:
      limits:
        <<: *x
"""
    (reason,) = shown(merged).report()["items"][0]["reasons"]
    assert (reason["path"], reason["line"]) == ('spec.containers[0].resources.limits["nvidia.com/gpu"]', 9), (
        "as deep as known"
    )
