"""Which namespaces, pods and requests cost a call of the webhook, by label and by request (S1, S2, S3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.calls import calls
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.hardware import T4_NODE
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod, workload
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
NewNamespace = Callable[..., Namespace]
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 2000}
OPT_IN, HAMI = "hami.io/dra-webhook", "hami.io/webhook"
MIRROR = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    ("labels", "called"),
    [
        ({OPT_IN: "enabled"}, True),
        ({OPT_IN: "enabled", HAMI: "ignore"}, True),
        ({OPT_IN: "enabled", "team": "red"}, True),
        ({}, False),
        ({"team": "red"}, False),
        ({OPT_IN: "disabled"}, False),
        ({OPT_IN: "Enabled"}, False),
        ({OPT_IN: "true"}, False),
        ({OPT_IN: ""}, False),
        ({HAMI: "ignore"}, False),
        ({OPT_IN: "disabled", HAMI: "ignore"}, False),
    ],
    ids=lambda value: ",".join(f"{k}={v}" for k, v in value.items()) or "none" if isinstance(value, dict) else "",
)
def test_S2_a_namespace_is_in_by_the_value_of_its_label_alone(
    webhook: Webhook, new_namespace: NewNamespace, labels: Mapping[str, str], called: bool
) -> None:
    namespace = new_namespace(labels)
    before = calls(webhook)
    stored = namespace.create(pod("p", SHARE))
    assert calls(webhook) == before + called
    assert ("resourceClaims" in stored["spec"]) is called


def test_S2_a_namespace_is_in_from_the_moment_it_gets_the_label(webhook: Webhook, new_namespace: NewNamespace) -> None:
    namespace = new_namespace({})
    before = calls(webhook)
    namespace.create(pod("early", SHARE))
    assert calls(webhook) == before
    namespace.kubectl("label", "namespace", namespace.name, f"{OPT_IN}=enabled", check=True)
    wait_for(
        lambda: "resourceClaims" in namespace.create(pod("late", SHARE), dry_run=True)["spec"],
        "the API server to see the label",
    )
    assert "resourceClaims" not in namespace.get("Pod", "early")["spec"]


@pytest.fixture(params=["kube-system", "kube-node-lease", "hami-dra-webhook"])
def left_out(api: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the cluster itself or of the release, opted in by mistake."""
    name: str = request.param
    was_there = api.find("Namespace", name) is not None
    if not was_there:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    wait_for(lambda: api.find("ServiceAccount", "default", name), f"the default ServiceAccount of {name}")
    api.patch("Namespace", name, {"metadata": {"labels": {OPT_IN: "enabled"}}})
    yield name
    api.patch("Namespace", name, {"metadata": {"labels": {OPT_IN: None}}})
    if not was_there:
        api.delete("Namespace", name)


def test_S2_namespaces_of_the_cluster_and_of_the_release_stay_out_whatever_their_labels(
    webhook: Webhook, api: Api, namespace: Namespace, left_out: str
) -> None:
    before = calls(webhook)
    assert "resourceClaims" in namespace.create(pod("p", SHARE), dry_run=True)["spec"]
    assert calls(webhook) == before + 1
    assert "resourceClaims" not in api.create(pod("p", SHARE), left_out, dry_run=True)["spec"]
    assert calls(webhook) == before + 1


@pytest.mark.parametrize(
    ("marks", "called"),
    [
        ({"labels": {HAMI: "ignore"}}, False),
        ({"labels": {OPT_IN: "disabled"}}, False),
        ({"labels": {HAMI: "ignore", OPT_IN: "enabled"}}, False),
        ({"labels": {HAMI: "ignore", OPT_IN: "disabled"}}, False),
        ({"annotations": MIRROR, "nodeName": T4_NODE}, False),
        ({"labels": {OPT_IN: "enabled"}}, True),
        ({"labels": {HAMI: "Ignore"}}, True),
        ({"labels": {HAMI: ""}}, True),
        ({"annotations": {HAMI: "ignore"}}, True),
        ({"annotations": {OPT_IN: "disabled"}}, True),
        ({"labels": {"kubernetes.io/config.mirror": "x"}}, True),
    ],
    ids=str,
)
def test_S2_a_pod_is_out_by_the_value_of_its_own_label_or_as_a_mirror_pod(
    webhook: Webhook, namespace: Namespace, marks: JSON, called: bool
) -> None:
    before = calls(webhook)
    stored = namespace.create(pod("p", SHARE, **marks))
    assert calls(webhook) == before + called
    assert ("resourceClaims" in stored["spec"]) is called


