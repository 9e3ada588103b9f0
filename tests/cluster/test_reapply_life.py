"""S60 in the life of a pod: other writers, an unreachable webhook, a namespace that was switched back, options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.calls import calls
from tests.cluster.reapply import IMMUTABLE, assert_changes_nothing, each_way, refusal, settled
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod
from tests.cluster.testbed.webhook import Webhook

JSON = Any
Start = Callable[..., Webhook]
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
FILE = pod("p", SHARE, labels={"app": "a"})
NEW_IMAGE = "example.org/pause:3.9"
RUNTIME_CLASS = "of-reapplied-pods"
EVERY_OPTION = {
    "options": {
        "runtimeClassName": RUNTIME_CLASS,
        "gpuCorePolicy": "force",
        "hideFromOthers": True,
        "visibleDevices": "void",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
}
OWN_TOLERATION = {"key": "batch", "operator": "Exists"}


def write_everything_but_keys(namespace: Namespace) -> None:
    """Labels, annotations, image and finalizers of pod ``p``, each by its own request."""
    namespace.kubectl("label", "pod", "p", "team=red", check=True)
    namespace.kubectl("annotate", "pod", "p", "note=x", check=True)
    namespace.kubectl("set", "image", "pod/p", f"main={NEW_IMAGE}", check=True)
    for finalizers in (["example.com/wait"], None):
        namespace.api.patch("Pod", "p", {"metadata": {"finalizers": finalizers}}, namespace.name)


def debug(namespace: Namespace) -> JSON:
    """What ``kubectl debug`` sends; returns the ephemeral containers that the API server then has."""
    spec = {"ephemeralContainers": [{**container(name="debugger"), "targetContainerName": "main"}]}
    stored = namespace.api.patch(
        "Pod", "p", {"spec": spec}, namespace.name, how="strategic", subresource="ephemeralcontainers"
    )
    return [one["name"] for one in stored["spec"]["ephemeralContainers"]]


def test_S60_other_writes_never_reach_the_webhook(webhook: Webhook, namespace: Namespace) -> None:
    namespace.kubectl.apply(FILE)
    claims = settled(namespace, "p")["spec"]["resourceClaims"]
    before = calls(webhook)
    write_everything_but_keys(namespace)
    assert debug(namespace) == ["debugger"]
    namespace.finish("p")
    assert namespace.get("Pod", "p")["spec"]["resourceClaims"] == claims
    namespace.kubectl("delete", "pod", "p", "--wait=false", check=True)
    assert calls(webhook) == before


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_pod_that_is_being_debugged_may_be_applied_again(namespace: Namespace, options: tuple[str, ...]) -> None:
    namespace.kubectl.apply(FILE, options=options)
    settled(namespace, "p")
    debug(namespace)
    assert_changes_nothing(namespace, FILE, options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_applying_as_a_dry_run_shows_and_writes_nothing(namespace: Namespace, options: tuple[str, ...]) -> None:
    namespace.kubectl.apply(FILE, options=options)
    before = settled(namespace, "p")
    shown = ("--dry-run=server", "--output=jsonpath={.spec.containers[0].resources}")
    assert namespace.kubectl.apply(FILE, options=(*options, *shown)).stdout == '{"claims":[{"name":"main-gpu"}]}'
    assert namespace.get("Pod", "p") == before


@pytest.mark.usefixtures("machines")
@each_way
def test_S60_while_the_webhook_is_away_only_the_file_itself_is_refused(
    start_webhook: Start, namespace: Namespace, options: tuple[str, ...]
) -> None:
    webhook = start_webhook()
    namespace.kubectl.apply(FILE, options=options)
    settled(namespace, "p")
    webhook.kill()
    assert IMMUTABLE in refusal(namespace, FILE, options)
    write_everything_but_keys(namespace)
    written = namespace.get("Pod", "p")
    assert written["metadata"]["labels"]["team"] == "red"
    assert written["spec"]["containers"][0]["image"] == NEW_IMAGE
    webhook.start()
    updated = pod("p", containers=[container(SHARE, image=NEW_IMAGE)], labels={"app": "a"})
    namespace.kubectl.apply(updated, options=options)  # the file says now what was written meanwhile
    assert_changes_nothing(namespace, updated, options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_namespace_that_was_switched_back_still_applies_what_was_converted(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(FILE, options=options)
    settled(namespace, "p")
    namespace.kubectl("label", "namespace", namespace.name, "hami.io/dra-webhook-", check=True)
    assert_changes_nothing(namespace, FILE, options)
    assert "resourceClaims" not in namespace.create(pod("new", SHARE), dry_run=True)["spec"]


@pytest.fixture
def runtime_class(api: Api) -> Iterator[None]:
    """The class that the options name; the API server refuses pods of one that does not exist."""
    api.create(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME_CLASS},
            "handler": "nvidia",
        }
    )
    yield
    api.delete("RuntimeClass", RUNTIME_CLASS)


@pytest.mark.usefixtures("machines", "runtime_class")
@each_way
@pytest.mark.parametrize(
    "file",
    [
        FILE,
        pod("p", SHARE, tolerations=[OWN_TOLERATION]),
        pod("p", containers=[container(SHARE, env=[{"name": "A", "value": "a"}]), container(name="other")]),
    ],
    ids=["nothing-of-its-own", "own-toleration", "own-variable"],
)
def test_S60_what_options_add_stays_when_the_file_is_applied_again(
    start_webhook: Start, namespace: Namespace, file: JSON, options: tuple[str, ...]
) -> None:
    start_webhook(EVERY_OPTION)
    namespace.kubectl.apply(file, options=options)
    spec = settled(namespace, "p")["spec"]
    assert spec["runtimeClassName"] == RUNTIME_CLASS
    assert spec["tolerations"][-1]["key"] == "nvidia.com/gpu"
    assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("machines", "runtime_class")
@each_way
@pytest.mark.parametrize("settings", [{}, EVERY_OPTION], ids=["no-options", "every-option"])
def test_S60_a_toleration_may_be_added_as_to_any_pod(
    start_webhook: Start, namespace: Namespace, settings: JSON, options: tuple[str, ...]
) -> None:
    start_webhook(settings)
    namespace.kubectl.apply(pod("p", SHARE, tolerations=[OWN_TOLERATION]), options=options)
    before = settled(namespace, "p")["spec"]["tolerations"]
    more = pod("p", SHARE, tolerations=[OWN_TOLERATION, {"key": "more", "operator": "Exists"}])
    namespace.kubectl.apply(more, options=options)
    after = namespace.get("Pod", "p")["spec"]["tolerations"]
    assert [one for one in after if one not in before] == [{"key": "more", "operator": "Exists"}]
    assert [one for one in before if one not in after] == []
    assert_changes_nothing(namespace, more, options)
