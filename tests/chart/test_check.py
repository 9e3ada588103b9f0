"""``check`` on a real installation: all is well; then one thing breaks, its line says so, and its advice repairs it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import pytest
import trustme

from app.check.health.run import CHECKS, LAST
from tests.chart.account import kubeconfig_of
from tests.chart.check_kit import Answer, Installed, run_check
from tests.chart.cluster import point_at
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, RELEASE, Helm
from tests.chart.replica import Replica
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import HAMI_CLASSES, load
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

JSON = Any

pytestmark = pytest.mark.cluster

TEAM = "team-of-the-check"
LABEL = "hami.io/dra-webhook"
CLASS = "hami-core-gpu.project-hami.io"


def scheduler_pod(version: str) -> JSON:
    """What kubeadm's static pod looks like; the real scheduler here is a process that no API shows."""
    labels = {"component": "kube-scheduler", "tier": "control-plane"}
    container = {"name": "kube-scheduler", "image": f"example.org/kube-scheduler:v{version}"}
    return pod("kube-scheduler-control", containers=[container], labels=labels)


@pytest.fixture(scope="module")
def healthy(
    helm: Helm, control_plane: ControlPlane, api: Api, hardware: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """A release with two replicas, an opted-in namespace, and a scheduler that can be seen; each test repairs it."""
    del hardware  # the replicas read it when they start
    reaching = replace(helm, kubeconfig=control_plane.kubeconfig)
    reaching("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    rendered = reaching.template()
    folder = tmp_path_factory.mktemp("check")
    replicas = [
        Replica(control_plane, rendered, f"checked-{i}", folder / f"checked-{i}", check_seconds=10) for i in range(2)
    ]
    point_at(api, replicas[0].url)
    for one in replicas:
        one.start()
    for one in replicas:
        one.wait_ready()
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM, "labels": {LABEL: "enabled"}}})
    wait_for(lambda: api.find("ServiceAccount", "default", TEAM), "the ServiceAccount of the namespace")
    wait_for(lambda: api.find("ServiceAccount", "default", "kube-system"), "the ServiceAccount of kube-system")
    api.create(scheduler_pod(control_plane.scheduler_version), "kube-system")
    made = Installed(control_plane, reaching, replicas)
    made.settle()
    wait_for(
        lambda: (api.find("Lease", "hami-dra-webhook-sweeper", NAMESPACE) or {}).get("spec"), "the sweeper's Lease"
    )
    yield made
    for one in replicas:
        one.stop()
    reaching("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--no-hooks")
    api.delete("Pod", "kube-scheduler-control", "kube-system", gracePeriodSeconds=0)
    api.delete("Namespace", TEAM)


def test_a_healthy_installation_is_ok_in_every_line(healthy: Installed) -> None:
    answer = healthy.check()
    assert (answer.code, answer.states("warn", "fail", "unknown")) == (0, set()), answer.text
    lines = answer.lines
    assert {name: line["found"] for name, line in lines.items() if name not in ("ca-bundle", "certificate")} == {
        "api-server": f"Kubernetes {healthy.control_plane.version} serves resource.k8s.io/v1",
        "claim-fields": "capacity, distinctAttribute, firstAvailable are kept",
        "scheduler": "kube-scheduler 1.36",
        "device-classes": f"{CLASS}; mig-* keys stay, since mig.nvidia.com does not exist (S46)",
        "extended-resource": f"nvidia.com/gpu by {CLASS}",
        "resource-slices": f"{CLASS}: 4 devices on 1 node",
        "settings": f"ConfigMap {NAMESPACE}/{FULL_NAME}",
        "replicas": f"2 of 2 ready in Deployment {NAMESPACE}/{FULL_NAME}",
        "versions": f"replicas are {package_version('hami-dra-webhook')}",
        "disruption-budget": f"PodDisruptionBudget {FULL_NAME}",
        "permissions": f"ServiceAccount {NAMESPACE}/{FULL_NAME} has all 17",
        "webhook": f"{NAME}: convert.dra-webhook.hami.io, reapply.dra-webhook.hami.io",
        "opt-in-label": f"{LABEL}=enabled",
        "match-conditions": "pods with nvidia.com/gpu and 6 more names reach the webhook",
        "later-webhooks": f"no webhook on pods is sorted after {NAME}",
        "namespaces": f"1 opted in: {TEAM}",
        "excluded-namespaces": "no opted-in namespace is left out",
        "templates": "0 made by the webhook",
        "sweeper": lines["sweeper"]["found"],
        "live-test": f"a dry run in namespace {TEAM} came back with a claim",
        "your-rights": "everything could be read",
    }
    assert lines["ca-bundle"]["found"] == f"verified by connecting to 127.0.0.1:{healthy.replicas[0].port}"
    assert lines["sweeper"]["found"].startswith("held by ")