PLAIN = container(name="plain")
IN_REQUESTS = container(name="asking", resources={"requests": SHARE})
ASKING = container(SHARE, name="asking")


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [PLAIN, ASKING]},
        {"containers": [PLAIN], "initContainers": [ASKING]},
        {"containers": [PLAIN], "initContainers": [container(name="first"), ASKING]},
        {"containers": [PLAIN], "initContainers": [{**ASKING, "restartPolicy": "Always"}]},
        {"containers": [container(name=f"plain-{n}") for n in range(40)] + [ASKING]},
    ],
    ids=["second", "init", "second-init", "sidecar", "last-of-41"],
)
def test_S1_one_container_with_a_key_is_enough(webhook: Webhook, namespace: Namespace, spec: JSON) -> None:
    before = calls(webhook)
    assert namespace.create(pod("p", **spec))["spec"]["resourceClaims"]
    assert calls(webhook) == before + 1


@pytest.mark.parametrize(
    "spec",
    [{"containers": [PLAIN, IN_REQUESTS]}, {"containers": [PLAIN], "initContainers": [IN_REQUESTS]}],
    ids=["second", "init"],
)
def test_S6_a_key_in_requests_is_seen_and_left_to_the_api_server(
    webhook: Webhook, namespace: Namespace, spec: JSON
) -> None:
    before = calls(webhook)
    with pytest.raises(ApiError, match="Limit must be set for non overcommitable resources"):
        namespace.create(pod("p", **spec))
    assert calls(webhook) == before + 1


@pytest.mark.parametrize(
    ("containers", "words"),
    [
        (None, r"spec\.containers: Required value"),
        ([], r"spec\.containers: Required value"),
        ([{"image": "pause"}], r"spec\.containers\[0\]\.name: Required value"),
        ([{"name": "main", "image": "pause", "resources": {"limits": None, "requests": None}}], None),
        ([{"name": "main", "image": "pause", "resources": {"limits": {}, "requests": {"cpu": "1"}}}], None),
    ],
    ids=["none", "empty", "nameless", "null-resources", "no-limits"],
)
def test_S1_a_pod_with_holes_is_judged_by_the_api_server_and_by_no_condition_of_ours(
    webhook: Webhook, namespace: Namespace, containers: JSON, words: str | None
) -> None:
    before = calls(webhook)
    odd = pod("p")
    odd["spec"]["containers"] = containers
    if words is None:
        namespace.create(odd)
    else:
        with pytest.raises(ApiError, match=words):
            namespace.create(odd)
    assert calls(webhook) == before


def test_S1_the_whole_life_of_a_pod_costs_one_call(webhook: Webhook, namespace: Namespace) -> None:
    before = calls(webhook)
    namespace.create(pod("p", SHARE))
    namespace.scheduled("p")
    namespace.finish("p")
    namespace.delete_pod("p")
    assert calls(webhook) == before + 1


def test_S1_of_a_workload_only_the_pods_are_seen(webhook: Webhook, namespace: Namespace) -> None:
    before = calls(webhook)
    namespace.create(workload("Deployment", "idle", SHARE, replicas=0))
    wait_for(lambda: namespace.list("ReplicaSet"), "the ReplicaSet")
    assert calls(webhook) == before
    namespace.kubectl("scale", "deployment", "idle", "--replicas=2", check=True)
    wait_for(lambda: len(namespace.pods(app="idle")) == 2, "two pods", describe=namespace.describe)
    assert calls(webhook) == before + 2
