"""Upgrades that change where the certificate comes from: who owns the caBundle, and what API servers trust."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.chart.cluster import TESTED, point_at
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, RELEASE, Helm, HelmError
from tests.chart.replica import Replica
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds", "opted_in")]

JSON = Any
Upgrade = Callable[[Mapping[str, JSON]], Replica]
LEGACY = pod("legacy", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000})
INJECTOR = "cert-manager-cainjector"
SELF_SIGNED = {"certificates": {"mode": "self-signed"}}
"""Named, since helm takes the values of the release before when it is given none."""
CERT_MANAGER = {"certificates": {"mode": "cert-manager"}}


def owners(api: Api) -> set[str]:
    """The field managers of the caBundle, in any entry."""
    configuration = api.get("MutatingWebhookConfiguration", NAME)
    return {
        entry["manager"]
        for entry in configuration["metadata"]["managedFields"]
        for webhook in entry["fieldsV1"].get("f:webhooks", {}).values()
        if "f:caBundle" in webhook.get("f:clientConfig", {})
    }


def bundles(api: Api) -> list[str]:
    """The caBundle of each entry, as PEM text."""
    webhooks = api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
    return [base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode() for webhook in webhooks]


def refusal(api: Api) -> str:
    """What the API server says of a legacy pod; empty when it comes back converted."""
    try:
        assert api.create(LEGACY, TESTED, dry_run=True)["spec"]["resourceClaims"]
    except ApiError as error:
        return error.message
    return ""


def until_converted(api: Api) -> None:
    """Wait until the API server trusts the replica that it calls; it learns of changes by a watch."""
    wait_for(lambda: not refusal(api), "a legacy pod to be converted", describe=lambda: refusal(api))


def put_certificate(api: Api, secret: str) -> str:
    """Write a TLS Secret as its owner does; returns the CA in PEM."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", f"{FULL_NAME}.{NAMESPACE}.svc")
    files = {"tls.crt": certificate.cert_chain_pems[0], "tls.key": certificate.private_key_pem}
    data = {key: base64.b64encode(blob.bytes()).decode() for key, blob in files.items()}
    api.delete("Secret", secret, NAMESPACE)
    metadata = {"name": secret, "namespace": NAMESPACE}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data})
    return authority.cert_pem.bytes().decode()


