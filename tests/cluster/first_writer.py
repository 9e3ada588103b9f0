"""Processes that do what a self-signed replica does before it serves: ``first_writer.py KUBECONFIG NAMESPACE SECRET…``.

For each Secret, five of them begin at the same moment. They are forked from a process that has loaded the server, since
loading it a hundred times would take minutes. Each prints a line of JSON: which CA signed its certificate, and whether
it made that CA.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import structlog
from cryptography import x509

from app.cluster.certificates import CertificateApi
from app.cluster.connection import connect
from app.server.certificates import open_source
from app.server.metrics import Metrics
from app.settings import Tls
from certs.shared import SharedSource

AT_ONCE = 5


def start(kubeconfig: Path, namespace: str, secret: str, together: Barrier) -> None:
    """One process."""
    together.wait(30)
    asyncio.run(settle(kubeconfig, namespace, secret))


async def settle(kubeconfig: Path, namespace: str, secret: str) -> None:
    """Start the certificates as the server does, and look at everything once."""
    metrics, tls = Metrics(), Tls(secret_name=secret)
    connection = await connect(kubeconfig)
    source, checks = await open_source(tls, CertificateApi(connection, seconds=10), namespace, metrics)
    assert isinstance(source, SharedSource)
    await source.check()
    await connection.close()
    leaf = x509.load_pem_x509_certificate(source.current().chain_pem)
    made = 'reason="first",what="ca"' in metrics.exposition().decode()
    said = {"secret": secret, "ca": leaf.issuer.rfc4514_string(), "made": made, "good": checks["certificate"]().ok}
    os.write(sys.stdout.fileno(), f"{json.dumps(said)}\n".encode())  # lines of five processes must not mix


def main(kubeconfig: Path, namespace: str, *secrets: str) -> None:
    """All rounds, one after the other."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    forking = multiprocessing.get_context("fork")
    for secret in secrets:
        together = forking.Barrier(AT_ONCE)
        arguments = (kubeconfig, namespace, secret, together)
        processes = [forking.Process(target=start, args=arguments) for _ in range(AT_ONCE)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
