"""What check says of the MutatingWebhookConfiguration."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.health.finding import Finding, State, ok
from app.check.health.registration import later_webhooks, match_conditions, opt_in_label, webhook
from app.check.health.selectors import selects
from tests.check.kit import HELM, Cluster, healthy, line

JSON = Any
NAME = "zz-hami-dra-webhook"
RENAMED = {
    "resourceNames": {"count": "example.com/vgpu", "migPrefix": "example.com/mig-"},
    "optIn": {"label": "example.com/gpu", "value": "on"},
}


def entry(cluster: Cluster) -> JSON:
    """The entry that is asked about new pods."""
    return cluster.one("mutatingwebhookconfigurations", NAME)["webhooks"][0]


@pytest.mark.parametrize("settings", [{}, RENAMED])
async def test_a_configuration_that_fits_the_settings_is_fine(settings: JSON) -> None:
    cluster = healthy(settings)
    assert await line(webhook, cluster) == ok(f"{NAME}: convert.dra-webhook.hami.io, reapply.dra-webhook.hami.io")
    label = "example.com/gpu=on" if settings else "hami.io/dra-webhook=enabled"
    assert await line(opt_in_label, cluster) == ok(label)
    count = "example.com/vgpu" if settings else "nvidia.com/gpu"
    assert await line(match_conditions, cluster) == ok(f"pods with {count} and 6 more names reach the webhook")


async def test_a_missing_configuration_is_one_fault_and_the_rest_is_unknown() -> None:
    cluster = healthy()
    cluster.remove("mutatingwebhookconfigurations", NAME)
    assert await line(webhook, cluster) == Finding(
        State.FAIL, f"MutatingWebhookConfiguration {NAME} does not exist", "no pod is converted anywhere", HELM
    )
    for check in (opt_in_label, match_conditions):
        found = await line(check, cluster)
        assert (found.state, found.found) == (
            State.UNKNOWN,
            f"not looked at: {NAME} is not there, or is not asked about new pods",
        )


async def test_rules_that_forgot_new_pods_are_a_fault() -> None:
    cluster = healthy()
    entry(cluster)["rules"][0]["operations"] = ["DELETE"]
    found = await line(webhook, cluster)
    assert (found.state, found.found) == (State.FAIL, f"{NAME} is not asked about new pods")


async def test_rules_that_forgot_updates_are_a_warning() -> None:
    cluster = healthy()
    del cluster.one("mutatingwebhookconfigurations", NAME)["webhooks"][1]
    found = await line(webhook, cluster)
    assert (found.state, found.found) == (State.WARN, f"{NAME} is not asked about updates of pods")


@pytest.mark.parametrize(
    ("field", "value", "found", "fix"),
    [
        ("failurePolicy", "Ignore", "has failurePolicy Ignore", f"{HELM} --set webhook.failurePolicy=Fail"),
        ("reinvocationPolicy", "Never", "has reinvocationPolicy Never", HELM),
        ("timeoutSeconds", 2, "has timeoutSeconds 2", f"{HELM} --set webhook.timeoutSeconds=5"),
    ],
)
async def test_a_policy_that_works_less_well_is_a_warning(field: str, value: JSON, found: str, fix: str) -> None:
    cluster = healthy()
    entry(cluster)[field] = value
    said = await line(webhook, cluster)
    assert (said.state, said.found, said.fix) == (State.WARN, f"convert.dra-webhook.hami.io {found}", fix)


async def test_another_label_than_that_of_the_settings_is_a_fault() -> None:
    cluster = healthy()
    entry(cluster)["namespaceSelector"]["matchExpressions"][0]["key"] = "example.com/gpu"
    assert await line(opt_in_label, cluster) == Finding(
        State.FAIL,
        "convert.dra-webhook.hami.io is not asked about namespaces with hami.io/dra-webhook=enabled",
        "the settings call these opted in, and their pods stay unconverted without a word",
        HELM,
    )


async def test_a_selector_without_the_label_is_a_warning() -> None:
    cluster = healthy()
    del entry(cluster)["namespaceSelector"]
    found = await line(opt_in_label, cluster)
    assert (found.state, found.found) == (
        State.WARN,
        "convert.dra-webhook.hami.io is also asked about namespaces without hami.io/dra-webhook=enabled",
    )


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("nvidia.com/gpumem", "nvidia.com/gpumem"),
        ("nvidia.com/mig-", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/gpu.shared", "nvidia.com/gpu.shared"),
    ],
)
async def test_a_resource_name_that_the_conditions_forgot_is_a_fault(name: str, missed: str) -> None:
    cluster = healthy()
    condition = entry(cluster)["matchConditions"][0]
    condition["expression"] = condition["expression"].replace(f'"{name}"', '"example.com/other"')
    assert await line(match_conditions, cluster) == Finding(
        State.FAIL,
        f"convert.dra-webhook.hami.io is not asked about pods with {missed}",
        "its matchConditions say otherwise than settings.resourceNames, and such pods stay unconverted",
        HELM,
    )


async def test_without_conditions_every_pod_reaches_the_webhook() -> None:
    cluster = healthy()
    del entry(cluster)["matchConditions"]
    assert (await line(match_conditions, cluster)).state is State.OK


@pytest.mark.parametrize(
    ("expression", "why"),
    [("quantityOf(object)", "undeclared reference to 'quantityOf'"), ("object.spec.nodeName == ''", "nodeName")],
)
async def test_a_condition_that_cannot_be_evaluated_here_is_unknown(expression: str, why: str) -> None:
    cluster = healthy()
    entry(cluster)["matchConditions"] = [{"name": "mine", "expression": expression}]
    found = await line(match_conditions, cluster)
    assert found.state is State.UNKNOWN
    assert found.reason.startswith("condition mine: ")
    assert why in found.reason


def other(name: str, resource: str) -> JSON:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    return {"metadata": {"name": name}, "webhooks": [{"name": "w", "rules": [rule]}]}


async def test_webhooks_on_pods_that_are_asked_later_are_a_warning() -> None:
    cluster = healthy()
    for name, resource in (("istio", "pods"), ("zzz-vault", "pods"), ("zzz-jobs", "jobs")):
        cluster.put("mutatingwebhookconfigurations", other(name, resource))
    found = await line(later_webhooks, cluster)
    assert (found.state, found.found) == (State.WARN, f"zzz-vault sorted after {NAME}")


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        (None, {}, True),
        ({}, {"a": "1"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "1"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "2"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    ],
)
def test_label_selectors_mean_what_they_mean_to_an_api_server(
    selector: JSON, labels: dict[str, str], selected: bool
) -> None:
    assert selects(selector, labels) is selected