def inject(api: Api, authority: str) -> None:
    """What cert-manager's CA injector does, which is not there."""
    bundle = base64.b64encode(authority.encode()).decode()
    names = [webhook["name"] for webhook in api.get("MutatingWebhookConfiguration", NAME)["webhooks"]]
    patch = {"webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in names]}
    api.patch("MutatingWebhookConfiguration", NAME, patch, how="strategic", fieldManager=INJECTOR)


@pytest.fixture
def upgrade(
    installing: Helm, control_plane: ControlPlane, api: Api, hardware: None, tmp_path: Path
) -> Iterator[Upgrade]:
    """Installs or upgrades the release, and starts a replica of it that the API server then calls; old ones go on."""
    del hardware  # replicas read it when they start
    started: list[Replica] = []

    def to(values: Mapping[str, JSON]) -> Replica:
        if started:
            point_at(api, None)
        options = installing.options(values)
        installing("upgrade", "--install", RELEASE, CHART, f"--namespace={NAMESPACE}", *options)
        name = f"revision-{len(started)}"
        replica = Replica(control_plane, installing.template(values), name, tmp_path / name, check_seconds=1)
        point_at(api, replica.url)
        replica.start()
        started.append(replica)
        return replica

    yield to
    for replica in started:
        if replica.running():
            replica.stop()


def provided(authority: str) -> JSON:
    return {"certificates": {"mode": "provided", "provided": {"secretName": "ours", "caBundle": authority}}}


def test_the_mode_changes_round_and_round_and_the_new_owner_of_the_ca_bundle_is_the_only_one(
    upgrade: Upgrade, api: Api
) -> None:
    self_signed = upgrade(SELF_SIGNED)
    self_signed.wait_ready()
    assert owners(api) == {"hami-dra-webhook"}
    until_converted(api)

    authority = put_certificate(api, "ours")
    by_files = upgrade(provided(authority))
    by_files.wait_ready()
    # The replica of before goes on, looks at the caBundle each second, and may do nothing about it.
    wait_for(lambda: self_signed.refusals() > 0, "the replica of before to be refused")
    time.sleep(2)
    assert self_signed.running()
    assert bundles(api) == [authority] * 2
    assert owners(api) == {"helm"}
    until_converted(api)
    assert api.find("Secret", f"{FULL_NAME}-ca", NAMESPACE) is None
    self_signed.stop()

    authority = put_certificate(api, f"{FULL_NAME}-tls")
    by_cert_manager = upgrade(CERT_MANAGER)
    assert bundles(api) == ["", ""]
    by_cert_manager.wait_ready()
    assert "x509" in refusal(api)
    inject(api, authority)
    until_converted(api)
    assert owners(api) == {INJECTOR}
    by_files.stop()

    again = upgrade(SELF_SIGNED)
    again.wait_ready()
    until_converted(api)
    assert owners(api) == {"hami-dra-webhook"}
    annotations = api.get("MutatingWebhookConfiguration", NAME)["metadata"]["annotations"]
    assert "cert-manager.io/inject-ca-from" not in annotations
    assert authority not in bundles(api)
    assert again.refusals() == 0


def test_what_self_signed_replicas_wrote_is_trusted_until_cert_manager_writes(upgrade: Upgrade, api: Api) -> None:
    old = upgrade(SELF_SIGNED)
    old.wait_ready()
    before = bundles(api)
    authority = put_certificate(api, f"{FULL_NAME}-tls")
    new = upgrade(CERT_MANAGER)
    new.wait_ready()
    assert bundles(api) == before
    inject(api, authority)
    until_converted(api)
    assert owners(api) == {INJECTOR}


def test_a_tool_that_applies_server_side_is_told_whose_field_the_ca_bundle_is(
    upgrade: Upgrade, installing: Helm, control_plane: ControlPlane, api: Api
) -> None:
    upgrade(SELF_SIGNED).wait_ready()
    point_at(api, None)
    options = ("--server-side", "--field-manager=helm")
    same = installing.template(SELF_SIGNED).one("MutatingWebhookConfiguration")
    control_plane.kubectl.apply(same, options=options)
    authority = trustme.CA().cert_pem.bytes().decode()
    other = installing.template(provided(authority)).one("MutatingWebhookConfiguration")
    refused = control_plane.kubectl.apply(other, options=options, check=False)
    assert 'conflicts with "hami-dra-webhook"' in refused.stderr
    assert ".clientConfig.caBundle" in refused.stderr


def test_with_both_cas_in_the_values_no_creation_fails_while_the_mode_changes(upgrade: Upgrade, api: Api) -> None:
    old = upgrade(SELF_SIGNED)
    old.wait_ready()
    ours = bundles(api)[0]
    new = upgrade(provided(ours + put_certificate(api, "ours")))
    new.wait_ready()
    until_converted(api)
    point_at(api, old.url)  # the same for a call that reaches a replica of before
    until_converted(api)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, f"certificates.provided.secretName is ours, and there is no such Secret in namespace {NAMESPACE}: make"),
        ({"tls.crt": ""}, "certificates.provided.secretName is ours, and that Secret has no tls.key: make it of type"),
    ],
    ids=["missing", "half"],
)
def test_without_its_secret_the_change_is_refused_and_the_certificate_of_before_stays_trusted(
    upgrade: Upgrade, api: Api, data: JSON, said: str
) -> None:
    replica = upgrade(SELF_SIGNED)
    replica.wait_ready()
    api.delete("Secret", "ours", NAMESPACE)
    if data is not None:
        api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ours"}, "data": data}, NAMESPACE)
    with pytest.raises(HelmError, match=re.escape(said)):
        upgrade(provided(bundles(api)[0]))
    point_at(api, replica.url)
    until_converted(api)
