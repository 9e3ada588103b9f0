"""The API server, the webhook or a template is away for a while: what goes on, what is refused, and what heals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import quota
from tests.cluster.contents import (
    NOISY_MACHINE_SECONDS,
    TEMPLATE,
    marked,
    named_by,
    pods_of,
    template_names,
    uids_of,
    until_claims,
    written,
)
from tests.cluster.detour import Detour
from tests.cluster.reviews import review
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.components import API, CONTROLLERS
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod, workload
from tests.cluster.testbed.registration import Registration
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}
LARGER: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 2000}
TIMEOUT_SECONDS = 5
"""What the registration gives the webhook."""

pytestmark = pytest.mark.usefixtures("machines")


@pytest.fixture
def detour(control_plane: ControlPlane) -> Iterator[Detour]:
    """A way to the API server that can be cut."""
    made = Detour(control_plane.layout)
    yield made
    made.close()


@contextmanager
def without(control_plane: ControlPlane, component: str) -> Iterator[None]:
    """Kill a component, and start it again afterwards."""
    control_plane.stop_component(component, kill=True)
    try:
        yield
    finally:
        control_plane.start_component(component)


def memory(mebibytes: int) -> Mapping[str, int]:
    """A share of that size: each size is a template of its own."""
    return {"nvidia.com/gpu": 1, "nvidia.com/gpumem": mebibytes}


def put_back(namespace: Namespace, name: str, uid: str) -> None:
    """Wait until there is a template of that name again, which is not the one with this UID."""
    wait_for(
        lambda: (found := namespace.api.find(TEMPLATE, name, namespace.name)) and found["metadata"]["uid"] != uid,
        f"template {name} to be put back",
        timeout=NOISY_MACHINE_SECONDS,
    )


def test_without_an_api_server_known_templates_go_on_and_unknown_ones_are_refused(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    namespace.kubectl.apply(pod("before", SHARE))
    template = named_by(namespace.scheduled("before"))
    with without(control_plane, API):
        known = review(webhook, namespace.name, pod("known", SHARE))
        assert known.allowed, known.message
        assert known.templates == template
        began = time.monotonic()
        unknown = review(webhook, namespace.name, pod("unknown", LARGER))
        assert time.monotonic() - began < TIMEOUT_SECONDS
        assert (unknown.allowed, unknown.code, unknown.templates) == (False, 503, ())
        assert "ResourceClaimTemplate gpu-1x-2000mi" in unknown.message
        assert f"the Kubernetes API at {control_plane.layout.server} cannot be reached" in unknown.message
        assert unknown.message.endswith("; try again")
        assert webhook.ready()
    namespace.kubectl.apply(pod("known", SHARE))
    assert namespace.allocation("known", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1000
    namespace.kubectl.apply(pod("unknown", LARGER))
    assert namespace.allocation("unknown", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 2000
    assert named_by(namespace.get("Pod", "known")) == template


def test_a_deployment_gets_through_a_restart_of_the_api_server(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=12))
    control_plane.restart_component(API, kill=True)
    for one in pods_of(namespace, "web", 12):
        allocation = namespace.allocation(one["metadata"]["name"], timeout=NOISY_MACHINE_SECONDS)
        assert allocation.only.memory_mib == 1000
    assert len(template_names(namespace)) == written(webhook) == 1
    # Kubernetes makes a claim twice when the answer to the first creation was lost; both belong to the pod.
    owners = {claim["metadata"]["ownerReferences"][0]["uid"] for claim in namespace.list("ResourceClaim")}
    assert owners == uids_of(namespace.pods(app="web"))


def test_a_webhook_that_is_cut_off_tells_kubectl_users_so_and_recovers(
    detour: Detour, start_webhook: Callable[..., Webhook], namespace: Namespace, tmp_path: Path
) -> None:
    webhook = start_webhook(kubeconfig=detour.kubeconfig(tmp_path))
    namespace.kubectl.apply(pod("before", SHARE))
    with detour.cut():
        namespace.kubectl.apply(pod("known", SHARE))
        assert namespace.allocation("known").only.memory_mib == 1000
        refused = namespace.kubectl.create(pod("unknown", LARGER), check=False)
        assert refused.code == 1
        assert f"the Kubernetes API at {detour.url} cannot be reached" in refused.stderr
        namespace.kubectl.create(pod("unknown", LARGER), options=("--dry-run=server",))  # needs no template
        assert webhook.ready()
    namespace.kubectl.create(pod("unknown", LARGER))
    assert namespace.allocation("unknown").only.memory_mib == 2000


def test_a_template_that_is_deleted_unseen_is_put_back_for_the_pods_that_were_admitted_with_it(
    detour: Detour, start_webhook: Callable[..., Webhook], namespace: Namespace, tmp_path: Path
) -> None:
    start_webhook(kubeconfig=detour.kubeconfig(tmp_path))
    (name,) = named_by(namespace.create(pod("before", SHARE)))
    namespace.delete_pod("before")
    with detour.cut():
        namespace.api.delete(TEMPLATE, name, namespace.name)
        assert named_by(namespace.create(pod("after", SHARE))) == (name,)
        wait_for(
            lambda: [event for event in namespace.events("after") if f'"{name}" not found' in event],
            "the pod to miss its template",
            timeout=NOISY_MACHINE_SECONDS,
        )
    assert namespace.allocation("after", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1000
    assert template_names(namespace) == marked(namespace) == {name}


def test_a_template_that_is_deleted_while_no_webhook_runs_is_put_back_when_one_starts(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    with without(control_plane, CONTROLLERS):  # so that no claim is made
        (name,) = named_by(namespace.create(pod("waiting", SHARE)))
        uid = namespace.get(TEMPLATE, name)["metadata"]["uid"]
        webhook.kill()
        namespace.kubectl("delete", "resourceclaimtemplate", name, check=True)
        webhook.start()
        put_back(namespace, name, uid)
    assert namespace.allocation("waiting", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1000


def test_a_template_that_is_deleted_while_a_pod_waits_for_it_is_put_back(
    control_plane: ControlPlane, webhook: Webhook, namespace: Namespace
) -> None:
    (unused,) = named_by(namespace.create(pod("passing", LARGER)))
    namespace.delete_pod("passing")
    restored = webhook.metric("hami_dra_webhook_templates_total", result="restored")
    with without(control_plane, CONTROLLERS):  # so that no claim is made
        (name,) = named_by(namespace.create(pod("waiting", SHARE)))
        uid = namespace.get(TEMPLATE, name)["metadata"]["uid"]
        assert namespace.list("ResourceClaim") == []
        namespace.kubectl("delete", "resourceclaimtemplate", unused, name, check=True)
        put_back(namespace, name, uid)
        assert template_names(namespace) == marked(namespace) == {name}  # nobody needs the other one
    assert namespace.allocation("waiting", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1000
    assert webhook.metric("hami_dra_webhook_templates_total", result="restored") == restored + 1


def test_a_template_that_is_deleted_under_running_pods_takes_nothing_from_them(
    webhook: Webhook, namespace: Namespace
) -> None:
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=2))
    before = pods_of(namespace, "web", 2)
    claims = uids_of(namespace.list("ResourceClaim"))
    (template,) = namespace.list(TEMPLATE)
    namespace.kubectl("delete", "resourceclaimtemplate", template["metadata"]["name"], check=True)
    put_back(namespace, template["metadata"]["name"], template["metadata"]["uid"])
    assert uids_of(namespace.pods(app="web")) == uids_of(before)
    assert uids_of(namespace.list("ResourceClaim")) == claims
    namespace.kubectl("scale", "deployment/web", "--replicas=3", check=True)
    pods_of(namespace, "web", 3)
    assert webhook.running()


def test_two_replicas_that_are_asked_at_once_write_one_template(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    replicas = [start_webhook(register=False) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        for mebibytes in range(1000, 1020):
            asking = pod("p", memory(mebibytes))
            first, second = pool.map(lambda one: review(one, namespace.name, asking), replicas)  # noqa: B023
            assert first.allowed, first.message
            assert second == first
    assert len(template_names(namespace)) == 20
    assert sum(written(one) for one in replicas) == 20
    assert sum(one.metric("hami_dra_webhook_template_failures_total") for one in replicas) == 0
    # They did meet: the API server told one of them that the name was taken.
    assert any(one.metric("hami_dra_webhook_api_requests_total", verb="create", code="409") for one in replicas)


def test_pods_that_different_replicas_admit_share_a_template(
    start_webhook: Callable[..., Webhook], registration: Registration, namespace: Namespace
) -> None:
    first = start_webhook()
    second = start_webhook()
    for turn, replica in enumerate((first, second, first)):
        registration.use(replica)
        namespace.kubectl.apply(pod(f"p{turn}", SHARE))
        assert namespace.allocation(f"p{turn}").only.memory_mib == 1000
    registration.use(second)
    assert (written(first), written(second)) == (1, 0)
    assert len(template_names(namespace)) == 1


def test_two_replicas_put_a_template_back_once(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    replicas = [start_webhook() for _ in range(2)]
    with without(control_plane, CONTROLLERS):
        (name,) = named_by(namespace.create(pod("waiting", SHARE)))
        uid = namespace.get(TEMPLATE, name)["metadata"]["uid"]
        namespace.api.delete(TEMPLATE, name, namespace.name)
        put_back(namespace, name, uid)
    assert namespace.allocation("waiting", timeout=NOISY_MACHINE_SECONDS).only.memory_mib == 1000
    assert template_names(namespace) == {name}
    assert all(one.running() for one in replicas)


def test_a_webhook_that_was_killed_goes_on_with_the_templates_that_are_there(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    (name,) = named_by(namespace.create(pod("before", SHARE)))
    # Written for a pod that never came: the webhook died before the API server read its answer.
    assert review(webhook, namespace.name, pod("lost", LARGER)).allowed
    before = uids_of(namespace.list(TEMPLATE))
    webhook.kill()
    webhook.start()
    assert named_by(namespace.create(pod("after", SHARE))) == (name,)
    namespace.create(pod("lost", LARGER))
    assert namespace.allocation("lost").only.memory_mib == 2000
    assert uids_of(namespace.list(TEMPLATE)) == before
    assert written(webhook) == 0


def test_pods_that_are_refused_while_the_webhook_dies_come_in_when_they_are_tried_again(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    sizes = range(100, 105)

    def create(number: int) -> str | None:
        if number == 10:
            webhook.kill()
        try:
            namespace.create(pod(f"p{number}", memory(sizes[number % len(sizes)])))
        except ApiError as error:
            return error.message
        return None

    with ThreadPoolExecutor(4) as pool:
        refusals = {number: said for number, said in enumerate(pool.map(create, range(30))) if said}
    assert refusals
    assert all("failed calling webhook" in said for said in refusals.values())
    webhook.start()
    assert not [said for number in refusals if (said := create(number + 100))]
    for one in namespace.pods():
        namespace.scheduled(one["metadata"]["name"], timeout=NOISY_MACHINE_SECONDS)
    assert len(namespace.pods()) == 30
    until_claims(namespace, 30)
    assert len(template_names(namespace)) == len(sizes)


def test_a_pod_that_is_denied_later_leaves_nothing_but_a_template_that_others_use(
    webhook: Webhook, namespace: Namespace
) -> None:
    quota.limit(namespace, {quota.PODS: 0})
    asking = pod("p", containers=[container(SHARE, name="first"), container(LARGER, name="second")])
    for _ in range(3):
        assert "exceeded quota" in namespace.kubectl.create(asking, check=False).stderr
    assert namespace.list("Pod") == namespace.list("ResourceClaim") == []
    left = namespace.list(TEMPLATE)
    assert len(left) == len(marked(namespace)) == 2
    quota.limit(namespace, {quota.PODS: 5})
    before = written(webhook)
    for name, limits in (("a", SHARE), ("b", LARGER)):
        namespace.kubectl.create(pod(name, limits))
        namespace.scheduled(name)
    assert uids_of(namespace.list(TEMPLATE)) == uids_of(left)
    assert written(webhook) == before


def test_without_the_webhook_only_legacy_pods_of_its_namespaces_are_refused(
    start_webhook: Callable[..., Webhook], namespace: Namespace, new_namespace: Callable[..., Namespace]
) -> None:
    webhook = start_webhook()
    namespace.kubectl.apply(pod("converted", SHARE))
    namespace.scheduled("converted")
    webhook.kill()
    refused = namespace.kubectl.create(pod("legacy", SHARE), check=False)
    assert refused.code == 1
    assert 'failed calling webhook "convert.dra-webhook.hami.io"' in refused.stderr
    namespace.kubectl.create(pod("cpu", {"cpu": "100m"}))
    namespace.scheduled("cpu")
    namespace.kubectl("label", "pod", "converted", "team=red", check=True)
    elsewhere = new_namespace({})
    elsewhere.kubectl.create(pod("legacy", SHARE))
    assert elsewhere.get("Pod", "legacy")["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_a_deployment_that_was_made_without_the_webhook_gets_its_pods_when_it_is_back(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    webhook.kill()
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=2))
    wait_for(
        lambda: [event for event in namespace.events() if "failed calling webhook" in event],
        "the ReplicaSet to say why",
        timeout=NOISY_MACHINE_SECONDS,
    )
    assert namespace.pods() == []
    webhook.start()
    pods_of(namespace, "web", 2)
    assert len(template_names(namespace)) == 1
