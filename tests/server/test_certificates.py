"""The certificate: verified before it is served, and changed without a pause."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from structlog.testing import capture_logs

from certs.files import FileSource
from certs.pair import CertificateError, CertificatePair, verified_pair
from certs.tls import SwappableContext
from tests.server.process import Certificates, running

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def source(own_certificates: Certificates, clock: Clock) -> FileSource:
    made = FileSource(own_certificates.cert_file, own_certificates.key_file, clock=clock, interval=0.02)
    await made.start()
    return made


def issue(certificates: Certificates, not_after: datetime) -> None:
    """Write a leaf that ends at a time."""
    leaf = certificates.ca.issue_cert("127.0.0.1", not_after=not_after)
    certificates.key_file.write_bytes(leaf.private_key_pem.bytes())
    certificates.cert_file.write_bytes(leaf.cert_chain_pems[0].bytes())


def pem_of(leaf: trustme.LeafCert) -> tuple[bytes, bytes]:
    return b"".join(blob.bytes() for blob in leaf.cert_chain_pems), leaf.private_key_pem.bytes()


def refusal(chain: bytes, key: bytes, now: datetime = NOW) -> str:
    with pytest.raises(CertificateError) as caught:
        verified_pair(chain, key, now, chain_name="tls.crt", key_name="tls.key")
    return str(caught.value)


def test_a_good_pair_knows_its_names_and_its_end() -> None:
    chain, key = pem_of(trustme.CA().issue_cert("webhook.hami.svc", "127.0.0.1", not_after=NOW + timedelta(days=7)))
    pair = verified_pair(chain, key, NOW)
    assert set(pair.names) == {"webhook.hami.svc", "127.0.0.1"}
    assert pair.not_after == NOW + timedelta(days=7)
    assert "PRIVATE" not in repr(pair)


def test_a_pair_that_cannot_be_served_is_refused_with_the_reason() -> None:
    ca = trustme.CA()
    chain, key = pem_of(ca.issue_cert("a.example"))
    _, other_key = pem_of(ca.issue_cert("a.example"))
    assert refusal(b"x", b"y") == (
        "tls.crt: holds no certificate in PEM form; tls.key: holds no private key in PEM form"
    )
    assert refusal(key, chain) == (
        "tls.crt: holds no certificate in PEM form; tls.key: holds no private key in PEM form"
    )
    assert refusal(chain, other_key) == "tls.key: is not the key of the first certificate in tls.crt"
    assert refusal(chain, key, datetime(3001, 1, 1, tzinfo=UTC)) == "tls.crt: expired at 3000-01-01 00:00:00 UTC"
    assert refusal(chain, key, datetime(1999, 1, 1, tzinfo=UTC)) == (
        "tls.crt: is valid only from 2000-01-01 00:00:00 UTC on; is the clock right?"
    )


def test_a_key_behind_a_passphrase_is_refused() -> None:
    chain, _ = pem_of(trustme.CA().issue_cert("a.example"))
    locked = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    assert refusal(chain, locked) == "tls.key: the key is protected by a passphrase; write it without one"


def test_a_certificate_without_names_is_refused_since_no_api_server_takes_it() -> None:
    chain, key = pem_of(trustme.CA().issue_cert(common_name="webhook"))
    assert refusal(chain, key) == "tls.crt: has no subjectAltName; API servers look at nothing else"


def test_a_key_that_openssl_finds_too_short_is_refused() -> None:
    key = rsa.generate_private_key(65537, 1024)  # noqa: S505 - this is the point
    name = x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("a.example")]), critical=True)
    chain = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert refusal(chain, pem) == "tls.crt: OpenSSL refuses it: EE_KEY_TOO_SMALL"


async def test_changed_files_are_picked_up(source: FileSource, own_certificates: Certificates) -> None:
    first, served = source.current(), asyncio.Queue[CertificatePair]()
    watching = asyncio.create_task(source.run(served.put_nowait))
    own_certificates.issue()
    changed = await asyncio.wait_for(served.get(), 5)
    watching.cancel()
    assert changed == source.current() != first


async def test_files_that_stay_the_same_change_nothing(source: FileSource, own_certificates: Certificates) -> None:
    own_certificates.cert_file.touch()
    assert source.check() is None


async def test_a_mounted_secret_changes_through_its_symlink(tmp_path: Path, clock: Clock) -> None:
    folders = []
    for i in range(2):
        folder = tmp_path / f"..2026_0{i}"
        folder.mkdir()
        Certificates(folder).issue()
        folders.append(folder)
    data = tmp_path / "..data"
    data.symlink_to(folders[0].name)
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    source = FileSource(tmp_path / "tls.crt", tmp_path / "tls.key", clock=clock)
    await source.start()
    assert source.check() is None
    fresh = tmp_path / "..data_tmp"
    fresh.symlink_to(folders[1].name)
    fresh.rename(data)
    changed = source.check()
    assert changed is not None
    assert changed.chain_pem == (folders[1] / "tls.crt").read_bytes()


async def test_a_bad_pair_leaves_the_old_one_serving_and_is_said_once(
    source: FileSource, own_certificates: Certificates
) -> None:
    good = source.current()
    own_certificates.cert_file.write_bytes(b"half a certifi")
    with capture_logs() as logs:
        assert source.check() is None
        assert source.check() is None
    assert [line["event"] for line in logs] == ["certificate_not_used"]
    assert source.current() is good
    health = source.healthy()
    assert health.ok
    assert health.text.endswith(
        f"the changed files are not used: {own_certificates.cert_file}: holds no certificate in PEM form"
    )


async def test_a_pair_that_was_seen_half_written_is_served_when_it_is_whole(
    source: FileSource, own_certificates: Certificates
) -> None:
    chain, key = pem_of(own_certificates.ca.issue_cert("127.0.0.1"))
    own_certificates.cert_file.write_bytes(chain)
    assert source.check() is None
    own_certificates.key_file.write_bytes(key)
    assert source.check() is not None
    assert "not used" not in source.healthy().text


async def test_files_that_vanish_leave_the_old_pair_serving(source: FileSource, own_certificates: Certificates) -> None:
    own_certificates.key_file.unlink()
    assert source.check() is None
    assert "tls.key: cannot be read: No such file or directory" in source.healthy().text


async def test_an_expired_pair_is_not_healthy(own_certificates: Certificates, clock: Clock) -> None:
    issue(own_certificates, NOW + timedelta(days=1))
    source = FileSource(own_certificates.cert_file, own_certificates.key_file, clock=clock)
    await source.start()
    assert source.healthy().text == "valid until 2026-06-02 00:00:00 UTC"
    clock.now += timedelta(days=1)
    assert not source.healthy().ok
    assert source.healthy().text.startswith("expired at 2026-06-02 00:00:00 UTC")


async def test_a_source_that_was_not_started_has_no_pair(own_certificates: Certificates) -> None:
    with pytest.raises(RuntimeError, match="was not started"):
        FileSource(own_certificates.cert_file, own_certificates.key_file).current()


@asynccontextmanager
async def listening(context: SwappableContext) -> AsyncIterator[int]:
    """An echo server over TLS; gives its port."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context.outer)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def served_certificate(port: int, *, name: str = "", version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """What a new connection is shown; an empty name sends none, as for an address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await reader.read()
    return bytes(certificate)


