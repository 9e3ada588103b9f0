"""Pods that are tried, refused, replaced, evicted and deleted: each may come again, under the same name and at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import quota
from tests.cluster.contents import (
    NOISY_MACHINE_SECONDS,
    TEMPLATE,
    marked,
    named_by,
    template_names,
    uids_of,
    until_claims,
    written,
)
from tests.cluster.reviews import review
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.components import kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod, workload
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
LARGER: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 6000}
TWO_SHAPES = [container(SHARE, name="first"), container(LARGER, name="second")]

pytestmark = pytest.mark.usefixtures("webhook", "kwok")


def running(namespace: Namespace, count: int, **labels: str) -> list[JSON]:
    """Wait until exactly so many pods are there, and all of them run."""

    def all_run() -> list[JSON] | None:
        pods = namespace.pods(**labels)
        return pods if len(pods) == count and all(p["status"]["phase"] == "Running" for p in pods) else None

    return wait_for(all_run, f"{count} running pods", timeout=NOISY_MACHINE_SECONDS, describe=namespace.describe)


def gone(namespace: Namespace, name: str) -> None:
    """Wait until there is no pod of that name."""
    wait_for(
        lambda: namespace.api.find("Pod", name, namespace.name) is None,
        f"pod {name} to go",
        timeout=NOISY_MACHINE_SECONDS,
        describe=namespace.describe,
    )


def test_a_deployment_of_two_replicas_runs_and_is_rolled_out(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=2))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    before = running(namespace, 2, app="web")
    namespace.kubectl("set", "image", "deployment/web", "main=example.org/pause:3.9", check=True)
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    after = running(namespace, 2, app="web")
    assert uids_of(before).isdisjoint(uids_of(after))
    assert {p["spec"]["containers"][0]["image"] for p in after} == {"example.org/pause:3.9"}
    assert [namespace.allocation(p["metadata"]["name"]).only.memory_mib for p in after] == [4000, 4000]
    assert len(template_names(namespace)) == 1
    until_claims(namespace, 2)


def test_a_rollout_to_another_amount_gives_the_new_pods_the_new_amount(namespace: Namespace) -> None:
    namespace.kubectl.apply(workload("Deployment", "web", SHARE, replicas=2))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    namespace.kubectl.apply(workload("Deployment", "web", LARGER, replicas=2))
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    after = running(namespace, 2, app="web")
    assert [namespace.allocation(p["metadata"]["name"]).only.memory_mib for p in after] == [6000, 6000]
    until_claims(namespace, 2)
    namespace.kubectl("rollout", "undo", "deployment/web", check=True)
    namespace.kubectl("rollout", "status", "deployment/web", "--timeout=30s", check=True)
    back = running(namespace, 2, app="web")
    assert [namespace.allocation(p["metadata"]["name"]).only.memory_mib for p in back] == [4000, 4000]
    assert len(template_names(namespace)) == 2


@pytest.mark.parametrize(
    "command",
    [
        ("create", "--dry-run=server"),
        ("apply", "--dry-run=server"),
        ("apply", "--server-side", "--dry-run=server"),
        ("diff",),
    ],
    ids=" ".join,
)
def test_a_dry_run_writes_nothing_and_the_real_creation_then_works(
    namespace: Namespace, command: tuple[str, ...]
) -> None:
    legacy = pod("p", SHARE)
    said = namespace.kubectl(*command, "-f", "-", stdin=yaml.safe_dump(legacy))
    assert said.code == (1 if command == ("diff",) else 0), said.stderr
    assert namespace.list("Pod") == namespace.list(TEMPLATE) == namespace.list("ResourceClaim") == []
    namespace.kubectl.create(legacy)
    assert namespace.allocation("p").only.memory_mib == 4000


def test_a_dry_run_shows_the_pod_that_the_real_creation_makes(namespace: Namespace) -> None:
    legacy = pod("p", SHARE)
    shown = namespace.create(legacy, dry_run=True)
    made = namespace.create(legacy)
    assert shown["spec"]["resourceClaims"] == made["spec"]["resourceClaims"]
    assert shown["spec"]["containers"][0]["resources"] == made["spec"]["containers"][0]["resources"]
    assert shown["metadata"]["annotations"] == made["metadata"]["annotations"]
    assert named_by(shown) == named_by(made)
    assert template_names(namespace) == set(named_by(made))


def test_a_dry_run_of_a_deletion_takes_nothing_away(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", SHARE))
    allocated = namespace.allocation("p")
    claims, templates = uids_of(namespace.list("ResourceClaim")), uids_of(namespace.list(TEMPLATE))
    said = namespace.kubectl("delete", "pod", "p", "--dry-run=server", check=True)
    assert 'pod "p" deleted' in said.stdout
    assert "server dry run" in said.stdout
    assert namespace.allocation("p") == allocated
    assert uids_of(namespace.list("ResourceClaim")) == claims
    assert uids_of(namespace.list(TEMPLATE)) == templates
    namespace.kubectl("delete", "pod", "p", check=True)
    until_claims(namespace, 0)


def test_a_pod_that_a_quota_refuses_is_accepted_once_there_is_room(namespace: Namespace) -> None:
    legacy = pod("p", SHARE)
    quota.limit(namespace, {quota.PODS: 0})
    refused = namespace.kubectl.create(legacy, check=False)
    assert refused.code == 1
    assert 'pods "p" is forbidden: exceeded quota: quota, requested: count/pods=1' in refused.stderr
    assert namespace.list("ResourceClaim") == []
    quota.limit(namespace, {quota.PODS: 1})
    namespace.kubectl.create(legacy)
    assert namespace.allocation("p").only.memory_mib == 4000
    assert len(template_names(namespace)) == 1


def test_a_pod_that_a_policy_refuses_is_accepted_once_it_complies(namespace: Namespace) -> None:
    with_policy(namespace)
    refused = namespace.kubectl.create(pod("p", SHARE), check=False)
    assert refused.code == 1
    assert "needs the label team" in refused.stderr
    assert namespace.list("Pod") == namespace.list("ResourceClaim") == []
    namespace.kubectl.create(pod("p", SHARE, labels={"team": "red"}))
    assert namespace.allocation("p").only.memory_mib == 4000
    assert len(template_names(namespace)) == 1


def with_policy(namespace: Namespace) -> None:
    """Have the API server refuse pods of the namespace without a label, after all webhooks were asked."""
    name = namespace.name
    policy: JSON = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ],
            },
            "validations": [
                {
                    "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
                    "message": "needs the label team",
                }
            ],
        },
    }
    binding: JSON = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    namespace.create(policy)
    namespace.create(binding)

    def enforced() -> bool:
        try:
            namespace.create(pod("probe"), dry_run=True)
        except ApiError:
            return True
        return False

    wait_for(enforced, "the policy to be enforced", timeout=NOISY_MACHINE_SECONDS)


def test_a_pod_that_was_evicted_may_come_again_under_its_name(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", SHARE))
    first = running(namespace, 1)[0]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": namespace.name}}
    namespace.api.request("POST", f"/api/v1/namespaces/{namespace}/pods/p/eviction", eviction)
    gone(namespace, "p")
    until_claims(namespace, 0)
    namespace.kubectl.apply(pod("p", SHARE))
    (again,) = running(namespace, 1)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert namespace.allocation("p").only.memory_mib == 4000
    until_claims(namespace, 1)


def test_a_name_may_be_deleted_and_used_again_twenty_times_in_a_row(namespace: Namespace) -> None:
    for _ in range(20):
        namespace.create(pod("p", SHARE))
        namespace.api.delete("Pod", "p", namespace.name, gracePeriodSeconds=0)
    last = namespace.create(pod("p", SHARE))
    assert namespace.allocation("p").only.memory_mib == 4000
    until_claims(namespace, 1)
    (claim,) = namespace.list("ResourceClaim")
    assert [owner["uid"] for owner in claim["metadata"]["ownerReferences"]] == [last["metadata"]["uid"]]
    assert len(template_names(namespace)) == 1


def test_a_pod_may_be_replaced_by_force(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("p", SHARE))
    namespace.scheduled("p")
    larger = yaml.safe_dump(pod("p", LARGER))
    namespace.kubectl("replace", "--force", "--grace-period=0", "-f", "-", stdin=larger, check=True)
    assert namespace.allocation("p").only.memory_mib == 6000
    until_claims(namespace, 1)


def test_the_same_name_may_ask_for_something_else_the_next_time(namespace: Namespace) -> None:
    for limits, memory in ((SHARE, 4000), (LARGER, 6000), (SHARE, 4000)):
        namespace.kubectl.apply(pod("p", limits))
        assert namespace.allocation("p").only.memory_mib == memory
        namespace.kubectl("delete", "pod", "p", check=True)
    assert len(template_names(namespace)) == 2


def test_a_pod_that_is_deleted_while_the_webhook_is_down_leaves_nothing(
    start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    webhook = start_webhook()
    namespace.kubectl.apply(pod("p", SHARE))
    namespace.scheduled("p")
    webhook.kill()
    namespace.kubectl("delete", "pod", "p", check=True)
    until_claims(namespace, 0)
    webhook.start()
    namespace.kubectl.apply(pod("p", SHARE))
    assert namespace.allocation("p").only.memory_mib == 4000
    assert len(template_names(namespace)) == 1


def test_a_second_template_that_cannot_be_made_costs_nothing_of_the_first(namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("neighbour", SHARE))
    before = namespace.allocation("neighbour")
    templates = uids_of(namespace.list(TEMPLATE))
    quota.limit(namespace, {quota.TEMPLATES: 1})
    refused = namespace.kubectl.create(pod("p", containers=TWO_SHAPES), check=False)
    assert refused.code == 1
    assert f"exceeded quota: {quota.NAME}, requested: {quota.TEMPLATES}=1, used: {quota.TEMPLATES}=1" in refused.stderr
    assert "ResourceClaimTemplate gpu-1x-6000mi" in refused.stderr
    assert namespace.allocation("neighbour") == before
    assert uids_of(namespace.list(TEMPLATE)) == templates
    quota.limit(namespace, {quota.TEMPLATES: 2})
    namespace.kubectl.create(pod("p", containers=TWO_SHAPES))
    assert sorted(device.memory_mib or 0 for device in namespace.allocation("p").devices) == [4000, 6000]


def test_a_pod_whose_templates_do_not_all_fit_comes_in_once_they_do(namespace: Namespace) -> None:
    quota.limit(namespace, {quota.TEMPLATES: 1})
    for _ in range(3):
        assert "exceeded quota" in namespace.kubectl.create(pod("p", containers=TWO_SHAPES), check=False).stderr
    left = marked(namespace)
    assert len(left) == len(template_names(namespace)) <= 1
    assert namespace.list("Pod") == namespace.list("ResourceClaim") == []
    quota.limit(namespace, {quota.TEMPLATES: 2})
    namespace.kubectl.create(pod("p", containers=TWO_SHAPES))
    assert sorted(device.memory_mib or 0 for device in namespace.allocation("p").devices) == [4000, 6000]
    assert left <= template_names(namespace) == set(named_by(namespace.get("Pod", "p")))


def test_an_exhausted_template_quota_refuses_no_pod_whose_template_is_there(
    webhook: Webhook, namespace: Namespace
) -> None:
    namespace.kubectl.apply(pod("first", SHARE))
    quota.limit(namespace, {quota.TEMPLATES: 1})
    namespace.kubectl.apply(pod("second", SHARE))
    assert namespace.allocation("second").only.memory_mib == 4000
    webhook.restart()
    namespace.kubectl.apply(pod("third", SHARE))
    assert namespace.allocation("third").only.memory_mib == 4000
    assert "exceeded quota" in namespace.kubectl.create(pod("other", LARGER), check=False).stderr


def test_an_exhausted_template_quota_refuses_no_pod_whose_template_somebody_else_wrote(
    webhook: Webhook, namespace: Namespace, new_namespace: Callable[..., Namespace]
) -> None:
    # A template without our mark is looked up only when it is needed, and then the quota speaks first.
    elsewhere = new_namespace()
    (name,) = named_by(elsewhere.create(pod("model", SHARE)))
    model = elsewhere.get(TEMPLATE, name)
    namespace.create({**model, "metadata": {"name": name}})
    quota.limit(namespace, {quota.TEMPLATES: 1})
    before = written(webhook)
    namespace.kubectl.apply(pod("p", SHARE))
    assert namespace.allocation("p").only.memory_mib == 4000
    assert named_by(namespace.get("Pod", "p")) == (name,)
    assert (written(webhook), marked(namespace)) == (before, set())


def test_a_webhook_without_permissions_refuses_with_the_words_of_the_api_server(
    control_plane: ControlPlane, start_webhook: Callable[..., Webhook], namespace: Namespace, tmp_path: Path
) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = namespace.api.request("POST", path, asked)["status"]["token"]
    powerless = tmp_path / "kubeconfig"
    layout = control_plane.layout
    powerless.write_text(yaml.safe_dump(kubeconfig(layout.server, layout.ca, token)))
    start_webhook(kubeconfig=powerless)
    refused = namespace.kubectl.create(pod("p", SHARE), check=False)
    assert refused.code == 1
    assert (
        f'User "system:serviceaccount:{namespace}:default" cannot create resource "resourceclaimtemplates" in API '
        f'group "resource.k8s.io" in the namespace "{namespace}"' in refused.stderr
    )
    assert namespace.list("Pod") == []
    namespace.kubectl.create(pod("plain"))


def test_a_namespace_that_is_being_deleted_takes_no_pod_and_goes_away(webhook: Webhook, namespace: Namespace) -> None:
    namespace.kubectl.apply(pod("last", SHARE, finalizers=["example.com/wait"]))
    namespace.scheduled("last")
    (template,) = template_names(namespace)
    namespace.kubectl("delete", "namespace", namespace.name, "--wait=false", check=True)
    refused = namespace.kubectl.create(pod("late", SHARE), check=False)
    assert "because it is being terminated" in refused.stderr
    verdict = review(webhook, namespace.name, pod("late", LARGER))  # as one that began before the deletion
    assert (verdict.allowed, verdict.code) == (False, 403)
    assert "because it is being terminated" in verdict.message
    # A pod still names the template, but nothing can be put back here, and nobody needs it.
    namespace.api.delete(TEMPLATE, template, namespace.name)
    wait_for(
        lambda: any(line["event"] == "template_not_restored" for line in webhook.logs()),
        "the webhook to give up the template",
        timeout=NOISY_MACHINE_SECONDS,
    )
    namespace.api.patch("Pod", "last", {"metadata": {"finalizers": None}}, namespace.name)
    wait_for(
        lambda: namespace.api.find("Namespace", namespace.name) is None,
        "the namespace to go",
        timeout=NOISY_MACHINE_SECONDS,
        describe=namespace.describe,
    )
