"""What ``check`` knows of the chart is what the chart renders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.check.health.grants import grants
from app.check.health.live import legacy_pod
from app.settings import Settings
from tests.chart.helm import FULL_NAME, Helm, Rendered

JSON = Any
Rule = tuple[str, str, str, str, bool]
"""Group, resource, verb, name, only in the own namespace."""
PROVIDED = {
    "certificates": {"mode": "provided", "provided": {"secretName": "tls", "caBundle": "-----BEGIN CERTIFICATE-----"}}
}


def rules(rendered: Rendered) -> Iterator[Rule]:
    """Every single permission of the replicas' roles."""
    for kind in ("ClusterRole", "Role"):
        for rule in rendered.one(kind)["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield group, resource, verb, name, kind == "Role"


@pytest.mark.parametrize("values", [{}, PROVIDED], ids=["self-signed", "provided"])
def test_check_asks_for_exactly_the_permissions_that_the_chart_grants(helm: Helm, values: JSON) -> None:
    rendered = helm.template(values)
    settings = Settings.model_validate(rendered.settings())
    asked = {
        (grant.group, grant.resource, verb, grant.name, grant.own_namespace)
        for grant in grants(settings.server.tls, self_signed=not values)
        for verb in grant.verbs
    }
    assert asked == set(rules(rendered))


@pytest.mark.parametrize(
    "settings",
    [{}, {"wholeGpu": "native"}, {"resourceNames": {"count": "example.com/gpu"}, "schedulers": {"legacy": ""}}],
    ids=["defaults", "native", "renamed"],
)
def test_check_tries_the_pod_that_helm_test_tries(helm: Helm, settings: JSON) -> None:
    rendered = helm.template({"settings": settings})
    (container,) = rendered.one("Pod", f"{FULL_NAME}-test")["spec"]["containers"]
    assert legacy_pod(Settings.model_validate(rendered.settings())) == json.loads(container["args"][-1])