@pytest.mark.parametrize("name", ["", "webhook.hami.svc"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_new_connections_get_the_new_certificate_and_old_ones_go_on(name: str, version: ssl.TLSVersion) -> None:
    ca = trustme.CA()
    first, second = (verified_pair(*pem_of(ca.issue_cert("127.0.0.1")), NOW) for _ in range(2))
    context = SwappableContext(first, "1.2")
    trusting = ssl.create_default_context()
    ca.configure_trust(trusting)
    async with listening(context) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        shown = await served_certificate(port, name=name, version=version)
        assert shown == ssl.PEM_cert_to_DER_cert(first.chain_pem.decode())
        context.swap(second)
        shown = await served_certificate(port, name=name, version=version)
        assert shown == ssl.PEM_cert_to_DER_cert(second.chain_pem.decode())
        writer.write(b"still here\n")
        assert await reader.readline() == b"still here\n"
        writer.close()


def test_the_running_server_serves_a_changed_certificate(tmp_path: Path, own_certificates: Certificates) -> None:
    with running(tmp_path, own_certificates) as server, server.client() as old:
        before = server.metric("hami_dra_webhook_certificate_not_after_timestamp_seconds")
        assert old.get("/").status_code == 404
        issue(own_certificates, datetime.now(UTC) + timedelta(days=3))
        server.line("certificate_changed")
        assert old.get("/").status_code == 404
        with server.client() as new:
            assert new.get("/").status_code == 404
        assert server.metric("hami_dra_webhook_certificate_not_after_timestamp_seconds") < before
