"""How the installation and its settings are found."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.health.finding import State, ok
from app.check.health.reader import Reader
from app.check.health.run import CHECKS, made
from app.check.health.site import find_site
from app.settings import Settings
from tests.check.kit import CLASS, HELM, NAME, NAMESPACE, Cluster, healthy, site_of

JSON = Any
PROFILE = """
name = "site.example.com"
driver = "site.example.com"
title = "Cards of this site"
deviceClass = "site.example.com"
sharing = "exclusive"
privileged = "allow"
"""


async def test_the_settings_are_those_that_the_replicas_mount() -> None:
    site = await site_of(healthy({"wholeGpu": "native"}))
    assert site.settings.whole_gpu == "native"
    assert site.settings_finding == ok(f"ConfigMap {NAMESPACE}/{NAME}")
    assert site.helm_upgrade == HELM


async def test_driver_profiles_beside_the_settings_are_read() -> None:
    cluster = healthy({"driverProfiles": ["/s/site.toml"], "bindings": {"nvidia": {"driver": "site.example.com"}}})
    cluster.one("configmaps", NAME)["data"]["site.toml"] = PROFILE
    site = await site_of(cluster)
    assert site.settings.policy.card_profile.title == "Cards of this site"


async def test_settings_that_cannot_be_used_are_told_with_their_place() -> None:
    site = await site_of(healthy({"nodeName": "forbid"}))
    assert site.settings_finding.state is State.FAIL
    assert "/s/config.yaml: nodeName: should be 'pin' or 'deny'" in site.settings_finding.reason


async def test_a_config_map_without_settings_is_a_fault() -> None:
    cluster = healthy()
    cluster.one("configmaps", NAME)["data"] = {}
    finding = (await site_of(cluster)).settings_finding
    assert (finding.state, finding.found) == (State.FAIL, f"ConfigMap {NAMESPACE}/{NAME} holds no config.yaml")


@pytest.mark.parametrize("forbidden", ["configmaps", "deployments"])
async def test_where_the_settings_cannot_be_read_the_defaults_are_assumed(forbidden: str) -> None:
    cluster = healthy({"wholeGpu": "native"})
    cluster.forbidden = {forbidden}
    site = await site_of(cluster)
    assert site.settings == Settings()
    assert (site.settings_finding.state, site.settings_finding.found) == (State.UNKNOWN, "the defaults are assumed")
    assert f"{forbidden} is forbidden" in site.settings_finding.reason


@pytest.mark.parametrize("name", ["device-classes", "opt-in-label", "live-test"])
async def test_assumed_settings_prove_no_fault(name: str) -> None:
    cluster = healthy()
    cluster.remove("deviceclasses", CLASS)
    cluster.admit = lambda pod: pod
    for entry in cluster.one("mutatingwebhookconfigurations", "zz-hami-dra-webhook")["webhooks"]:
        entry["namespaceSelector"] = {"matchLabels": {"gpu": "dra"}}
    assert (await made(CHECKS[name], await site_of(cluster))).state is State.FAIL
    cluster.forbidden = {"configmaps"}
    found = await made(CHECKS[name], await site_of(cluster))
    assert found.state is State.UNKNOWN
    assert found.found.startswith("by the defaults: ")
    assert "configmaps is forbidden" in found.reason


async def test_settings_of_a_file_win() -> None:
    site = await site_of(healthy({"wholeGpu": "native"}), Settings())
    assert (site.settings.whole_gpu, site.settings_finding) == ("convert", ok("settings.yaml"))


async def namespace_found(cluster: Cluster) -> str:
    return (await find_site(Reader(cluster), None, None, "")).namespace  # type: ignore[arg-type]


async def test_without_a_namespace_the_configuration_leads_to_it() -> None:
    cluster = healthy()
    for entry in cluster.one("mutatingwebhookconfigurations", "zz-hami-dra-webhook")["webhooks"]:
        entry["clientConfig"] = {"service": {"name": NAME, "namespace": "gpu-system"}}
    assert await namespace_found(cluster) == "gpu-system"
    cluster.forbidden = {"mutatingwebhookconfigurations"}
    assert await namespace_found(cluster) == NAMESPACE
