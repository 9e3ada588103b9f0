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
from tests.chart.helm import CHART, Helm, HelmError

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


def test_the_memory_limit_holds_reviews_and_as_many_previews_as_are_let_in() -> None:
    reviews, worker = 128, 80  # MiB: what is reserved; a worker that knows a cluster and has nothing to do
    held = MAX_PLACES * (MAX_ANSWER_BYTES + MAX_BYTES) >> 20
    preview = VALUES["settings"]["preview"]["maxMemoryMiB"]
    assert reviews == int(VALUES["resources"]["requests"]["memory"].removesuffix("Mi"))
    assert int(VALUES["resources"]["limits"]["memory"].removesuffix("Mi")) >= reviews + worker + preview + held


def test_the_chart_knows_the_profiles_of_the_image() -> None:
    listed = re.search(
        r'"hami-dra-webhook.knownProfiles" -}}\n(.*?){{', (CHART / "templates/_guards.tpl").read_text(), re.DOTALL
    )
    assert listed is not None
    assert set(yaml.safe_load(listed[1])) == set(load_profiles(()))


def test_unknown_keys_are_refused_at_every_level() -> None:
    free = {"global", "nodeAffinity", "podAffinity", "podAntiAffinity", "podSelector", "namespaceSelector", "ipBlock"}

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
