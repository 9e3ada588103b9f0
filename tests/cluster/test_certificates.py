"""Certificates that make, publish and renew themselves, on the real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from app.cluster.certificates import CertificateApi
from app.cluster.connection import connect
from app.server.certificates import open_source
from app.server.metrics import Metrics
from app.settings import Tls
from certs.shared import SharedSource
from tests.cluster.self_signed import SECRET, Load, SelfSigned, authority, certs, run_certs, trusted
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.components import kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.registration import NAME, Registration, webhook_configuration
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.usefixtures("machines")
LEGACY = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}
TOKEN_REQUEST = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
CHANGES = "hami_dra_webhook_certificate_changes_total"
Start = Callable[..., list[SelfSigned]]


@pytest.fixture
def home(new_namespace: Callable[..., Namespace]) -> str:
    """The namespace of an installation."""
    return new_namespace({}).name


@pytest.fixture
def start(control_plane: ControlPlane, home: str, registration: Registration) -> Iterator[Start]:
    """Starts self-signed replicas at once; the first of them is the one that the API server calls."""
    started: list[SelfSigned] = []

    def several(count: int) -> list[SelfSigned]:
        for number in range(count):
            started.append(SelfSigned(control_plane, home, f"{home}-{number}"))
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


def test_five_replicas_that_start_at_once_serve_leaves_of_one_ca(start: Start, api: Api, home: str) -> None:
    replicas = start(5)
    for replica in replicas:
        replica.served().verify_directly_issued_by(authority(api, home))
    assert sum(replica.metric(CHANGES, what="ca", reason="first") for replica in replicas) == 1
    assert trusted(api) == [[authority(api, home)]] * 2


async def test_the_first_writer_wins_twenty_times_out_of_twenty(control_plane: ControlPlane, home: str) -> None:
    for attempt in range(20):
        connections = [await connect(control_plane.kubeconfig) for _ in range(5)]
        metrics = Metrics()
        tls = Tls(secret_name=f"ca-{attempt}")
        opened = [await open_source(tls, CertificateApi(one, seconds=10), home, metrics) for one in connections]
        sources = [source for source, _ in opened if isinstance(source, SharedSource)]
        await asyncio.gather(*(source.check() for source in sources))
        stored = control_plane.api.get("Secret", f"ca-{attempt}", home)
        assert stored["metadata"]["labels"]["hami.io/dra-webhook-ca"] == "true"
        assert len({source.current().chain_pem for source in sources}) == 5
        assert {checks["certificate"]().ok for _, checks in opened} == {True}
        counts = [line for line in metrics.exposition().decode().splitlines() if 'reason="first",what="ca"' in line]
        assert counts == [f'{CHANGES}{{reason="first",what="ca"}} 1.0']
        for one in connections:
            await one.close()


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
    replicas = start(2)
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
