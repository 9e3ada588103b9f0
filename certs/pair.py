"""A certificate chain with its private key, verified before it is served."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


class CertificateError(ValueError):
    """A pair that cannot be served; ``problems`` holds one sentence for each reason, with its file."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


@dataclass(frozen=True, slots=True)
class CertificatePair:
    """A chain (leaf first) and the key of its leaf, in PEM."""

    chain_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)
    not_before: datetime
    not_after: datetime
    """End of the certificate of the chain that ends first, in UTC."""
    names: tuple[str, ...]
    """DNS names and IP addresses that the leaf is good for."""


def verified_pair(
    chain_pem: bytes, key_pem: bytes, now: datetime, *, chain_name: str = "certificate", key_name: str = "key"
) -> CertificatePair:
    """The pair, when an API server could use it.

    Args:
        chain_pem: leaf first.
        key_pem: without a passphrase.
        now: aware UTC time.
        chain_name: what people call the source of the chain, for messages.
        key_name: the same for the key.

    Raises:
        CertificateError: not PEM, the key belongs to another certificate, the time is not within the validity, no
            subjectAltName (Go ignores the common name since 1.15, so no API server would accept it), or OpenSSL refuses
            the pair (a key that is too short).
    """
    chain, key = parse_pair(chain_pem, key_pem, chain_name, key_name)
    not_before = max(certificate.not_valid_before_utc for certificate in chain)
    not_after = min(certificate.not_valid_after_utc for certificate in chain)
    names = _names(chain[0])
    problems = []
    if public_bytes(chain[0].public_key()) != public_bytes(key.public_key()):
        problems.append(f"{key_name}: is not the key of the first certificate in {chain_name}")
    if now >= not_after:
        problems.append(f"{chain_name}: expired at {not_after:%Y-%m-%d %H:%M:%S} UTC")
    if now < not_before:
        problems.append(f"{chain_name}: is valid only from {not_before:%Y-%m-%d %H:%M:%S} UTC on; is the clock right?")
    if not names:
        problems.append(f"{chain_name}: has no subjectAltName; API servers look at nothing else")
    if problems:
        raise CertificateError(problems)
    pair = CertificatePair(chain_pem, key_pem, not_before, not_after, names)
    try:
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
    except ssl.SSLError as error:
        raise CertificateError([f"{chain_name}: OpenSSL refuses it: {error.reason or error}"]) from error
    return pair


def parse_pair(
    chain_pem: bytes, key_pem: bytes, chain_name: str, key_name: str
) -> tuple[list[x509.Certificate], PrivateKeyTypes]:
    """The certificates and the key in two PEM texts; nothing about them is checked.

    Raises:
        CertificateError: not PEM, or a key behind a passphrase.
    """
    problems = []
    chain: list[x509.Certificate] = []
    key: PrivateKeyTypes | None = None
    try:
        chain = x509.load_pem_x509_certificates(chain_pem)
    except ValueError:
        problems.append(f"{chain_name}: holds no certificate in PEM form")
    try:
        key = load_pem_private_key(key_pem, password=None)
    except TypeError:
        problems.append(f"{key_name}: the key is protected by a passphrase; write it without one")
    except ValueError:
        problems.append(f"{key_name}: holds no private key in PEM form")
    if key is None or problems:
        raise CertificateError(problems)
    return chain, key


def public_bytes(key: PublicKeyTypes) -> bytes:
    """What two keys are compared by."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def load_pair(context: ssl.SSLContext, pair: CertificatePair) -> None:
    """Put a pair into a context.

    It goes through a file in memory: the ssl module reads files only, and a key belongs on no disk.

    Raises:
        ssl.SSLError: OpenSSL refuses the pair.
    """
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(pair.key_pem + b"\n" + pair.chain_pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return (
        *names.get_values_for_type(x509.DNSName),
        *(str(address) for address in names.get_values_for_type(x509.IPAddress)),
    )
