"""Values: documented, the server's defaults, and refused where they cannot work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from app.drivers import load_profiles
from app.preview.documents import MAX_BYTES
from app.preview.jobs import MAX_ANSWER_BYTES
from app.preview.service import MAX_PLACES
from app.settings import Settings
from docs import generate_chart
from tests.chart.helm import CHART, NAMESPACE, Helm, HelmError

JSON = Any
DOCS = CHART.parents[1] / "docs"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_readme_and_schema_are_the_generated_ones() -> None:
    assert (CHART / "README.md").read_text() == generate_chart.readme(), "run: python docs/generate_chart.py"
    assert (CHART / "values.schema.json").read_text() == generate_chart.schema(), "run: python docs/generate_chart.py"


def test_the_settings_that_the_chart_shows_are_the_defaults_of_the_server() -> None:
    defaults = Settings().model_dump(mode="json", by_alias=True)

    def differing(shown: JSON, known: JSON, path: str) -> Iterator[str]:
        for key, value in shown.items():
            if isinstance(value, dict):
                yield from differing(value, known[key], f"{path}.{key}")
            elif value != known[key]:
                yield f"{path}.{key}: {value} is not {known[key]}"

    assert not list(differing(VALUES["settings"], defaults, "settings"))


REVIEWS, WORKER = 128, 80
"""MiB: what is reserved; a worker that knows a cluster and has nothing to do."""
NEEDED = (
    REVIEWS
    + WORKER
    + VALUES["settings"]["preview"]["maxMemoryMiB"]
    + (MAX_PLACES * (MAX_ANSWER_BYTES + MAX_BYTES) >> 20)
)


def limited_to(memory: str | float) -> JSON:
    return {"resources": {"requests": {"memory": 1}, "limits": {"memory": memory}}}


@pytest.mark.parametrize(
    "memory",
    [
        f"{NEEDED}Mi",
        f"{NEEDED * 1024}Ki",
        NEEDED << 20,
        f"{NEEDED << 20}",
        "1Gi",
        "0.7Gi",
        "+.7Gi",
        "1.Ti",
        "1P",
        "1Pi",
        "1E",
        "1Ei",
        "1e9",
        "1E9",
        "75e+7",
        f"{NEEDED << 20}000m",
        f"{NEEDED << 20}000000u",
        "717226k",
        "718M",
        "0.718G",
    ],
)
def test_a_memory_limit_that_holds_reviews_and_as_many_previews_as_are_let_in_is_taken(
    helm: Helm, memory: str | float
) -> None:
    assert VALUES["resources"]["requests"]["memory"] == f"{REVIEWS}Mi"
    helm.template(limited_to(memory))


@pytest.mark.parametrize(
    "memory", [f"{NEEDED - 1}Mi", (NEEDED << 20) - 1, "0.6Gi", "717225k", "717M", "0.717G", "1e8", "1E8", "999999999m"]
)
def test_a_memory_limit_in_which_previews_would_take_reviews_with_them_is_refused(
    helm: Helm, memory: str | float
) -> None:
    preview = VALUES["settings"]["preview"]["maxMemoryMiB"]
    with pytest.raises(HelmError) as refused:
        helm.template(limited_to(memory))
    assert "resources.limits.memory (" in str(refused.value)
    assert f"what settings.preview.maxMemoryMiB ({preview}) needs" in str(refused.value)
    assert f"raise the limit to {NEEDED}Mi" in str(refused.value)
    helm.template(limited_to(memory) | {"settings": {"preview": {"enabled": False}}})


def test_without_a_memory_limit_any_preview_fits(helm: Helm) -> None:
    values = limited_to("1Gi") | {"settings": {"preview": {"maxMemoryMiB": 16384}}}
    with pytest.raises(HelmError, match=r"resources.limits.memory \(1Gi\)"):
        helm.template(values)
    values["resources"]["limits"]["memory"] = None
    helm.template(values)


def test_the_chart_knows_the_profiles_of_the_image() -> None:
    listed = re.search(
        r'"hami-dra-webhook.knownProfiles" -}}\n(.*?){{', (CHART / "templates/_guards.tpl").read_text(), re.DOTALL
    )
    assert listed is not None
    assert set(yaml.safe_load(listed[1])) == set(load_profiles(()))


def test_unknown_keys_are_refused_at_every_level() -> None:
    free = {"global", "nodeAffinity", "podAffinity", "podAntiAffinity"}

    def open_maps(schema: JSON, path: str) -> Iterator[str]:
        if (
            schema.get("type") == "object"
            and "additionalProperties" not in schema
            and path.rsplit(".", maxsplit=1)[-1] not in free
        ):
            yield path
        for key, inner in schema.get("properties", {}).items():
            yield from open_maps(inner, f"{path}.{key}")
        for inner in (schema.get("items"), schema.get("additionalProperties")):
            if isinstance(inner, dict):
                yield from open_maps(inner, path)

    assert not list(open_maps(SCHEMA, "values"))
    assert not [path for name, one in SCHEMA["definitions"].items() for path in open_maps(one, f"definitions.{name}")]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": 2}, "additional properties 'replicas' not allowed"),
        ({"replicaCount": 0}, "at '/replicaCount': minimum: got 0, want 1"),
        ({"image": {"tags": "1"}}, "at '/image': additional properties 'tags' not allowed"),
        ({"image": {"digest": "sha256:abc"}}, "at '/image/digest'"),
        ({"certificates": {"mode": "vault"}}, "at '/certificates/mode': value must be one of 'self-signed'"),
        ({"webhook": {"failurePolicy": "fail"}}, "at '/webhook/failurePolicy': value must be one of 'Fail', 'Ignore'"),
        ({"webhook": {"timeoutSeconds": 31}}, "at '/webhook/timeoutSeconds': maximum: got 31, want 30"),
        ({"webhook": {"port": None}}, "at '/webhook': missing property 'port'"),
        ({"webhook": {"excludedNamespaces": ["Kube_system"]}}, "at '/webhook/excludedNamespaces/0'"),
        ({"settings": {"nodename": "pin"}}, "at '/settings': additional properties 'nodename' not allowed"),
        ({"settings": {"nodeName": "ignore"}}, "at '/settings/nodeName': value must be one of 'pin', 'deny'"),
        ({"settings": {"resourceNames": {"count": "gpu"}}}, "at '/settings/resourceNames/count': 'gpu' does not match"),
        ({"settings": {"resourceNames": {"count": None}}}, "at '/settings/resourceNames': missing property 'count'"),
        ({"settings": {"cluster": {"namespace": "x"}}}, "at '/settings/cluster': additional properties 'namespace'"),
        ({"settings": {"server": {"port": 1}}}, "at '/settings/server': additional properties 'port' not allowed"),
        ({"settings": {"optIn": {"label": "a b"}}}, "at '/settings/optIn/label': 'a b' does not match pattern"),
        ({"driverProfiles": {"site.yaml": "x"}}, "at '/driverProfiles': additional properties 'site.yaml' not allowed"),
        ({"deviceClasses": [{"name": "a.b", "extendedResourceName": "c/d"}]}, "'extendedResourceName' not allowed"),
        ({"tolerations": [{"keys": "x"}]}, "at '/tolerations/0': additional properties 'keys' not allowed"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_value_that_cannot_be_is_named(helm: Helm, values: JSON, message: str) -> None:
    with pytest.raises(HelmError, match=re.escape(message)):
        helm.template(values)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"settings": {"optIn": {"value": "a b"}}}, "/settings/optIn/value"),
        ({"settings": {"optIn": {"value": ""}}}, "/settings/optIn/value"),
        ({"settings": {"optIn": {"label": "a..b/c"}}}, "/settings/optIn/label"),
        ({"settings": {"resourceNames": {"count": "a.-b/gpu"}}}, "/settings/resourceNames/count"),
        ({"podLabels": {"team name": "x"}}, "/podLabels"),
        ({"podLabels": {"a..b/c": "x"}}, "/podLabels"),
        ({"podLabels": {"team": "a b"}}, "/podLabels/team"),
        ({"podAnnotations": {"a/b/c": "x"}}, "/podAnnotations"),
        ({"webhook": {"annotations": {"a b": "x"}}}, "/webhook/annotations"),
        ({"serviceAccount": {"annotations": {"a b": "x"}}}, "/serviceAccount/annotations"),
        ({"monitoring": {"serviceMonitor": {"labels": {"a b": "x"}}}}, "/monitoring/serviceMonitor/labels"),
        ({"monitoring": {"serviceMonitor": {"interval": "30s1m"}}}, "/monitoring/serviceMonitor/interval"),
        ({"monitoring": {"prometheusRule": {"labels": {"a b": "x"}}}}, "/monitoring/prometheusRule/labels"),
        ({"monitoring": {"dashboard": {"labels": {"a b": "x"}}}}, "/monitoring/dashboard/labels"),
        ({"nodeSelector": {"a b": "x"}}, "/nodeSelector"),
        ({"nodeSelector": {"a": "x y"}}, "/nodeSelector/a"),
        ({"tolerations": [{"key": "a b", "operator": "Exists"}]}, "/tolerations/0/key"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "/tolerations/0/value"),
        ({"tolerations": [{"value": "b"}]}, "/tolerations/0"),
        ({"tolerations": [{"operator": "Exists", "tolerationSeconds": 5}]}, "/tolerations/0"),
        ({"resources": {"limits": {"memory": "lots"}}}, "/resources/limits/memory"),
        ({"resources": {"limits": {"memory": "1e3Mi"}}}, "/resources/limits/memory"),
        ({"resources": {"limits": {"memory": "-1Gi"}}}, "/resources/limits/memory"),
        ({"resources": {"limits": {"cpu": -1}}}, "/resources/limits/cpu"),
        ({"resources": {"limits": {"cpus": 1}}}, "/resources/limits"),
        ({"resources": {"requests": {"example.com/x": 1}}}, "/resources/requests"),
        ({"priorityClassName": "a..b"}, "/priorityClassName"),
        ({"serviceAccount": {"name": "a.-b"}}, "/serviceAccount/name"),
        ({"imagePullSecrets": [{"name": ""}]}, "/imagePullSecrets/0/name"),
        ({"certificates": {"clusterDomain": "a..b"}}, "/certificates/clusterDomain"),
        ({"certificates": {"certManager": {"duration": "abc"}}}, "/certificates/certManager/duration"),
        ({"certificates": {"certManager": {"duration": "9999999h"}}}, "/certificates/certManager/duration"),
        ({"certificates": {"certManager": {"issuerRef": {"kind": "Issuer"}}}}, "/certificates/certManager/issuerRef"),
        (
            {"certificates": {"certManager": {"issuerRef": {"name": "a", "kind": "issuer"}}}},
            "/certificates/certManager/issuerRef/kind",
        ),
        ({"certificates": {"provided": {"secretName": "a..b"}}}, "/certificates/provided/secretName"),
        ({"deviceClasses": [{"name": "a..b", "expression": "true"}]}, "/deviceClasses/0/name"),
        ({"driverProfiles": {"..site.toml": "x"}}, "/driverProfiles"),
        ({"networkPolicy": {"opsFrom": [{}]}}, "/networkPolicy/opsFrom/0"),
        ({"networkPolicy": {"opsFrom": [{"ipBlock": {"cidr": "10.0.0.0"}}]}}, "/networkPolicy/opsFrom/0/ipBlock/cidr"),
        (
            {"networkPolicy": {"opsFrom": [{"ipBlock": {"cidr": "10.0.0.0/33"}}]}},
            "/networkPolicy/opsFrom/0/ipBlock/cidr",
        ),
        (
            {"networkPolicy": {"opsFrom": [{"ipBlock": {"cidr": "::1/64"}, "podSelector": {}}]}},
            "/networkPolicy/opsFrom/0",
        ),
        (
            {"networkPolicy": {"opsFrom": [{"podSelector": {"matchLabels": {"a": "b c"}}}]}},
            "/networkPolicy/opsFrom/0/podSelector/matchLabels/a",
        ),
        (
            {"networkPolicy": {"opsFrom": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}},
            "/networkPolicy/opsFrom/0/podSelector/matchExpressions/0",
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_only_the_api_server_would_refuse_leaves_nothing_half_installed(
    helm: Helm, values: JSON, place: str
) -> None:
    with pytest.raises(HelmError, match=f"at '{re.escape(place)}': "):
        helm.template(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"certificates": {"mode": "provided"}}, "certificates.provided.secretName is empty: name the TLS Secret"),
        (
            {"certificates": {"mode": "provided", "provided": {"secretName": "a", "caBundle": "bm90IFBFTQ=="}}},
            "certificates.provided.caBundle holds no PEM certificate",
        ),
        (
            {"certificates": {"provided": {"secretName": "a"}}},
            "certificates.mode is self-signed: set the mode to provided",
        ),
        ({"certificates": {"certManager": {"issuerRef": {"name": "a"}}}}, "set the mode to cert-manager"),
        (
            {"settings": {"resourceNames": {"cores": "nvidia.com/gpu"}}},
            "settings.resourceNames.count and .cores are both nvidia.com/gpu",
        ),
        ({"settings": {"resourceNames": {"migPrefix": "mig-"}}}, 'settings.resourceNames.migPrefix is "mig-"'),
        ({"settings": {"resourceNames": {"migPrefix": "a/[.*"}}}, 'settings.resourceNames.migPrefix is "a/[.*"'),
        ({"settings": {"resourceNames": {"sharedSuffix": "shared"}}}, 'sharedSuffix is "shared": start it with a dot'),
        ({"helmTest": {"namespace": "hami-dra-webhook"}}, "helmTest.namespace is hami-dra-webhook, but `helm test`"),
        ({"fullnameOverride": "my.webhook"}, "the name of the objects would be my.webhook, which no Service can have"),
        ({"podLabels": {"app.kubernetes.io/component": "x"}}, "podLabels has app.kubernetes.io/component, which"),
        ({"podLabels": {"app.kubernetes.io/instance": "x"}}, "podLabels has app.kubernetes.io/instance, which"),
        ({"podAnnotations": {"checksum/settings": "x"}}, "podAnnotations has checksum/settings, which this chart sets"),
        (
            {"monitoring": {"dashboard": {"labels": {"helm.sh/chart": "x"}}}},
            "monitoring.dashboard.labels has helm.sh/chart, which this chart sets itself",
        ),
        (
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "900m"}}},
            "resources.requests.cpu (1) is above resources.limits.cpu (900m)",
        ),
        ({"certificates": {"certManager": {"duration": "59m59s"}}}, "certificates.certManager.duration is 59m59s"),
        (
            {"deviceClasses": [{"name": "a.b", "expression": "true"}, {"name": "a.b", "expression": "false"}]},
            "deviceClasses names a.b twice",
        ),
        ({"helmTest": {"namespace": "default"}}, "helmTest.namespace is default, but `helm test` makes that namespace"),
        (
            {"helmTest": {"namespace": "a"}, "webhook": {"excludedNamespaces": ["a"]}},
            "helmTest.namespace is a, which webhook.excludedNamespaces keeps from opting in",
        ),
        ({"webhook": {"timeoutSeconds": 2}}, "settings.cluster.requestTimeoutSeconds (2) is not below"),
        ({"webhook": {"opsPort": 10250}}, "webhook.port and webhook.opsPort are both 10250"),
        ({"hostNetwork": True}, "webhook.port is 10250, which is the kubelet's on every node"),
        ({"serviceAccount": {"create": False}}, "name the one that exists in serviceAccount.name"),
        (
            {"settings": {"bindings": {"nvidia": {"driver": "gpu"}}}},
            "settings.bindings.nvidia.driver is gpu, and there is",
        ),
        (
            {"deviceClasses": [{"name": "gpu.nvidia.com", "expression": "true"}]},
            "deviceClasses names gpu.nvidia.com, which the chart of its driver makes",
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_values_that_cannot_work_together_are_refused_with_what_to_change(
    helm: Helm, values: JSON, message: str
) -> None:
    with pytest.raises(HelmError, match=re.escape(message)):
        helm.template(values)


@pytest.mark.parametrize(("version", "refused"), [("1.36.0", False), ("1.35.4", True)])
def test_a_name_may_begin_with_a_digit_where_services_may(helm: Helm, version: str, refused: bool) -> None:
    arguments = ("template", "1e3", CHART, f"--namespace={NAMESPACE}", f"--kube-version={version}")
    if refused:
        with pytest.raises(HelmError, match="would be 1e3-hami-dra-webhook, which no Service can have"):
            helm(*arguments)
    else:
        assert "name: 1e3-hami-dra-webhook" in helm(*arguments)


def strings(node: JSON, keys: frozenset[str], path: str = "") -> Iterator[tuple[str, JSON]]:
    """What stands at these keys, and every label."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if (key in keys and not isinstance(value, dict)) or path.endswith(("abels", "nodeSelector")):
            yield f"{path}.{key}", value
        yield from strings(value, keys, f"{path}.{key}")


