"""What a replica serves, and whether an API server would trust it."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import Final

from cryptography import x509

_SECONDS: Final = 3.0
"""For one connection: from most laptops no address of a pod can be reached, and nobody waits for that."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect, and the name that an API server insists on."""

    host: str
    port: int
    server_name: str

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Served:
    """The certificate at one address."""

    address: Address
    certificate: x509.Certificate
    problem: str
    """Why an API server would not trust it; empty when it would."""

    @property
    def names_us(self) -> bool:
        """Whether the certificate is for the name that an API server insists on."""
        try:
            names = self.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return False
        return self.address.server_name in names.get_values_for_type(x509.DNSName)


async def look(address: Address, bundle: bytes) -> Served | None:
    """Connect, and judge by the caBundle as an API server does; None where nothing can be reached.

    Args:
        address: of a replica, or of the Service.
        bundle: PEM text.
    """
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        seen = await _certificate(address, anybody)
    except (OSError, TimeoutError):
        return None
    return Served(address, x509.load_der_x509_certificate(seen), await _problem(address, bundle))


async def _problem(address: Address, bundle: bytes) -> str:
    try:
        strict = ssl.create_default_context(cadata=bundle.decode())
    except (ssl.SSLError, ValueError):
        return "the caBundle holds no certificate"
    strict.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Go, to which any trusted certificate ends a chain
    strict.verify_flags &= ~ssl.VERIFY_X509_STRICT  # stricter than Go, and on by default since Python 3.13
    try:
        await _certificate(address, strict)
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except (OSError, TimeoutError) as error:
        return f"the second connection failed: {error or type(error).__name__}"
    return ""


async def _certificate(address: Address, context: ssl.SSLContext) -> bytes:
    """The leaf, in DER, of a connection that was made."""
    async with asyncio.timeout(_SECONDS):
        _, writer = await asyncio.open_connection(
            address.host, address.port, ssl=context, server_hostname=address.server_name
        )
    try:
        shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return shown
    finally:
        writer.transport.abort()
