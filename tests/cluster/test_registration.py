"""Which pods the API server sends to the webhook, and which it never does (S1, S2, S3, S60)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.hardware import T4_NODE
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
Start = Callable[..., Webhook]
GPU: Mapping[str, int] = {"nvidia.com/gpu": 1}
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}


def reviews(webhook: Webhook) -> float:
    """How many reviews the webhook has answered."""
    return webhook.metric("hami_dra_webhook_reviews_total")


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpumem-percentage",
        "nvidia.com/gpucores",
        "nvidia.com/priority",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/gpu.shared",
    ],
)
@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_S1_every_configured_key_reaches_the_webhook(
    webhook: Webhook, namespace: Namespace, key: str, where: str
) -> None:
    before = reviews(webhook)
    asking = pod("p")
    asking["spec"][where] = [container({key: 1}, name="asking")]
    namespace.create(asking, dry_run=True)
    assert reviews(webhook) > before


def test_S6_a_key_in_requests_alone_reaches_the_webhook_and_the_api_server_refuses_it(
    webhook: Webhook, namespace: Namespace
) -> None:
    before = reviews(webhook)
    with pytest.raises(ApiError, match="Limit must be set for non overcommitable resources"):
        namespace.create(pod("p", containers=[container(resources={"requests": GPU})]))
    assert reviews(webhook) == before + 1


@pytest.mark.parametrize(
    "innocent",
    [
        pod("plain"),
        pod("cpu", {"cpu": 1}),
        pod("empty", containers=[container(resources={"limits": {}})]),
        pod("null", containers=[container(resources=None)]),
        pod("look-alike", {"nvidia.computer/gpu": 1, "nvidia.com/hostdev": 1}),
        pod("other-vendor", {"amd.com/gpu": 1}),
        pod("hami-opt-out", GPU, labels={"hami.io/webhook": "ignore"}),
        pod("own-opt-out", GPU, labels={"hami.io/dra-webhook": "disabled"}),
        pod("mirror", GPU, annotations={"kubernetes.io/config.mirror": "x"}, nodeName=T4_NODE),
    ],
    ids=lambda obj: obj["metadata"]["name"],
)
def test_S2_other_pods_cost_no_call_and_stay_as_is(webhook: Webhook, namespace: Namespace, innocent: JSON) -> None:
    before = reviews(webhook)
    stored = namespace.create(innocent, dry_run=True)
    assert reviews(webhook) == before
    assert "resourceClaims" not in stored["spec"]


def test_S2_pods_of_namespaces_that_did_not_opt_in_cost_no_call(
    webhook: Webhook, new_namespace: Callable[..., Namespace]
) -> None:
    before = reviews(webhook)
    for labels in ({}, {"hami.io/dra-webhook": "disabled"}, {"hami.io/webhook": "ignore"}):
        assert "resourceClaims" not in new_namespace(labels).create(pod("p", GPU), dry_run=True)["spec"]
    assert reviews(webhook) == before


def test_S60_only_a_repeated_apply_reaches_the_webhook_again(webhook: Webhook, namespace: Namespace) -> None:
    legacy = pod("p", SHARE, labels={"app": "a"})
    namespace.kubectl.apply(legacy)
    namespace.scheduled("p")
    before = reviews(webhook)
    namespace.kubectl("label", "pod", "p", "team=red", check=True)
    namespace.kubectl("annotate", "pod", "p", "note=x", check=True)
    namespace.kubectl("set", "image", "pod/p", "main=example.org/pause:3.9", check=True)
    assert reviews(webhook) == before
    generation = namespace.get("Pod", "p")["metadata"]["generation"]
    same_image = namespace.kubectl.apply(pod("p", containers=[container(SHARE, image="example.org/pause:3.9")]))
    assert same_image.stdout == "pod/p configured\n"
    assert reviews(webhook) == before + 1
    assert namespace.get("Pod", "p")["metadata"]["generation"] == generation


def test_S60_a_pod_that_is_being_deleted_costs_no_call(webhook: Webhook, namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", SHARE, finalizers=["example.com/wait"]))
    namespace.scheduled("p")
    before = reviews(webhook)
    namespace.kubectl("delete", "pod", "p", "--wait=false", check=True)
    namespace.api.patch("Pod", "p", {"metadata": {"finalizers": None}}, namespace.name)
    assert reviews(webhook) == before


def test_renamed_keys_reach_a_webhook_that_knows_them(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook({"resourceNames": {"count": "example.com/card"}})
    before = reviews(webhook)
    assert "resourceClaims" in namespace.create(pod("renamed", {"example.com/card": 1}), dry_run=True)["spec"]
    assert reviews(webhook) == before + 1
    assert "resourceClaims" not in namespace.create(pod("old", GPU), dry_run=True)["spec"]
    assert reviews(webhook) == before + 1


def test_a_webhook_that_is_gone_stops_legacy_pods_only(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    webhook.kill()
    with pytest.raises(ApiError, match=r'500 .*failed calling webhook "convert\.dra-webhook\.hami\.io"'):
        namespace.create(pod("legacy", GPU))
    namespace.create(pod("plain"))
    webhook.start()
    assert namespace.create(pod("legacy", GPU))["spec"]["resourceClaims"]
    webhook.restart()
    assert namespace.create(pod("again", GPU))["spec"]["resourceClaims"]
    wait_for(
        lambda: (
            [one["name"] for one in webhook.logs() if one.get("namespace") == namespace.name] == ["legacy", "again"]
        ),
        "a log line for each pod that was admitted",
    )
