"""A CA: its certificate and its key, checked before anything is signed with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from certs.pair import CertificateError, parse_pair, public_bytes

SKEW_ALLOWANCE: Final = timedelta(hours=24)
"""How far clocks may differ: every certificate is valid from that long before it is made. It costs nothing, since API
servers rely on who made it, not when; and a node whose clock is hours off is found in many clusters."""
RENEW_AFTER: Final = 2 / 3
"""Part of its life after which a certificate is renewed; the rest is time for somebody to find out why it was not."""
COMMON_NAME: Final = "hami-dra-webhook CA"
"""Begins the name of every CA that we make; a part of its serial number follows, so that names differ as keys do."""


def renewal_time(not_before: datetime, not_after: datetime) -> datetime:
    """When a certificate of ours is to be renewed: its life begins the allowance after ``not_before``."""
    made = not_before + SKEW_ALLOWANCE
    return made + (not_after - made) * RENEW_AFTER


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA that can sign; made by :func:`certs.issue.Issuer.authority` or read by :func:`read_authority`."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False, compare=False)

    @property
    def not_after(self) -> datetime:
        """End of the certificate, in UTC."""
        return self.certificate.not_valid_after_utc

    @property
    def renew_at(self) -> datetime:
        """When another CA should take over."""
        return renewal_time(self.certificate.not_valid_before_utc, self.not_after)

    @property
    def cert_pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key in PEM (PKCS #8, not encrypted)."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_authority(cert_pem: bytes, key_pem: bytes, *, cert_name: str, key_name: str) -> Authority:
    """The CA in two PEM texts. Its validity is not looked at: an expired CA is a CA.

    Raises:
        CertificateError: not PEM, more than one certificate, not a CA, a key that is not ECDSA on P-256, or the key of
            another certificate.
    """
    certificates, key = parse_pair(cert_pem, key_pem, cert_name, key_name)
    certificate = certificates[0]
    problems = []
    if len(certificates) > 1:
        problems.append(f"{cert_name}: holds {len(certificates)} certificates; it must be one")
    if not is_authority(certificate):
        problems.append(f"{cert_name}: is not a CA certificate (basicConstraints does not say CA)")
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CertificateError([*problems, f"{key_name}: is not a key of the kind that we use, ECDSA on P-256"])
    if public_bytes(certificate.public_key()) != public_bytes(key.public_key()):
        problems.append(f"{key_name}: is not the key of {cert_name}")
    if problems:
        raise CertificateError(problems)
    return Authority(certificate, key)


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether the certificate says that it is a CA's."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def is_ours(certificate: x509.Certificate) -> bool:
    """Whether the certificate names itself as one of our CAs."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return is_authority(certificate) and any(str(name.value).startswith(f"{COMMON_NAME} ") for name in names)


def serial_text(certificate: x509.Certificate) -> str:
    """The serial number as people compare it."""
    return f"{certificate.serial_number:x}"