def broken(healthy: Installed, name: str, state: str, *, also: tuple[str, ...] = ()) -> JSON:
    """The line of a check that is in this state, while all others but ``also`` are fine."""
    return line_of(healthy.check(), name, state, also=also)


def line_of(answer: Answer, name: str, state: str, *, also: tuple[str, ...] = ()) -> JSON:
    """The same of an answer."""
    assert answer.states("warn", "fail") - {name} <= set(also), answer.text
    assert answer.lines[name]["state"] == state, answer.text
    assert answer.code == (1 if answer.states("fail") else 0)
    return answer.lines[name]


def repaired(healthy: Installed, advice: str) -> None:
    """Following the advice makes everything fine again."""
    healthy.follow(advice)
    assert_fine(healthy)


def assert_fine(healthy: Installed) -> None:
    """Every line is fine, or soon will be."""
    wait_for(
        lambda: healthy.check().states("ok") == {*CHECKS, LAST},
        "everything to be fine again",
        timeout=30,
        describe=lambda: healthy.check().text,
    )


def test_a_deleted_class(healthy: Installed) -> None:
    healthy.api.delete("DeviceClass", CLASS)
    line = broken(healthy, "device-classes", "fail", also=("live-test",))
    assert line["found"] == f"DeviceClass {CLASS} does not exist"
    assert line["fix"].startswith("install HAMi k8s-dra-driver, whose chart makes the class")
    for one in load(HAMI_CLASSES):
        healthy.api.create(one)
    assert_fine(healthy)


def test_a_foreign_authority_in_the_bundle(healthy: Installed) -> None:
    foreign = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()

    def seen() -> Answer | None:
        """What is said of it, unless a replica repairs it before anybody looks."""
        configuration = healthy.api.get("MutatingWebhookConfiguration", NAME)
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = foreign
        try:
            healthy.api.request("PUT", healthy.api.resource(configuration).path(NAME), configuration)
        except ApiError:  # a replica has repaired it in this very moment
            return None
        answer = healthy.check()
        return answer if "ca-bundle" in answer.states("fail") else None

    line = line_of(wait_for(seen, "the bundle to be seen", timeout=60), "ca-bundle", "fail", also=("live-test",))
    assert line["found"].startswith(f"an API server does not trust 127.0.0.1:{healthy.replicas[0].port}: ")
    assert line["fix"] == f"kubectl --namespace {NAMESPACE} rollout restart deployment/{FULL_NAME}"
    repaired(healthy, line["fix"])


def change_entry(api: Api, change: Callable[[JSON], None]) -> None:
    """Change the entry that is asked about new pods, as somebody would by hand."""
    configuration = api.get("MutatingWebhookConfiguration", NAME)
    change(configuration["webhooks"][0])
    api.request("PUT", api.resource(configuration).path(NAME), configuration)


def test_another_label_than_that_of_the_settings(healthy: Installed) -> None:
    def other(entry: JSON) -> None:
        entry["namespaceSelector"]["matchExpressions"][0]["values"] = ["on"]

    change_entry(healthy.api, other)
    line = broken(healthy, "opt-in-label", "fail", also=("live-test",))
    assert line["found"] == f"convert.dra-webhook.hami.io is not asked about namespaces with {LABEL}=enabled"
    repaired(healthy, line["fix"])


def test_a_resource_name_that_the_conditions_forgot(healthy: Installed) -> None:
    def forget(entry: JSON) -> None:
        condition = entry["matchConditions"][0]
        condition["expression"] = condition["expression"].replace('"nvidia.com/gpumem"', '"example.com/gpumem"')

    change_entry(healthy.api, forget)
    line = broken(healthy, "match-conditions", "fail")
    assert line["found"] == "convert.dra-webhook.hami.io is not asked about pods with nvidia.com/gpumem"
    repaired(healthy, line["fix"])


def test_no_configuration_at_all(healthy: Installed) -> None:
    healthy.api.delete("MutatingWebhookConfiguration", NAME)
    line = broken(healthy, "webhook", "fail", also=("live-test",))
    assert line["found"] == f"MutatingWebhookConfiguration {NAME} does not exist"
    repaired(healthy, line["fix"])


def test_no_replicas(healthy: Installed) -> None:
    healthy.control_plane.kubectl("scale", f"deployment/{FULL_NAME}", "--replicas=0", f"-n={NAMESPACE}", check=True)
    wait_for(
        lambda: not healthy.api.get("Deployment", FULL_NAME, NAMESPACE)["status"].get("replicas"), "the pods to go"
    )
    line = broken(healthy, "replicas", "fail")
    assert line["found"] == f"0 of 0 ready in Deployment {NAMESPACE}/{FULL_NAME}"
    assert line["fix"] == f"kubectl --namespace {NAMESPACE} scale deployment/{FULL_NAME} --replicas=2"
    repaired(healthy, line["fix"])


