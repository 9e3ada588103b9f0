"""Replicas and hooks do their work with just the permissions that the chart gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.chart.cluster import TESTED, point_at
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, RELEASE, Helm
from tests.chart.replica import Replica
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.cluster

JSON = Any


@pytest.fixture
def replicas(
    installing: Helm, control_plane: ControlPlane, api: Api, hardware: None, tmp_path: Path
) -> Iterator[list[Replica]]:
    """Two replicas of an installed release, ready; the API server calls the first."""
    del hardware  # they read it when they start
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    rendered = installing.template()
    made = [
        Replica(control_plane, rendered, name, tmp_path / name, check_seconds=1) for name in ("replica-0", "replica-1")
    ]
    point_at(api, made[0].url)
    for replica in made:
        replica.start()
    for replica in made:
        replica.wait_ready()
    yield made
    for replica in made:
        if replica.running():
            replica.stop()


def test_replicas_share_an_authority_write_the_bundle_and_convert(
    replicas: list[Replica], helm_test: Callable[[], CompletedProcess[str]], control_plane: ControlPlane, api: Api
) -> None:
    webhooks = api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
    assert len({webhook["clientConfig"]["caBundle"] for webhook in webhooks}) == 1
    assert api.find("Secret", f"{FULL_NAME}-ca", NAMESPACE)

    passed = helm_test()
    assert passed.returncode == 0, passed.stderr
    assert "the webhook works" in passed.stdout

    admitted = api.create(pod("legacy", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}), TESTED)
    assert admitted["spec"]["resourceClaims"]
    wait_for(
        lambda: api.find("Lease", "hami-dra-webhook-sweeper", NAMESPACE),
        "the sweeper's Lease",
        describe=lambda: control_plane.processes.tail("replica-0"),
    )
    assert [replica.refusals() for replica in replicas] == [0, 0]


@dataclass(frozen=True)
class Grant:
    """What a role of the chart allows for one resource."""

    api: Api
    kind: str
    name: str
    resource: str

    @property
    def verbs(self) -> list[str]:
        """All that it allows."""
        return [verb for rule in self._rules() if rule["resources"] == [self.resource] for verb in rule["verbs"]]

    @contextmanager
    def without(self, verb: str) -> Iterator[None]:
        """One verb less, until the block ends."""
        rules = self._rules()
        less = [
            rule | {"verbs": [one for one in rule["verbs"] if one != verb or rule["resources"] != [self.resource]]}
            for rule in rules
        ]
        self._write([rule for rule in less if rule["verbs"]])
        yield
        self._write(rules)

    def _rules(self) -> list[JSON]:
        rules: list[JSON] = self.api.get(self.kind, self.name, self._namespace)["rules"]
        return rules

    def _write(self, rules: list[JSON]) -> None:
        self.api.patch(self.kind, self.name, {"rules": rules}, self._namespace)

    @property
    def _namespace(self) -> str | None:
        return NAMESPACE if self.kind == "Role" else None


def test_each_permission_for_certificates_is_needed_and_there_are_no_others(replicas: list[Replica], api: Api) -> None:
    replicas[1].stop()  # it would repair what the other one may not
    replica, secret = replicas[0], f"{FULL_NAME}-ca"
    secrets = Grant(api, "Role", FULL_NAME, "secrets")
    configurations = Grant(api, "ClusterRole", f"{NAMESPACE}:{FULL_NAME}", "mutatingwebhookconfigurations")
    names = [webhook["name"] for webhook in api.get("MutatingWebhookConfiguration", NAME)["webhooks"]]
    no_bundle = {"webhooks": [{"name": name, "clientConfig": {"caBundle": None}} for name in names]}
    damages: dict[tuple[Grant, str], Callable[[], object]] = {
        (secrets, "create"): lambda: api.delete("Secret", secret, NAMESPACE),
        (secrets, "get"): lambda: None,
        (secrets, "update"): lambda: api.patch("Secret", secret, {"data": None}, NAMESPACE),
        (configurations, "get"): lambda: None,
        (configurations, "patch"): lambda: api.patch("MutatingWebhookConfiguration", NAME, no_bundle, how="strategic"),
    }
    assert [(grant, verb) for grant in (secrets, configurations) for verb in grant.verbs] == list(damages)
    for (grant, verb), damage in damages.items():
        said = f'cannot {verb} resource "{grant.resource}"'
        with grant.without(verb):
            damage()
            wait_for(lambda said=said: said in replica.readiness(), said, describe=replica.readiness)
        wait_for(lambda: "cannot" not in replica.readiness(), "the repair", describe=replica.readiness)


def test_the_certificates_can_be_looked_at_and_rotated_in_a_replica(replicas: list[Replica]) -> None:
    status = replicas[0].execute("certs", "status")
    assert status.returncode == 0, status.stderr
    assert f"Secret {NAMESPACE}/{FULL_NAME}-ca" in status.stdout
    rotated = replicas[0].execute("certs", "rotate")
    assert rotated.returncode == 0, rotated.stderr
    assert [replica.refusals() for replica in replicas] == [0, 0]
