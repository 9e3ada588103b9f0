"""The chart on a real API server: accepted, installed, upgraded, removed, and with just the permissions it needs."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests.chart.account import run_hook
from tests.chart.cluster import apply, remove
from tests.chart.helm import CHART, CI, FULL_NAME, NAMESPACE, RELEASE, Helm, HelmError, Rendered, hook_of
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

JSON = Any

pytestmark = pytest.mark.cluster


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("values", CI, ids=lambda file: file.stem)
def test_the_api_server_accepts_every_object(helm: Helm, control_plane: ControlPlane, api: Api, values: Path) -> None:
    rendered = helm.template(values)
    # A pod is refused, also in a dry run, as long as its account does not exist.
    accounts = rendered.of("ServiceAccount")
    apply(control_plane, accounts)
    said = apply(control_plane, rendered.objects, "--dry-run=server")
    remove(api, accounts)
    assert sum(len(answer.stdout.splitlines()) for answer in said) == len(rendered.objects)
    assert not [warning for answer in said for warning in answer.warnings]


@pytest.mark.usefixtures("crds")
def test_the_api_server_accepts_what_looks_odd_and_the_schema_accepts(
    helm: Helm, control_plane: ControlPlane, api: Api
) -> None:
    expression = {"key": "a", "operator": "In", "values": ["b"]}
    values = {
        "podLabels": {"team": "", "example.com/Team_1.x": "A.b_c", "app.kubernetes.io/part-of": "gpus"},
        "podAnnotations": {"Example.com/owner": "who ever"},
        "monitoring": {"serviceMonitor": {"labels": {"app.kubernetes.io/component": "x"}, "interval": "1m30s"}},
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a", "value": "b"},
            {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
        ],
        "resources": {
            "requests": {"cpu": 0.1, "memory": ".1Gi", "ephemeral-storage": "1e3"},
            "limits": {"cpu": "100m", "memory": "1.E", "ephemeral-storage": "1E"},
        },
        "certificates": {
            "mode": "cert-manager",
            "certManager": {"duration": "1h30m", "issuerRef": {"name": "a.b"}},
        },
        "networkPolicy": {
            "opsFrom": [
                {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
                {"ipBlock": {"cidr": "fd00::/8"}},
                {"podSelector": {"matchExpressions": [expression]}, "namespaceSelector": {}},
            ]
        },
    }
    values["networkPolicy"]["enabled"] = True
    values["monitoring"]["serviceMonitor"]["enabled"] = True
    del api  # its namespaces are there before
    rendered = helm.template(values)
    wanted = [rendered.one(kind) for kind in ("Deployment", "Certificate", "NetworkPolicy", "ServiceMonitor")]
    (said,) = apply(control_plane, wanted, "--dry-run=server")
    assert len(said.stdout.splitlines()) == len(wanted)


def left_over(api: Api) -> set[tuple[str, str]]:
    """Objects of the release that exist."""
    kinds = (
        "Deployment",
        "ReplicaSet",
        "Service",
        "ServiceAccount",
        "ConfigMap",
        "Secret",
        "Lease",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "PodDisruptionBudget",
        "MutatingWebhookConfiguration",
        "Job",
        "Pod",
    )
    selector = f"app.kubernetes.io/instance={RELEASE}"
    return {(kind, obj["metadata"]["name"]) for kind in kinds for obj in api.list(kind, labelSelector=selector)}


def test_an_upgrade_keeps_the_authority_that_the_replicas_wrote(installing: Helm, api: Api) -> None:
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    authority = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()
    configuration = api.get("MutatingWebhookConfiguration", NAME)
    names = [webhook["name"] for webhook in configuration["webhooks"]]
    written = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{"name": name, "clientConfig": {"caBundle": authority}} for name in names],
    }
    manager = {"fieldManager": "hami-dra-webhook", "force": "true"}
    api.patch("MutatingWebhookConfiguration", NAME, written, how="apply", **manager)

    options = (
        "--set=webhook.timeoutSeconds=7",
        "--set=settings.resourceNames.count=example.com/gpu",
        "--set=replicaCount=3",
    )
    installing("upgrade", RELEASE, CHART, f"--namespace={NAMESPACE}", *options)
    webhooks = api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
    assert [webhook["clientConfig"]["caBundle"] for webhook in webhooks] == [authority, authority]
    assert [webhook["timeoutSeconds"] for webhook in webhooks] == [7, 7]
    assert all(
        "example.com/gpu" in webhook["matchConditions"][i]["expression"]
        for i, webhook in zip((0, 2), webhooks, strict=True)
    )
    assert api.get("Deployment", FULL_NAME, NAMESPACE)["spec"]["replicas"] == 3


def test_the_uninstall_hook_removes_the_webhook_and_helm_the_rest(
    installing: Helm, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    hooks = Rendered([obj for obj in yaml.safe_load_all(installing("get", "hooks", RELEASE, "-n", NAMESPACE)) if obj])
    before = [obj for obj in hooks.objects if hook_of(obj) == "pre-delete"]
    apply(control_plane, [obj for obj in before if obj["kind"] != "Job"])
    job = hooks.one("Job", f"{FULL_NAME}-uninstall")["spec"]["template"]["spec"]

    for _ in range(2):  # a Job may run its pod again
        run = run_hook(control_plane, job, NAMESPACE, tmp_path / "account")
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith(f"MutatingWebhookConfiguration {NAME} is gone")
        assert api.find("MutatingWebhookConfiguration", NAME) is None
    remove(api, before)
    installing("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--no-hooks")
    wait_for(lambda: not left_over(api), "nothing to be left", describe=lambda: str(left_over(api)))


def test_the_uninstall_hook_may_remove_nothing_else(
    installing: Helm, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    rendered = installing.template()
    hooks = [obj for obj in rendered.objects if hook_of(obj) == "pre-delete"]
    apply(control_plane, [obj for obj in hooks if obj["kind"] != "Job"])
    job = rendered.one("Job", f"{FULL_NAME}-uninstall")["spec"]["template"]["spec"]
    job["containers"][0]["args"][-1] = "of-somebody-else"
    run = run_hook(control_plane, job, NAMESPACE, tmp_path / "account")
    assert run.returncode == 1
    assert "of-somebody-else was not removed: " in run.stderr
    remove(api, hooks)


def test_a_second_release_is_refused_and_named_the_first(installing: Helm, api: Api) -> None:
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    with pytest.raises(HelmError, match=f"release {RELEASE} in namespace {NAMESPACE} serves this cluster already"):
        installing("install", "second", CHART, "--namespace=elsewhere")
    assert not api.list("Deployment", "elsewhere")


def test_a_namespace_of_somebody_else_is_refused_for_helm_test(installing: Helm, api: Api) -> None:
    message = "helmTest.namespace is elsewhere, which exists, and `helm test` did not make it"
    with pytest.raises(HelmError, match=message):
        installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}", "--set=helmTest.namespace=elsewhere")
    assert not left_over(api)
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    with pytest.raises(HelmError, match=message):
        installing("upgrade", RELEASE, CHART, f"--namespace={NAMESPACE}", "--set=helmTest.namespace=elsewhere")


def test_helm_test_leaves_a_namespace_that_was_made_after_the_installation(installing: Helm, api: Api) -> None:
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}", "--set=helmTest.namespace=later")
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
    with pytest.raises(HelmError, match='namespaces "later" already exists'):
        installing("test", RELEASE, f"--namespace={NAMESPACE}")
    assert "deletionTimestamp" not in api.get("Namespace", "later")["metadata"]


def test_the_notes_say_how_to_switch_it_on_and_how_to_take_it_out_of_the_way(installing: Helm) -> None:
    def notes_for(**settings: JSON) -> str:
        options = ("--dry-run=server", *installing.options({"settings": settings}))
        return installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}", *options).partition("NOTES:")[2]

    notes, page = notes_for(), f"port-forward service/{FULL_NAME} 8080"
    assert "kubectl label namespace NAMESPACE hami.io/dra-webhook=enabled" in notes
    assert "hami-dra-webhook preview" in notes
    assert f"hami-dra-webhook check --namespace {NAMESPACE}" in notes
    assert (page in notes, page in notes_for(preview={"enabled": False})) == (True, False)
    assert f"kubectl delete mutatingwebhookconfiguration {NAME}" in notes
    assert "WARNING" not in notes


@pytest.mark.parametrize(
    ("namespace", "values", "said"),
    [
        ("kube-system", {}, "the namespace is kube-system, whose pods the webhook must not touch"),
        (NAMESPACE, {"hostNetwork": True}, "webhook.port is 10250, which is the kubelet's on every node"),
        (NAMESPACE, {"settings": {"resourceNames": {"migPrefix": "a/[.*"}}}, 'resourceNames.migPrefix is "a/[.*"'),
        (NAMESPACE, {"settings": {"resourceNames": {"count": "gpu"}}}, "at '/settings/resourceNames/count': 'gpu'"),
        (NAMESPACE, {"webhook": {"excludedNamespaces": ["A_b"]}}, "at '/webhook/excludedNamespaces/0': 'A_b'"),
    ],
    ids=["kube-system", "port", "regex", "resource-name", "namespace-name"],
)
def test_refused_values_leave_nothing_half_installed(
    installing: Helm, api: Api, namespace: str, values: JSON, said: str
) -> None:
    with pytest.raises(HelmError, match=re.escape(said)):
        installing("install", RELEASE, CHART, f"--namespace={namespace}", *installing.options(values))
    assert not left_over(api)
    assert not installing("list", "--all", f"--namespace={namespace}", "--short")