@pytest.mark.parametrize("mode", ["self-signed", "cert-manager", "provided"])
def test_names_that_yaml_takes_for_something_else_stay_names(helm: Helm, mode: str) -> None:
    authority = "-----BEGIN CERTIFICATE-----"
    values = {
        "nameOverride": "1",
        "fullnameOverride": "null",
        "priorityClassName": "2",
        "podLabels": {"a": "3"},
        "nodeSelector": {"a": "4"},
        "imagePullSecrets": [{"name": "5"}],
        "serviceAccount": {"name": "6"},
        "helmTest": {"namespace": "7"},
        "deviceClasses": [{"name": "8", "expression": "true"}],
        "monitoring": {key: {"enabled": True} for key in ("serviceMonitor", "prometheusRule", "dashboard")},
        "networkPolicy": {"enabled": True},
        "certificates": {"mode": mode}
        | ({"provided": {"secretName": "9", "caBundle": authority}} if mode == "provided" else {}),
    }
    rendered = helm.template(values, namespace="123", release="1e3")
    keys = frozenset({"name", "namespace", "serviceAccountName", "priorityClassName", "secretName"})
    found = [one for obj in rendered.objects for one in strings(obj, keys, obj["kind"])]
    assert [(path, value) for path, value in found if not isinstance(value, str)] == []
    assert {"1", "null", "2", "3", "4", "5", "6", "7", "8", "123", "1e3"} <= {value for _, value in found}


