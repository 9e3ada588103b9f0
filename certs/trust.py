"""What replicas share: the CA that signs, and the CAs whose leaves may still be served."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.authority import Authority, is_authority, read_authority
from certs.pair import CertificateError

CERT, KEY, OLD, OLD_UNTIL = "ca.crt", "ca.key", "old-ca.crt", "old-ca-until"
KEYS: Final = (CERT, KEY, OLD, OLD_UNTIL)


@dataclass(frozen=True, slots=True)
class Trust:
    """The contents of the Secret."""

    signer: Authority
    """Signs new leaves."""
    old: tuple[x509.Certificate, ...] = ()
    """Signed leaves that may still be served; the newest first."""
    old_until: datetime | None = None
    """When the last leaf of the old CAs has expired; None without old ones."""

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """Every CA that API servers should trust now."""
        return (self.signer.certificate, *self.old)

    @property
    def bundle(self) -> bytes:
        """The same as PEM text."""
        return pem(self.certificates)

    def succeeded_by(self, signer: Authority, until: datetime) -> Trust:
        """Another CA signs from now on; this one stays trusted until a time."""
        return Trust(signer, self.certificates, until)

    def to_data(self) -> dict[str, str]:
        """The ``data`` of the Secret."""
        parts = {CERT: self.signer.cert_pem, KEY: self.signer.key_pem}
        if self.old and self.old_until is not None:
            parts |= {OLD: pem(self.old), OLD_UNTIL: self.old_until.isoformat(timespec="seconds").encode()}
        return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def read_trust(data: Mapping[str, str], source: str) -> Trust:
    """The reverse of :meth:`Trust.to_data`.

    Args:
        data: of a Secret, values in base64.
        source: what the Secret is called in messages.

    Raises:
        CertificateError: something is missing or cannot be used; each problem names its key.
    """
    missing = [f"{source}: {key} is missing" for key in (CERT, KEY) if not data.get(key)]
    if missing:
        raise CertificateError(missing)
    cert, key = _decoded(data, CERT, source), _decoded(data, KEY, source)
    signer = read_authority(cert, key, cert_name=f"{source}: {CERT}", key_name=f"{source}: {KEY}")
    if not data.get(OLD):
        return Trust(signer)
    try:
        old = tuple(x509.load_pem_x509_certificates(_decoded(data, OLD, source)))
        until = datetime.fromisoformat(_decoded(data, OLD_UNTIL, source).decode())
    except (ValueError, KeyError) as error:
        raise CertificateError([f"{source}: {OLD} or {OLD_UNTIL} cannot be read: {error}"]) from error
    if not all(is_authority(certificate) for certificate in old):
        raise CertificateError([f"{source}: {OLD} holds a certificate that is not a CA's"])
    return Trust(signer, old, until if until.tzinfo else until.replace(tzinfo=UTC))


def pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Certificates as one PEM text."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def certificates_in(text: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM text; none when it cannot be read, as an API server would trust none of it."""
    try:
        return tuple(x509.load_pem_x509_certificates(text))
    except ValueError:
        return ()


def _decoded(data: Mapping[str, str], key: str, source: str) -> bytes:
    try:
        return base64.b64decode(data[key], validate=True)
    except binascii.Error as error:
        raise CertificateError([f"{source}: {key} is not base64"]) from error
