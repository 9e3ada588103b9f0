"""What the chart makes of its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import Settings, load_settings
from tests.chart.helm import CHART, CI, FULL_NAME, NAMESPACE, RELEASE, Helm, Rendered, hook_of
from tests.cluster.testbed.registration import webhook_configuration


@pytest.fixture(scope="module")
def default(helm: Helm) -> Rendered:
    return helm.template()


@pytest.mark.parametrize("values", CI, ids=lambda file: file.stem)
def test_every_set_of_values_passes_the_linter(helm: Helm, values: Path) -> None:
    helm("lint", "--strict", CHART, f"--values={values}")


@pytest.mark.parametrize("values", CI, ids=lambda file: file.stem)
def test_the_server_accepts_the_settings(helm: Helm, values: Path, tmp_path: Path) -> None:
    rendered = helm.template(values)
    config = rendered.one("ConfigMap", FULL_NAME)["data"]["config.yaml"]
    tls = rendered.settings()["server"]["tls"]
    for key in ("certFile", "keyFile"):  # mounted in the pod, absent here
        if key in tls:
            (tmp_path / key).touch()
            config = config.replace(tls[key], str(tmp_path / key))
    (tmp_path / "config.yaml").write_text(config)
    settings = load_settings(tmp_path / "config.yaml")
    assert settings.cluster.namespace == NAMESPACE
    assert settings.policy


@pytest.mark.parametrize("values", CI, ids=lambda file: file.stem)
def test_the_webhooks_are_those_that_the_tests_register(helm: Helm, values: Path) -> None:
    rendered = helm.template(values)
    excluded = (yaml.safe_load(values.read_text()).get("webhook") or {}).get("excludedNamespaces", [])
    expected = webhook_configuration("https://example.com", b"", rendered.settings())["webhooks"]
    for webhook in expected:
        *others, left_out = webhook["namespaceSelector"]["matchExpressions"]
        left_out = left_out | {"values": left_out["values"] + excluded}
        webhook["namespaceSelector"] = {"matchExpressions": [*others, left_out]}
    for webhook in [*rendered.webhooks(), *expected]:
        del webhook["clientConfig"]
    assert rendered.webhooks() == expected


def test_nothing_is_generated_while_rendering(helm: Helm, default: Rendered) -> None:
    assert helm.template().objects == default.objects
    assert not default.one("Secret").keys() & {"data", "stringData"}
    assert all("caBundle" not in webhook["clientConfig"] for webhook in default.webhooks())


def test_replicas_are_replaced_one_by_one_and_spread(default: Rendered) -> None:
    spec = default.one("Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    keys = [constraint["topologyKey"] for constraint in spec["template"]["spec"]["topologySpreadConstraints"]]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


def test_on_the_hosts_network_a_replica_leaves_before_the_next_one_needs_its_ports(helm: Helm) -> None:
    def strategy(replicas: int) -> Any:
        values = {"hostNetwork": True, "replicaCount": replicas, "webhook": {"port": 10260}}
        return helm.template(values).one("Deployment")["spec"]["strategy"]["rollingUpdate"]

    assert strategy(2) == {"maxUnavailable": 1, "maxSurge": 0}
    assert strategy(1) == {"maxUnavailable": 0, "maxSurge": 1}  # else nobody would serve


def test_a_replica_has_time_to_drain_and_to_finish(helm: Helm) -> None:
    spec = helm.template({"settings": {"server": {"drainSeconds": 30.5}}}).one("Deployment")["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] > 30.5 + 5


def test_a_budget_is_made_only_above_one_replica(helm: Helm, default: Rendered) -> None:
    assert default.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert not helm.template({"replicaCount": 1}).of("PodDisruptionBudget")


def test_changed_settings_replace_the_replicas(helm: Helm, default: Rendered) -> None:
    def checksum(rendered: Rendered) -> str:
        text: str = rendered.one("Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
        return text

    assert checksum(helm.template({"settings": {"nodeName": "deny"}})) != checksum(default)
    assert checksum(helm.template({"replicaCount": 3})) == checksum(default)


@pytest.mark.parametrize("values", CI, ids=lambda file: file.stem)
def test_pods_run_as_nobody_on_a_read_only_root_with_an_expiring_token(helm: Helm, values: Path) -> None:
    rendered = helm.template(values)
    pods = [obj["spec"] for obj in rendered.of("Pod")]
    pods += [obj["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for obj in rendered.of(kind)]
    assert len(pods) == 3
    for pod in pods:
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsUser"] == 65532
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
    assert all(account["automountServiceAccountToken"] is False for account in rendered.of("ServiceAccount"))


def test_hooks_are_never_taken_for_replicas(default: Rendered) -> None:
    selector = default.one("Service")["spec"]["selector"].items()
    assert selector <= default.one("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    labels = [pod["metadata"]["labels"] for pod in default.of("Pod")]
    labels += [job["spec"]["template"].get("metadata", {}).get("labels", {}) for job in default.of("Job")]
    assert not any(selector <= of.items() for of in labels)


def test_a_null_binding_reaches_the_server_as_null(helm: Helm) -> None:
    bindings = helm.template({"settings": {"bindings": {"nvidia": {"mig": None}}}}).settings()["bindings"]["nvidia"]
    assert bindings == {"driver": "hami-core-gpu.project-hami.io", "mig": None, "shared": None}


def test_a_driver_profile_is_mounted_and_named(helm: Helm) -> None:
    rendered = helm.template({"driverProfiles": {"site.toml": 'name = "site"\n'}})
    assert rendered.one("ConfigMap", FULL_NAME)["data"]["site.toml"] == 'name = "site"\n'
    assert rendered.settings()["driverProfiles"] == ["/etc/hami-dra-webhook/settings/site.toml"]


def test_an_image_can_be_pinned(helm: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    rendered = helm.template({"image": {"repository": "example.com/webhook", "tag": "1.2.3", "digest": digest}})
    assert rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["image"] == (
        f"example.com/webhook:1.2.3@{digest}"
    )


def test_device_classes_stay_when_the_release_goes(helm: Helm, default: Rendered) -> None:
    assert not default.of("DeviceClass")
    classes = [{"name": "npu.example.com", "expression": 'device.driver == "npu.example.com"'}]
    made = helm.template({"deviceClasses": classes}).one("DeviceClass")
    assert made["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert made["spec"] == {"selectors": [{"cel": {"expression": 'device.driver == "npu.example.com"'}}]}


@pytest.mark.parametrize("mode", ["self-signed", "cert-manager", "provided"])
def test_each_mode_has_one_source_of_the_certificate_and_one_of_its_authority(helm: Helm, mode: str) -> None:
    rendered = helm.template(CHART / "ci" / f"{'default' if mode == 'self-signed' else mode}-values.yaml")
    tls = rendered.settings()["server"]["tls"]
    configuration = rendered.one("MutatingWebhookConfiguration")
    injected = configuration["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
    written = all("caBundle" in webhook["clientConfig"] for webhook in configuration["webhooks"])
    assert tls["mode"] == mode
    assert ("certFile" in tls) == (mode != "self-signed")
    assert bool(rendered.of("Certificate")) == (mode == "cert-manager")
    assert injected == (f"{NAMESPACE}/{FULL_NAME}" if mode == "cert-manager" else None)
    assert written == (mode == "provided")


def test_an_issuer_that_exists_is_used_as_it_is(helm: Helm) -> None:
    rendered = helm.template(CHART / "ci" / "cert-manager-issuer-values.yaml")
    assert not rendered.of("Issuer")
    assert rendered.one("Certificate")["spec"]["issuerRef"]["name"] == "company-ca"


def test_a_network_policy_lets_in_the_two_ports_and_out_the_api_server_only(helm: Helm, default: Rendered) -> None:
    assert not default.of("NetworkPolicy")
    spec = helm.template(CHART / "ci" / "locked-down-values.yaml").one("NetworkPolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert spec["ingress"] == [{"ports": [{"port": "https"}]}, {"ports": [{"port": "ops"}], "from": [monitoring]}]
    assert spec["egress"] == [{"ports": [{"port": 6443, "protocol": "TCP"}]}]


def test_prometheus_finds_the_ops_port_of_the_service(helm: Helm, default: Rendered) -> None:
    assert not default.of("ServiceMonitor")
    rendered = helm.template(CHART / "ci" / "cert-manager-issuer-values.yaml")
    monitor, service = rendered.one("ServiceMonitor")["spec"], rendered.one("Service")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"] == [{"port": "ops", "path": "/metrics", "interval": "30s"}]
    assert "ops" in {port["name"] for port in service["spec"]["ports"]}
    assert rendered.one("PrometheusRule")["metadata"]["labels"]["release"] == "prometheus"


LEAF_SECONDS = Settings().server.tls.leaf_hours * 3600


@pytest.mark.parametrize(
    ("values", "life"),
    [
        ({}, LEAF_SECONDS),
        ({"settings": {"server": {"tls": {"minVersion": "1.2"}}}}, LEAF_SECONDS),
        ({"settings": {"server": {"tls": {"leafHours": 24}}}}, 24 * 3600),
        ({"settings": {"server": {"tls": {"leafHours": 1}}}}, 3600),
        ({"settings": {"server": {"tls": {"leafHours": 240}}}}, 240 * 3600),
        ({"certificates": {"mode": "cert-manager"}}, 2160 * 3600),
        ({"certificates": {"mode": "cert-manager", "certManager": {"duration": "48h"}}}, 48 * 3600),
        ({"certificates": {"mode": "cert-manager", "certManager": {"duration": "1h30m6s"}}}, 5406),
        (yaml.safe_load((CHART / "ci" / "provided-values.yaml").read_text()), 6 * 86400),
    ],
    ids=lambda value: str(value)[:60],
)
def test_the_alert_for_the_certificate_is_silent_where_renewals_work(helm: Helm, values: Any, life: int) -> None:
    monitoring = {"monitoring": {"prometheusRule": {"enabled": True}}}
    (group,) = helm.template(values | monitoring).one("PrometheusRule")["spec"]["groups"]
    (expression,) = [rule["expr"] for rule in group["rules"] if rule["alert"] == "HamiDraWebhookCertificateExpires"]
    left = int(expression.rpartition(" < ")[2])
    assert left == min(86400, life // 6)
    assert left < life / 3  # what is left when it is renewed


def test_the_priority_class_and_the_place_are_those_of_the_values(helm: Helm) -> None:
    rendered = helm.template(CHART / "ci" / "high-availability-values.yaml")
    spec = rendered.one("Deployment")["spec"]["template"]["spec"]
    assert spec["priorityClassName"] == "system-cluster-critical"
    spread = {one["topologyKey"]: one["whenUnsatisfiable"] for one in spec["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname": "DoNotSchedule", "topology.kubernetes.io/zone": "ScheduleAnyway"}
    assert spec["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
def test_a_quota_allows_the_classes_of_the_system_where_they_are_refused_without(helm: Helm, name: str) -> None:
    quota = helm.template({"priorityClassName": name}).one("ResourceQuota")["spec"]
    assert quota["scopeSelector"]["matchExpressions"] == [
        {"scopeName": "PriorityClass", "operator": "In", "values": [name]}
    ]
    assert not helm.template({"priorityClassName": name, "priorityClassQuota": False}).of("ResourceQuota")


def test_other_classes_need_no_quota(helm: Helm, default: Rendered) -> None:
    assert not default.of("ResourceQuota")
    assert not helm.template({"priorityClassName": "gpu-services"}).of("ResourceQuota")


def test_the_release_name_does_not_double(helm: Helm) -> None:
    rendered = helm.template(release="hami-dra-webhook")
    assert rendered.one("Deployment")["metadata"]["name"] == "hami-dra-webhook"


@pytest.mark.parametrize("release", ["a", "gpu", "hami-dra-webhook", "z"])
def test_the_namespace_of_helm_test_is_made_before_what_is_in_it(helm: Helm, release: str) -> None:
    hooks = [obj for obj in helm.template(release=release).objects if hook_of(obj) == "test"]

    def place(obj: dict[str, Any]) -> tuple[int, str]:  # as helm sorts hooks
        return int(obj["metadata"]["annotations"].get("helm.sh/hook-weight", 0)), obj["metadata"]["name"]

    assert next(obj["kind"] for obj in sorted(hooks, key=place)) == "Namespace"


def test_every_object_carries_the_labels_of_its_release(default: Rendered) -> None:
    for obj in default.objects:
        assert obj["metadata"]["labels"]["app.kubernetes.io/instance"] == RELEASE
    assert {obj["kind"] for obj in default.objects if hook_of(obj)} >= {"Job", "Pod", "Namespace"}