@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease"])
def test_a_namespace_whose_pods_must_not_be_touched_is_refused(helm: Helm, namespace: str) -> None:
    with pytest.raises(HelmError, match=f"the namespace is {namespace}, whose pods the webhook must not touch"):
        helm.template(namespace=namespace)


def test_all_problems_are_told_at_once(helm: Helm) -> None:
    with pytest.raises(HelmError) as refused:
        helm.template({"hostNetwork": True, "serviceAccount": {"create": False}}, namespace="kube-system")
    assert str(refused.value).count("\n  - ") == 3


def test_a_site_profile_may_have_any_name(helm: Helm) -> None:
    values = {
        "driverProfiles": {"site.toml": "…"},
        "settings": {"bindings": {"nvidia": {"driver": "site.example.com"}}},
    }
    assert helm.template(values).settings()["bindings"]["nvidia"]["driver"] == "site.example.com"


def test_as_part_of_an_umbrella_chart_it_takes_global_values(helm: Helm) -> None:
    assert helm.template({"global": {"registry": "example.com"}}).of("Deployment")


@pytest.mark.parametrize("file", ["files/alerts.yaml", "files/dashboard.json"])
def test_alerts_and_dashboard_ask_for_metrics_that_exist(file: str) -> None:
    known = set(re.findall(r"^\| `(\w+)`", (DOCS / "metrics.md").read_text(), re.MULTILINE))
    named = set(re.findall(r"\b(?:hami_dra_webhook|process)_\w+", (CHART / file).read_text()))
    assert named
    assert {re.sub("_(bucket|count|sum)$", "", name) for name in named} <= known