def test_no_namespace_that_opted_in(healthy: Installed) -> None:
    healthy.api.patch("Namespace", TEAM, {"metadata": {"labels": {LABEL: None}}})
    line = broken(healthy, "namespaces", "warn")
    assert line["found"] == "no namespace opted in"
    repaired(healthy, line["fix"].replace("NAMESPACE", TEAM))


def test_a_value_of_the_label_that_opts_nobody_in(healthy: Installed) -> None:
    healthy.api.patch("Namespace", TEAM, {"metadata": {"labels": {LABEL: "true"}}})
    line = broken(healthy, "namespaces", "warn")
    assert line["found"] == f"0 opted in; {TEAM} with another value of {LABEL}"
    repaired(healthy, line["fix"])


def test_an_opted_in_namespace_that_is_left_out(healthy: Installed) -> None:
    healthy.api.patch("Namespace", NAMESPACE, {"metadata": {"labels": {LABEL: "enabled"}}})
    line = broken(healthy, "excluded-namespaces", "warn")
    assert line["found"] == f"{NAMESPACE} opted in and left out"
    repaired(healthy, line["fix"])


def test_roles_that_are_not_bound(healthy: Installed) -> None:
    healthy.api.delete("ClusterRoleBinding", f"{NAMESPACE}:{FULL_NAME}")
    line = broken(healthy, "permissions", "fail")
    assert f"{FULL_NAME} may not get resourceclaimtemplates, list resourceclaimtemplates, " in line["found"]
    repaired(healthy, line["fix"])


def test_no_disruption_budget(healthy: Installed) -> None:
    healthy.api.delete("PodDisruptionBudget", FULL_NAME, NAMESPACE)
    repaired(healthy, broken(healthy, "disruption-budget", "warn")["fix"])


def test_an_older_scheduler(healthy: Installed) -> None:
    def show(version: str) -> None:
        healthy.api.delete("Pod", "kube-scheduler-control", "kube-system", gracePeriodSeconds=0)
        healthy.api.create(scheduler_pod(version), "kube-system")

    show("1.35.4")
    line = broken(healthy, "scheduler", "fail")
    assert (line["found"], line["reason"]) == (
        "kube-scheduler 1.35",
        "the webhook writes claims as 1.36 reads them (S37)",
    )
    healthy.follow(line["fix"])
    gate = broken(healthy, "scheduler", "fail")
    assert gate["reason"] == "its feature gate DRAConsumableCapacity is off, so shares of cards are not counted"
    show(healthy.control_plane.scheduler_version)
    line = broken(healthy, "scheduler", "warn")
    assert line["reason"] == "settings.schedulerVersion says 1.35, which costs speed (S37)"
    repaired(healthy, line["fix"])


def test_a_viewer_learns_what_a_viewer_may_see_and_what_could_not_be_read(healthy: Installed, tmp_path: Path) -> None:
    api = healthy.api
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}}, "default")
    api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "viewer-of-the-check"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
        }
    )
    kubeconfig = kubeconfig_of(healthy.control_plane, "viewer", "default", tmp_path / "viewer")
    wait_for(lambda: "replicas" not in run_check(kubeconfig).states("unknown"), "the viewer's rights", timeout=30)
    answer = run_check(kubeconfig)
    api.delete("ClusterRoleBinding", "viewer-of-the-check")
    api.delete("ServiceAccount", "viewer", "default")
    assert answer.code == 0, answer.text
    assert answer.states("warn", "fail") == set(), answer.text
    assert answer.states("ok") == {
        "api-server",
        "scheduler",
        "settings",
        "replicas",
        "versions",
        "disruption-budget",
        "namespaces",
        "excluded-namespaces",
        "templates",
    }
    assert answer.lines["your-rights"]["found"] == (
        f"not permitted, or no answer: deviceclasses, leases in {NAMESPACE}, mutatingwebhookconfigurations, "
        f"pods in {TEAM}, resourceclaimtemplates in default, resourceslices, subjectaccessreviews"
    )


def test_inside_of_a_replica_its_account_sees_what_the_replicas_live_on(healthy: Installed) -> None:
    run = healthy.replicas[0].execute("check", "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    states = {line["name"]: line["state"] for line in json.loads(run.stdout)["checks"]}
    assert {name for name, state in states.items() if state == "ok"} == {
        "api-server",
        "claim-fields",
        "scheduler",
        "device-classes",
        "extended-resource",
        "resource-slices",
        "settings",
        "webhook",
        "opt-in-label",
        "match-conditions",
        "ca-bundle",
        "certificate",
        "templates",
        "sweeper",
    }
    assert set(states.values()) == {"ok", "unknown"}
