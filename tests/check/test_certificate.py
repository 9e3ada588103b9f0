"""What check says of certificates: replicas that can be reached are real TLS servers on loopback."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme

from app.check.health.certificate import ca_bundle, certificate
from app.check.health.finding import State, ok
from certs.authority import Authority
from certs.issue import Issuer
from certs.pair import load_pair
from tests.check.kit import NAME, NAMESPACE, TRUST, Cluster, healthy, line

JSON = Any
CONFIGURATION = "zz-hami-dra-webhook"
SERVICE_NAME = f"{NAME}.{NAMESPACE}.svc"
RESTART = f"kubectl --namespace {NAMESPACE} rollout restart deployment/{NAME}"


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def issuer(
    *, age: timedelta = timedelta(), leaf_life: timedelta = timedelta(days=7), name: str = SERVICE_NAME
) -> Issuer:
    return Issuer([name], leaf_life=leaf_life, clock=lambda: datetime.now(UTC) - age)


@asynccontextmanager
async def serving(authority: Authority, making: Issuer) -> AsyncIterator[int]:
    """A replica with a certificate of this CA; gives its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, making.leaf(authority).pair)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def trusting(cluster: Cluster, bundle: bytes) -> Cluster:
    """The configuration calls the Service, and trusts this."""
    for entry in cluster.one("mutatingwebhookconfigurations", CONFIGURATION)["webhooks"]:
        service = {"name": NAME, "namespace": NAMESPACE, "path": "/mutate", "port": 443}
        entry["clientConfig"] = {"service": service, "caBundle": base64.b64encode(bundle).decode()}
    return cluster


def reached(cluster: Cluster, *ports: int, ready: bool = True) -> Cluster:
    """Replicas behind the Service."""
    for i, port in enumerate(ports):
        slice_ = {
            "metadata": {
                "name": f"{NAME}-{i}",
                "namespace": NAMESPACE,
                "labels": {"kubernetes.io/service-name": NAME},
            },
            "ports": [{"name": "https", "port": port}, {"name": "ops", "port": 8080}],
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}],
        }
        cluster.put("endpointslices", slice_)
    return cluster


async def test_ready_replicas_are_connected_to_and_judged_as_an_api_server_does() -> None:
    making = issuer()
    authority = making.authority()
    async with serving(authority, making) as one, serving(authority, making) as two:
        cluster = reached(trusting(healthy(), authority.cert_pem), one, two)
        assert await line(ca_bundle, cluster) == ok(f"verified by connecting to 127.0.0.1:{one}, 127.0.0.1:{two}")
        found = await line(certificate, cluster)
        assert found.state is State.OK
        assert found.found.startswith("certificate until 20")
        assert f", CA until {authority.not_after:%Y-%m-%dT%H:%M:%SZ}" in found.found


OTHER_NAME = "Hostname mismatch, certificate is not valid for 'gpu-hami-dra-webhook."


