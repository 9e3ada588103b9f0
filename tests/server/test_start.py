"""The start: fast, small, and clear about what is wrong."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from cryptography import x509

from app.server.errors import StartError
from app.server.listeners import bind
from tests.admission.reviews import pod, review
from tests.server.process import Certificates, running, settings_for, start, wait_for


def refusal(folder: Path, certificates: Certificates, **groups: Mapping[str, Any]) -> list[str]:
    """What a server that cannot start says, without the folder's name."""
    server = start(folder, certificates, **groups)
    assert server.wait() == 1
    assert server.lines() == []
    lines = (folder / "server.err").read_text().replace(f"{folder}/", "").splitlines()
    assert lines[0] == "hami-dra-webhook cannot start:"
    return lines[1:]


def test_the_start_costs_less_than_two_seconds_of_one_processor(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates) as server:
        assert server.ready()[0] == 200
        assert server.metric("process_cpu_seconds_total") < 2


def test_the_server_fits_into_130_mib(tmp_path: Path, certificates: Certificates) -> None:
    """One of its own: what others have sent to the shared one is nobody's promise."""
    with running(tmp_path, certificates) as server, server.client() as client:
        for i in range(200):
            client.post("/mutate", content=review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(1000 + i)})))
        assert server.metric("process_resident_memory_bytes") < 130 * 2**20


def test_without_files_a_standalone_server_makes_a_certificate_in_memory(
    tmp_path: Path, certificates: Certificates
) -> None:
    tls = {"extraNames": ["webhook.example"]}
    with running(tmp_path, certificates, server={"tls": tls}) as server:
        status, text = server.ready()
        assert status == 200
        assert text.startswith("[+]certificate ok: self-signed in memory, valid until ")
        pem = ssl.get_server_certificate(("127.0.0.1", httpx.URL(server.webhook).port or 0))
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [
        "hami-dra-webhook",
        "hami-dra-webhook.default",
        "hami-dra-webhook.default.svc",
        "hami-dra-webhook.default.svc.cluster.local",
        "localhost",
        "webhook.example",
    ]
    assert names.value.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]


def test_files_that_are_not_there_are_named_both_at_once(tmp_path: Path, own_certificates: Certificates) -> None:
    own_certificates.cert_file.unlink()
    own_certificates.key_file.unlink()
    assert refusal(tmp_path, own_certificates) == [
        "  - tls.crt: cannot be read: No such file or directory",
        "  - tls.key: cannot be read: No such file or directory",
    ]


def test_a_key_of_another_certificate_is_refused(tmp_path: Path, own_certificates: Certificates) -> None:
    certificate = own_certificates.cert_file.read_bytes()
    own_certificates.issue()
    own_certificates.cert_file.write_bytes(certificate)
    assert refusal(tmp_path, own_certificates) == ["  - tls.key: is not the key of the first certificate in tls.crt"]


def test_a_port_that_is_taken_is_named(tmp_path: Path, certificates: Certificates) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        lines = refusal(tmp_path, certificates, server={"port": port})
    assert lines == [f"  - cannot listen on 127.0.0.1, port {port}: Address already in use"]


def test_a_cluster_that_is_not_configured_is_refused_with_what_was_looked_for(
    tmp_path: Path, certificates: Certificates
) -> None:
    missing = tmp_path / "kubeconfig"
    lines = refusal(tmp_path, certificates, cluster={"standalone": False, "kubeconfig": str(missing)})
    assert lines == ["  - kubeconfig kubeconfig does not exist"]


def test_console_logging_is_text_for_people(tmp_path: Path, certificates: Certificates) -> None:
    server = start(tmp_path, certificates, logging={"format": "console"})
    try:
        text = wait_for(server.log_file.read_text)
    finally:
        server.signal()
        assert server.wait() == 0
    assert re.match(r"\S+Z \[info +\] serving +ops=http://127", text)


def test_the_command_line_serves_with_its_flags_over_the_file(tmp_path: Path, certificates: Certificates) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump(settings_for(certificates, server={"tls": {}})))
    files = ["--tls-cert", str(certificates.cert_file), "--tls-key", str(certificates.key_file)]
    command = [sys.executable, "-m", "app", "serve", "--config", str(config), *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "serving"
        finally:
            process.terminate()
        assert process.wait(20) == 0


def test_every_address_is_served_in_both_families() -> None:
    with bind("::", 0) as listening:
        port = listening.getsockname()[1]
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, port), timeout=5).close()


def test_an_address_that_is_not_ours_is_refused() -> None:
    with pytest.raises(StartError, match=r"cannot listen on 192\.0\.2\.1, port 0: Cannot assign requested address"):
        bind("192.0.2.1", 0)


def test_a_name_that_does_not_exist_is_refused() -> None:
    with pytest.raises(StartError, match=r"cannot listen on nowhere\.invalid, port 0: "):
        bind("nowhere.invalid", 0)
