"""Certificates that make, publish and renew themselves, on the real API server."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.cluster.certificates import CertificateApi
from app.cluster.connection import connect
from app.server.certificates import open_source
from app.server.metrics import Metrics
from app.settings import Tls
from certs.issue import Issuer
from certs.shared import SharedSource
from tests.cluster import first_writer, short_lived
from tests.cluster.load import Load
from tests.cluster.self_signed import SECRET, SelfSigned, authority, certs, run_certs, trusted
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.components import kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.processes import python_environment
from tests.cluster.testbed.registration import NAME, Registration, webhook_configuration
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.usefixtures("machines")
LEGACY = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}
TOKEN_REQUEST = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
CHANGES = "hami_dra_webhook_certificate_changes_total"
LEARN_SECONDS = 2
"""For clients in threads that look at the caBundle five times a second while they keep both processors busy."""
Start = Callable[..., list[SelfSigned]]


@pytest.fixture
def home(new_namespace: Callable[..., Namespace]) -> str:
    """The namespace of an installation."""
    return new_namespace({}).name


@pytest.fixture
def start(control_plane: ControlPlane, home: str, registration: Registration) -> Iterator[Start]:
    """Starts self-signed replicas at once; the first of them is the one that the API server calls."""
    started: list[SelfSigned] = []

    def several(count: int, **options: Any) -> list[SelfSigned]:
        for number in range(count):
            started.append(SelfSigned(control_plane, home, f"{home}-{number}", **options))
            started[-1].start(ready=False)
        assert registration.use(started[0]) is None
        for replica in started:
            wait_for(replica.ready, f"{replica.name} to be ready", timeout=60, describe=replica.readiness)
        return started

    yield several
    registration.use(None)
    for replica in started:
        if replica.running():
            replica.stop()


def test_a_configuration_without_ca_bundle_is_completed_and_a_legacy_pod_converted(
    start: Start, api: Api, namespace: Namespace, home: str
) -> None:
    (replica,) = start(1)
    assert namespace.create(pod("p", LEGACY), dry_run=True)["spec"]["resourceClaims"]
    assert trusted(api) == [[authority(api, home)]] * 2
    managed = api.get("MutatingWebhookConfiguration", NAME)["metadata"]["managedFields"]
    assert [entry["operation"] for entry in managed if entry["manager"] == "hami-dra-webhook"] == ["Apply"]
    assert replica.metric(CHANGES, what="ca", reason="first") == 1


def test_a_ca_bundle_that_somebody_removes_is_put_back_and_status_tells_both(
    start: Start, api: Api, namespace: Namespace, control_plane: ControlPlane, home: str
) -> None:
    (replica,) = start(1)
    code, status = certs(control_plane, home, "status")
    assert (code, status["ok"]) == (0, True)
    assert {tuple(entry["trusts"]) for entry in status["entries"]} == {(status["ca"]["serial"],)}
    before = replica.metric(CHANGES, what="ca-bundle")
    control_plane.kubectl("delete", "secret", SECRET, "--namespace", home, check=True)
    empty = [{"op": "replace", "path": f"/webhooks/{entry}/clientConfig/caBundle", "value": ""} for entry in (0, 1)]
    api.patch("MutatingWebhookConfiguration", NAME, empty, how="json")
    wait_for(lambda: all(trusted(api)), "the caBundle to be back")
    wait_for(lambda: api.find("Secret", SECRET, home), "the Secret to be back")
    assert replica.metric(CHANGES, what="ca-bundle") == before + 1
    assert certs(control_plane, home, "status") == (0, status)
    namespace.create(pod("p", LEGACY), dry_run=True)


def test_without_its_configuration_a_replica_is_not_ready_and_says_what_is_missing(
    control_plane: ControlPlane, home: str
) -> None:
    replica = SelfSigned(control_plane, home, f"{home}-0")
    replica.start(ready=False)
    try:
        said = (
            f"[-]caBundle failed: MutatingWebhookConfiguration {NAME} does not exist; install it, or name the right one"
        )
        wait_for(lambda: said in replica.readiness(), "the reason", describe=replica.readiness)
        assert not replica.ready()
        code, status = certs(control_plane, home, "status")
        assert code == 1
        assert status["problems"][0].startswith(f"MutatingWebhookConfiguration {NAME} does not exist")
    finally:
        replica.stop()


def unusable(kind: str) -> Mapping[str, bytes]:
    """What stands in the Secret before the replica starts."""
    long_ago = datetime.now(UTC) - timedelta(days=400)
    made = Issuer(["127.0.0.1"], clock=lambda: long_ago).authority()
    other_key = rsa.generate_private_key(65537, 2048)
    rsa_pem = other_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    contents = {
        "half": {"ca.crt": made.cert_pem},
        "wrong key type": {"ca.crt": made.cert_pem, "ca.key": rsa_pem},
        "expired": {"ca.crt": made.cert_pem, "ca.key": made.key_pem},
    }
    return contents[kind]


@pytest.mark.parametrize(
    ("kind", "reason", "said"),
    [
        ("half", "secret-broken", "ca.key is missing"),
        ("wrong key type", "secret-broken", "ca.key: is not a key of the kind that we use, ECDSA on P-256"),
        ("expired", "expired", ""),
    ],
    ids=["half", "wrong-key-type", "expired"],
)
def test_a_secret_that_cannot_be_used_is_named_and_replaced(
    start: Start, api: Api, home: str, kind: str, reason: str, said: str
) -> None:
    data = {key: base64.b64encode(value).decode() for key, value in unusable(kind).items()}
    metadata = {"name": SECRET, "labels": {"hami.io/dra-webhook-ca": "true"}}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, home)
    (replica,) = start(1)
    named = [line["problems"] for line in replica.logs() if line["event"] == "ca_secret_broken"]
    assert named == ([[f"Secret {home}/{SECRET}: {said}"]] if said else [])
    assert replica.metric(CHANGES, what="ca", reason=reason) == 1
    replica.served().verify_directly_issued_by(authority(api, home))
    assert trusted(api) == [[authority(api, home)]] * 2


def test_five_replicas_that_start_at_once_serve_leaves_of_one_ca(start: Start, api: Api, home: str) -> None:
    replicas = start(5)
    for replica in replicas:
        replica.served().verify_directly_issued_by(authority(api, home))
    assert sum(replica.metric(CHANGES, what="ca", reason="first") for replica in replicas) == 1
    assert trusted(api) == [[authority(api, home)]] * 2


def test_the_first_writer_wins_twenty_times_out_of_twenty(control_plane: ControlPlane, home: str) -> None:
    secrets = [f"ca-{number}" for number in range(20)]
    command = [sys.executable, first_writer.__file__, str(control_plane.kubeconfig), home, *secrets]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=python_environment())
    assert (ended.returncode, ended.stderr) == (0, "")
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    for secret in secrets:
        name = authority(control_plane.api, home, secret).subject.rfc4514_string()
        processes = [one for one in said if one["secret"] == secret]
        assert [one["ca"] for one in processes] == [name] * 5
        assert [one["good"] for one in processes] == [True] * 5
        assert sum(one["made"] for one in processes) == 1


async def test_the_documented_permissions_are_enough_and_without_them_the_missing_one_is_named(
    control_plane: ControlPlane, new_namespace: Callable[..., Namespace], tmp_path: Path
) -> None:
    home, api = new_namespace({}), control_plane.api
    file = tmp_path / "kubeconfig"
    token = api.request("POST", f"/api/v1/namespaces/{home}/serviceaccounts/default/token", TOKEN_REQUEST)
    layout = control_plane.layout
    file.write_text(yaml.safe_dump(kubeconfig(layout.server, layout.ca, token["status"]["token"])))
    api.create(webhook_configuration("https://127.0.0.1:1/", b"", {}))
    connection = await connect(file)
    try:
        source, checks = await open_source(Tls(), CertificateApi(connection, seconds=10), home.name, Metrics())
        assert isinstance(source, SharedSource)
        await source.check()
        for check, resource in (("certificate", "secrets"), ("caBundle", "mutatingwebhookconfigurations")):
            health = checks[check]()
            assert not health.ok
            assert f'cannot get resource "{resource}"' in health.text
        grant(control_plane, home.name)
        async with asyncio.timeout(10):  # the API server learns of roles by a watch
            while not all(check().ok for check in checks.values()):
                await source.check()
                await asyncio.sleep(0.05)
        assert [check().text for check in checks.values()] == [
            f"valid until {source.current().not_after:%Y-%m-%d %H:%M:%S} UTC",
            f"MutatingWebhookConfiguration {NAME} trusts our CA",
        ]
        await source._keeper.rotate()
        await source.check()
        assert [len(entry) for entry in trusted(api)] == [2, 2]
    finally:
        await connection.close()
        api.delete("MutatingWebhookConfiguration", NAME)
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            api.delete(kind, home.name)


def grant(control_plane: ControlPlane, namespace: str) -> None:
    """The permissions of docs/certificates.md, for the default ServiceAccount of a namespace."""
    kubectl, account = control_plane.kubectl, f"--serviceaccount={namespace}:default"
    here = ("--namespace", namespace)
    verbs = {"make": ("create", ""), "keep": ("get,update", f"--resource-name={SECRET}")}
    for name, (allowed, only) in verbs.items():
        rule = [f"--verb={allowed}", "--resource=secrets", *([only] if only else [])]
        kubectl("create", "role", name, *rule, *here, check=True)
        kubectl("create", "rolebinding", name, f"--role={name}", account, *here, check=True)
    rule = ["--verb=get,patch", "--resource=mutatingwebhookconfigurations", f"--resource-name={NAME}"]
    kubectl("create", "clusterrole", namespace, *rule, check=True)
    kubectl("create", "clusterrolebinding", namespace, f"--clusterrole={namespace}", account, check=True)


def test_two_changes_of_the_ca_under_load_fail_no_handshake_and_no_creation(
    start: Start, api: Api, namespace: Namespace, control_plane: ControlPlane, home: str
) -> None:
    replicas = start(2, check_seconds=LEARN_SECONDS)
    with Load(api, replicas) as load:
        for _ in range(2):
            code, rotated = certs(control_plane, home, "rotate")
            assert code == 0
            name = authority(api, home).subject

            def all_changed(wanted: x509.Name = name) -> bool:
                namespace.create(pod("p", LEGACY), dry_run=True)
                return all(replica.served().issuer == wanted for replica in replicas)

            wait_for(all_changed, "all replicas to serve the new CA", timeout=60)
        wait_for(lambda: load.requests >= 2000, "2,000 requests", timeout=90)
    assert load.failures == []
    assert len(rotated["old"]) == 2
    assert certs(control_plane, home, "status")[1]["ca"] == rotated["ca"]


@pytest.mark.timeout(300)  # 40 s where nothing else runs
def test_leaves_and_cas_that_are_renewed_in_time_fail_none_of_20000_requests(start: Start, api: Api) -> None:
    program = (sys.executable, short_lived.__file__, "serve")
    replicas = start(2, program=program, check_seconds=LEARN_SECONDS)

    def changed(reason: str) -> bool:
        return all(replica.metric(CHANGES, what="leaf", reason=reason) >= 1 for replica in replicas)

    def enough(load: Load) -> bool:
        if load.requests < 20_000 or load.handshakes < 8_000:
            return False
        # The replicas follow a new CA one after the other: both have, and clients have seen it.
        return changed("due") and changed("ca-changed") and len({leaf.issuer for leaf in load.served()}) >= 2

    with Load(api, replicas) as load:
        wait_for(
            lambda: load.failures or enough(load),
            "20,000 requests, new leaves and a new CA on each replica",
            timeout=240,
            describe=lambda: f"{load.requests} requests",
        )
    serials = {leaf.serial_number for leaf in load.served()}
    authorities = {leaf.issuer for leaf in load.served()}
    print(  # noqa: T201 - the figures of the claim
        f"{load.handshakes} requests on new connections and {load.kept} on kept ones, "
        f"{len(serials)} certificates of {len(authorities)} CAs, {len(load.failures)} failures"
    )
    assert load.failures == []
    assert len(serials) >= 2 * len(replicas)
    assert changed("due")
    assert changed("ca-changed")
    assert len(authorities) >= 2
    assert sum(replica.metric(CHANGES, what="ca", reason="due") for replica in replicas) >= 1


def test_commands_tell_what_they_cannot_do(control_plane: ControlPlane, home: str) -> None:
    assert certs(control_plane, home, "rotate") == (
        1,
        f"error: Secret {home}/{SECRET} does not exist; a running webhook makes a CA by itself\n",
    )
    code, said = certs(control_plane, home, "status", "--context=nowhere")
    assert code == 3
    assert "it has no context 'nowhere'" in said
    assert certs(control_plane, "", "status")[0] == 2


def test_commands_print_text_for_people(start: Start, control_plane: ControlPlane, home: str) -> None:
    start(1)
    status = run_certs(control_plane, home, "status")
    assert status.returncode == 0
    assert status.stdout.startswith(f"Secret {home}/{SECRET}\n  CA ")
    rotated = run_certs(control_plane, home, "rotate", "--drop-old")
    assert rotated.returncode == 0
    assert rotated.stdout.startswith("CA ")
    assert rotated.stdout.count("\n") == 1
    wait_for(lambda: certs(control_plane, home, "status")[0] == 0, "the replica to follow")