@pytest.mark.parametrize(
    ("making", "why"),
    [(issuer(name="other.example.com"), OTHER_NAME), (issuer(age=timedelta(days=30)), "certificate has expired")],
    ids=["name", "time"],
)
async def test_what_an_api_server_would_not_accept_is_told(
    making: Issuer, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    authority = making.authority()
    async with serving(authority, making) as port:
        found = await line(ca_bundle, reached(trusting(healthy(), authority.cert_pem), port))
    assert (found.state, found.fix) == (State.FAIL, RESTART)
    assert found.found.startswith(f"an API server does not trust 127.0.0.1:{port}: ")
    assert why in found.found


async def test_from_outside_a_certificate_for_another_name_is_that_of_another_machine() -> None:
    making = issuer(name="printer.example.com")
    async with serving(making.authority(), making) as port:
        found = await line(ca_bundle, reached(trusting(healthy(), TRUST.bundle), port))
    assert found.found.startswith("equals Secret ")


async def test_another_authority_is_a_fault() -> None:
    making = issuer()
    async with serving(making.authority(), making) as port:
        found = await line(ca_bundle, reached(trusting(healthy(), trustme.CA().cert_pem.bytes()), port))
    assert (found.state, found.reason, found.fix) == (
        State.FAIL,
        "pods with legacy keys are refused in opted-in namespaces",
        RESTART,
    )


async def test_a_leaf_is_trusted_by_itself_as_go_does() -> None:
    making = issuer()
    authority = making.authority()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = making.leaf(authority).pair
    load_pair(context, pair)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        found = await line(ca_bundle, reached(trusting(healthy(), pair.chain_pem), port))
    assert found.state is State.OK


async def test_entries_that_trust_different_authorities_are_a_fault() -> None:
    making = issuer()
    authority = making.authority()
    async with serving(authority, making) as port:
        cluster = reached(trusting(healthy(), authority.cert_pem), port)
        cluster.one("mutatingwebhookconfigurations", CONFIGURATION)["webhooks"][1]["clientConfig"]["caBundle"] = ""
        found = await line(ca_bundle, cluster)
    assert (found.state, found.found) == (State.FAIL, "the caBundle of reapply.dra-webhook.hami.io differs")


async def test_a_certificate_that_ends_soon_is_a_warning() -> None:
    making = issuer(leaf_life=timedelta(hours=5))
    authority = making.authority()
    async with serving(authority, making) as port:
        found = await line(certificate, reached(trusting(healthy(), authority.cert_pem), port))
    assert (found.state, found.reason) == (State.WARN, "it should have been renewed long before")
    assert found.found.startswith("the certificate ends at ")


@pytest.mark.parametrize(
    ("age", "state", "found"),
    [
        (timedelta(days=360), State.WARN, "the CA ends at "),
        (timedelta(days=366), State.FAIL, "the CA ended at "),
        (timedelta(days=200), State.OK, "CA until "),
    ],
)
async def test_an_authority_is_judged_without_reaching_anybody(age: timedelta, state: State, found: str) -> None:
    authority = issuer(age=age).authority()
    said = await line(certificate, reached(trusting(healthy(), authority.cert_pem)))
    assert said.state is state
    assert said.found.startswith(found)


async def test_replicas_out_of_reach_are_judged_by_the_secret() -> None:
    cluster = trusting(healthy(), TRUST.bundle)
    assert await line(ca_bundle, cluster) == ok(
        f"equals Secret {NAMESPACE}/hami-dra-webhook-ca; no replica can be reached from here"
    )


async def test_replicas_that_are_not_ready_are_not_asked() -> None:
    cluster = trusting(healthy(), TRUST.bundle)
    assert (await line(ca_bundle, reached(cluster, 1, ready=False))).found.startswith("equals Secret")


async def test_a_bundle_that_is_not_that_of_the_secret_is_a_fault() -> None:
    cluster = trusting(healthy(), trustme.CA().cert_pem.bytes())
    found = await line(ca_bundle, cluster)
    assert (found.state, found.fix) == (State.FAIL, RESTART)
    assert "the caBundle of convert.dra-webhook.hami.io is not what the Secret holds" in found.found


async def test_an_empty_bundle_is_a_fault() -> None:
    found = await line(ca_bundle, trusting(healthy(), b""))
    assert (found.state, found.reason) == (State.FAIL, "no API server can call the webhook")


async def test_who_may_not_read_the_secret_is_told_how_to_look_from_inside() -> None:
    cluster = trusting(healthy(), issuer().authority().cert_pem)
    cluster.forbidden = {"secrets"}
    found = await line(ca_bundle, cluster)
    assert (found.state, found.found) == (State.UNKNOWN, "the served certificate cannot be seen")
    assert found.fix == (
        f"kubectl --namespace {NAMESPACE} exec deployment/{NAME} -- "
        "hami-dra-webhook check --config /etc/hami-dra-webhook/settings/config.yaml"
    )


async def test_certificates_of_somebody_else_are_not_compared_with_our_secret() -> None:
    files = {"mode": "provided", "certFile": "/tls/tls.crt", "keyFile": "/tls/tls.key"}
    cluster = trusting(healthy({"server": {"tls": files}}), issuer().authority().cert_pem)
    found = await line(ca_bundle, cluster)
    assert (found.state, found.reason) == (State.UNKNOWN, "no replica can be reached from here")
