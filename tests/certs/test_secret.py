"""A Secret that is missing, foreign, half, wrong or expired: named, replaced or left alone; the old pair serves on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from structlog.testing import capture_logs

from certs.api import ApiProblem, NotDone
from certs.authority import Authority
from certs.issue import Issuer
from certs.trust import Trust
from tests.certs.kit import DAY, MINUTE, NAMES, SECRET, Clock, MemoryApi, Replica

Start = Callable[[], Awaitable[Replica]]
Contents = dict[str, bytes]


def key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.fixture
def authority(clock: Clock) -> Authority:
    return Issuer(NAMES, clock=clock).authority()


@pytest.fixture
def broken(authority: Authority, clock: Clock) -> dict[str, tuple[Contents, str]]:
    """Contents that cannot be used, and what is said about them."""
    issuer = Issuer(NAMES, clock=clock)
    cert, key = authority.cert_pem, authority.key_pem
    leaf = issuer.leaf(authority).pair
    wrong_kind = "Secret gpu/ca: ca.key: is not a key of the kind that we use, ECDSA on P-256"
    return {
        "half: no key": ({"ca.crt": cert}, "Secret gpu/ca: ca.key is missing"),
        "half: no certificate": ({"ca.key": key}, "Secret gpu/ca: ca.crt is missing"),
        "other keys only": ({"tls.crt": cert}, "Secret gpu/ca: ca.crt is missing"),
        "no PEM": ({"ca.crt": b"x", "ca.key": b"y"}, "Secret gpu/ca: ca.crt: holds no certificate in PEM form"),
        "RSA": ({"ca.crt": cert, "ca.key": key_pem(rsa.generate_private_key(65537, 2048))}, wrong_kind),
        "P-384": ({"ca.crt": cert, "ca.key": key_pem(ec.generate_private_key(ec.SECP384R1()))}, wrong_kind),
        "another key": (
            {"ca.crt": cert, "ca.key": issuer.authority().key_pem},
            "Secret gpu/ca: ca.key: is not the key of Secret gpu/ca: ca.crt",
        ),
        "a leaf": (
            {"ca.crt": leaf.chain_pem, "ca.key": leaf.key_pem},
            "Secret gpu/ca: ca.crt: is not a CA certificate (basicConstraints does not say CA)",
        ),
        "two certificates": (
            {"ca.crt": cert + cert, "ca.key": key},
            "Secret gpu/ca: ca.crt: holds 2 certificates; it must be one",
        ),
        "old CA without its time": (
            {"ca.crt": cert, "ca.key": key, "old-ca.crt": cert},
            "Secret gpu/ca: old-ca.crt or old-ca-until cannot be read: 'old-ca-until'",
        ),
        "old CA that is none": (
            {"ca.crt": cert, "ca.key": key, "old-ca.crt": leaf.chain_pem, "old-ca-until": b"2026-06-09T00:00:00+00:00"},
            "Secret gpu/ca: old-ca.crt holds a certificate that is not a CA's",
        ),
    }


KINDS = (
    "half: no key",
    "half: no certificate",
    "other keys only",
    "no PEM",
    "RSA",
    "P-384",
    "another key",
    "a leaf",
    "two certificates",
    "old CA without its time",
    "old CA that is none",
)


def test_every_kind_of_broken_secret_is_tested(broken: dict[str, object]) -> None:
    assert tuple(broken) == KINDS


@pytest.mark.parametrize("kind", KINDS)
async def test_a_starting_replica_names_a_broken_secret_and_replaces_it(
    start: Start, api: MemoryApi, broken: dict[str, tuple[Contents, str]], kind: str
) -> None:
    contents, said = broken[kind]
    api.put_secret(contents)
    with capture_logs() as logs:
        replica = await start()
    assert [line["problems"][0] for line in logs if line["event"] == "ca_secret_broken"] == [said]
    assert replica.words()[0] == "ca secret-broken"
    assert replica.handshake(api.bundle) == ""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_running_replica_puts_back_what_it_knows_and_nobody_notices(
    start: Start, api: MemoryApi, broken: dict[str, tuple[Contents, str]], kind: str
) -> None:
    replica = await start()
    pair, trust = replica.source.current(), api.trust
    api.put_secret(broken[kind][0])
    replica.words()
    await replica.check()
    assert replica.words() == ["ca secret-broken"]
    assert api.trust == trust
    assert replica.source.current() is pair


async def test_a_secret_that_was_deleted_is_put_back(start: Start, api: MemoryApi) -> None:
    replica = await start()
    trust = api.trust
    del api.objects[SECRET]
    replica.words()
    await replica.check()
    assert replica.words() == ["ca secret-gone"]
    assert api.trust == trust


async def test_a_replica_that_starts_without_the_secret_keeps_the_leaves_of_others_trusted(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    running = await start()
    del api.objects[SECRET]
    started = await start()
    assert started.words() == ["ca first", "ca-bundle not-trusted", "leaf first"]
    assert running.handshake(api.bundle) == started.handshake(api.bundle) == ""
    for _ in range(2):
        clock.advance(MINUTE)
        await running.check()
    assert running.authority == started.authority == api.trust.signer.certificate


async def test_an_empty_secret_is_filled_and_keeps_its_labels(start: Start, api: MemoryApi) -> None:
    api.put_secret({}, {"helm": "release"})
    replica = await start()
    assert replica.words()[0] == "ca first"
    assert api.objects[SECRET]["metadata"]["labels"] == {"helm": "release", "hami.io/dra-webhook-ca": "true"}


async def test_a_secret_of_somebody_else_is_left_alone(start: Start, api: MemoryApi) -> None:
    api.put_secret({"password": b"hunter2"}, {})
    before = api.objects[SECRET]
    replica = await start()
    assert api.objects[SECRET] == before
    assert not replica.source.healthy().ok
    assert replica.source.healthy().text == (
        "there is no CA yet; Secret gpu/ca was not made by this webhook (it has no label hami.io/dra-webhook-ca) and "
        "is left alone; delete it, or choose another name in server.tls.secretName"
    )
    del api.objects[SECRET]
    await replica.check()
    assert replica.source.healthy().ok


async def test_a_running_replica_serves_on_when_its_secret_becomes_somebody_elses(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica = await start()
    api.put_secret({"password": b"hunter2"}, {})
    replica.words()
    clock.advance(5 * DAY)
    await replica.check()
    assert replica.words() == ["leaf due"]
    assert replica.handshake(api.bundle) == ""
    assert "was not made by this webhook" in replica.source.healthy().text


async def test_an_expired_ca_is_replaced_and_no_longer_trusted(start: Start, api: MemoryApi, clock: Clock) -> None:
    expired = Trust(Issuer(NAMES, clock=Clock(clock() - 400 * DAY)).authority())
    api.put(
        SECRET, {"metadata": {"name": "ca", "labels": {"hami.io/dra-webhook-ca": "true"}}, "data": expired.to_data()}
    )
    replica = await start()
    assert replica.words()[0] == "ca expired"
    assert expired.signer.certificate not in api.trusted
    assert replica.handshake(api.bundle) == ""


async def test_keys_that_others_added_to_the_secret_stay(start: Start, api: MemoryApi) -> None:
    replica = await start()
    api.objects[SECRET]["data"]["note"] = "aGVsbG8="
    await replica.keeper.rotate()
    assert api.objects[SECRET]["data"]["note"] == "aGVsbG8="


async def test_a_secret_that_cannot_be_written_leaves_the_old_pair_serving(
    start: Start, api: MemoryApi, clock: Clock
) -> None:
    replica = await start()
    replica.words()
    clock.advance(250 * DAY)
    refusal = ApiProblem(422, "data: Forbidden: field is immutable when `immutable` is set")
    api.problem = lambda verb, _path: refusal if verb == "update" else None
    await replica.check()
    assert replica.words() == ["leaf expired"]
    assert "field is immutable" in replica.source.healthy().text
    assert replica.handshake(api.bundle) == ""


async def test_a_secret_that_others_write_all_the_time_is_tried_again_later(start: Start, api: MemoryApi) -> None:
    replica = await start()
    api.problem = lambda verb, path: ApiProblem(409, "conflict") if (verb, path) == ("update", SECRET) else None
    api.put_secret({"ca.crt": b"x"})
    await replica.check()
    assert "is changed by others all the time" in replica.source.healthy().text
    with pytest.raises(NotDone, match=r"ca\.key is missing; a running webhook makes a CA by itself"):
        await replica.keeper.rotate()


async def test_only_one_of_two_people_rotates(start: Start, api: MemoryApi) -> None:
    replica = await start()
    api.problem = lambda verb, _path: ApiProblem(409, "conflict") if verb == "update" else None
    with pytest.raises(NotDone, match="was changed by somebody else just now"):
        await replica.keeper.rotate()


async def test_there_must_be_a_ca_to_rotate(api: MemoryApi, clock: Clock) -> None:
    with pytest.raises(NotDone, match="Secret gpu/ca does not exist; a running webhook makes a CA by itself"):
        await Replica(api, clock).keeper.rotate()


async def test_an_old_ca_whose_time_has_no_zone_is_taken_as_utc(api: MemoryApi, authority: Authority) -> None:
    contents = {"ca.crt": authority.cert_pem, "ca.key": authority.key_pem}
    api.put_secret(contents | {"old-ca.crt": authority.cert_pem, "old-ca-until": b"2026-06-09T00:00:00"})
    assert api.trust.old_until is not None
    assert api.trust.old_until.utcoffset() == timedelta()
