"""Makes CAs and leaves: ECDSA on P-256, random serial numbers, for TLS servers only."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final, Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import COMMON_NAME, SKEW_ALLOWANCE, Authority, renewal_time
from certs.pair import CertificatePair, verified_pair
from certs.source import Clock, wall_clock

CA_LIFE: Final = timedelta(days=365)
LEAF_LIFE: Final = timedelta(days=7)
_SERIAL_BITS: Final = 159
"""RFC 5280, 4.1.2.2: positive, and at most 20 octets."""
_LEAF_NAME: Final = "hami-dra-webhook"


class Randomness(Protocol):
    """Where keys and serial numbers come from; injected, so that tests can tell certificates apart."""

    def key(self) -> ec.EllipticCurvePrivateKey:
        """A new key on P-256."""

    def serial(self) -> int:
        """A positive number below 2¹⁵⁹."""


class SystemRandomness:
    """The random numbers of OpenSSL and of the system."""

    def key(self) -> ec.EllipticCurvePrivateKey:
        """A new key on P-256."""
        return ec.generate_private_key(ec.SECP256R1())

    def serial(self) -> int:
        """A positive number below 2¹⁵⁹."""
        return secrets.randbits(_SERIAL_BITS - 1) + 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate to serve, with the CA that signed it."""

    pair: CertificatePair
    authority: Authority

    @property
    def renew_at(self) -> datetime:
        """When another leaf should take over."""
        return renewal_time(self.pair.not_before, self.pair.not_after)


def service_names(service: str, namespace: str, cluster_domain: str) -> tuple[str, ...]:
    """Every name by which a Service is called; API servers use the one that ends in ``svc``."""
    return (
        service,
        f"{service}.{namespace}",
        f"{service}.{namespace}.svc",
        f"{service}.{namespace}.svc.{cluster_domain}",
    )


class Issuer:
    """Makes certificates.

    Args:
        names: DNS names and IP addresses of the leaves.
        ca_life: how long a CA is valid.
        leaf_life: how long a leaf is valid, at most as long as its CA.
        clock: gives the time.
        randomness: gives keys and serial numbers.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        ca_life: timedelta = CA_LIFE,
        leaf_life: timedelta = LEAF_LIFE,
        clock: Clock = wall_clock,
        randomness: Randomness | None = None,
    ) -> None:
        self._names = [_general_name(name) for name in names]
        self._ca_life = ca_life
        self.leaf_life = leaf_life
        self._clock = clock
        self._randomness = randomness or SystemRandomness()

    def authority(self) -> Authority:
        """A new CA, that signs itself and leaves, and no further CAs."""
        key, serial, now = self._randomness.key(), self._randomness.serial(), self._clock()
        name = _name(f"{COMMON_NAME} {serial % (1 << 32):08x}")
        builder = _builder(name, name, key.public_key(), serial, now, now + self._ca_life)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        return Authority(builder.sign(key, hashes.SHA256()), key)

    def leaf(self, authority: Authority) -> Leaf:
        """A new leaf of a CA, that ends with it at the latest."""
        key, serial, now = self._randomness.key(), self._randomness.serial(), self._clock()
        not_after = min(now + self.leaf_life, authority.not_after)
        issuer = authority.certificate
        builder = _builder(_name(_LEAF_NAME), issuer.subject, key.public_key(), serial, now, not_after)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        builder = builder.add_extension(x509.SubjectAlternativeName(self._names), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        certificate = builder.sign(authority.key, hashes.SHA256())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        pair = verified_pair(certificate.public_bytes(Encoding.PEM), pem, now, chain_name="the new leaf")
        return Leaf(pair, authority)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    serial: int,
    now: datetime,
    not_after: datetime,
) -> x509.CertificateBuilder:
    begin = now - SKEW_ALLOWANCE
    builder = x509.CertificateBuilder(issuer, subject, public_key, serial, begin, not_after)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
