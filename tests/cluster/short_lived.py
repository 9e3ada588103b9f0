"""The server as it is, with a CA that lives for seconds instead of a year: ``short_lived.py serve …``.

Everything else is real, also the clocks, so clients and API servers judge the certificates as they always do.
"""

from __future__ import annotations

from datetime import timedelta

from app.cli import main
from app.server import certificates
from app.settings import Tls
from certs.issue import Issuer, service_names

LEAF_LIFE = timedelta(seconds=20)
CA_LIFE = timedelta(seconds=48)
"""Each is renewed after two thirds: a leaf after 13 s, the CA after 32 s. The rest is for a busy machine."""


def issuer(tls: Tls, namespace: str, *further: str) -> Issuer:
    """In place of :func:`app.server.certificates.issuer`."""
    names = (*service_names(tls.service_name, namespace, tls.cluster_domain), *further, *tls.extra_names)
    return Issuer(names, ca_life=CA_LIFE, leaf_life=LEAF_LIFE)


if __name__ == "__main__":
    certificates.issuer = issuer
    main()
