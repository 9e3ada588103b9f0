"""TLS contexts for a listener whose certificate changes while it serves."""

from __future__ import annotations

import ssl

from certs.pair import CertificatePair, load_pair


class SwappableContext:
    """A server context that hands each new connection to the newest certificate.

    The listener keeps :attr:`outer` for its whole life. During each handshake OpenSSL asks the SNI callback, also when
    the client sends no name, and the callback moves the connection to a context with the current pair. Connections
    that exist keep theirs.

    Args:
        pair: the first pair to serve.
        min_version: ``1.2`` or ``1.3``.
    """

    def __init__(self, pair: CertificatePair, min_version: str) -> None:
        self._min_version = ssl.TLSVersion.TLSv1_2 if min_version == "1.2" else ssl.TLSVersion.TLSv1_3
        self._inner = self._context(pair)
        self.outer = self._context(pair)
        self.outer.sni_callback = self._choose

    def swap(self, pair: CertificatePair) -> None:
        """Serve another verified pair from the next handshake on."""
        self._inner = self._context(pair)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._inner

    def _context(self, pair: CertificatePair) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._min_version
        # No session tickets: a resumed session would never see a new certificate, and API servers keep connections open
        # for minutes, so there is nothing to gain.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
        context.set_alpn_protocols(["http/1.1"])
        load_pair(context, pair)
        return context
