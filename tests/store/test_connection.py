"""The cluster is found, or it is said clearly what was tried."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from kubernetes.aio.config import incluster_config

from app.cluster.api import ApiError, Connection, Unreachable
from app.cluster.connection import ConnectError, connect
from tests.store.fake_api import FakeApi
from tests.store.kit import Tally, kubeconfig


async def test_a_kubeconfig_is_used_with_its_credentials(api: FakeApi, connection: Connection) -> None:
    assert connection.host == api.url
    assert (await connection.request("get", "/version"))["major"] == "1"


async def test_the_environment_names_the_kubeconfig(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    connection = await connect(environ={"KUBECONFIG": f"/nowhere:{file}", "KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert connection.host == "http://127.0.0.1:1"
    await connection.close()


async def test_the_file_in_the_home_directory_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config", "http://127.0.0.1:2")
    monkeypatch.setenv("HOME", str(tmp_path))
    connection = await connect(context="there", environ={})
    assert connection.host == "http://127.0.0.1:2"
    await connection.close()


async def test_without_any_cluster_it_is_said_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(
        ConnectError, match=r"no cluster to connect to: \$KUBECONFIG is not set, .*/\.kube/config does not"
    ):
        await connect(environ={})


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"kubeconfig .*/absent does not exist"):
        await connect(tmp_path / "absent")
    with pytest.raises(ConnectError, match=r"\$KUBECONFIG names /absent, which does not exist"):
        await connect(environ={"KUBECONFIG": "/absent"})


async def test_a_missing_context_is_answered_with_those_that_exist(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    with pytest.raises(ConnectError, match="it has no context 'prod'; it has: here, there"):
        await connect(file, "prod")


@pytest.mark.parametrize("text", ["", "[]", "{", "apiVersion: v1\nkind: Config\n", "\x00"])
async def test_a_broken_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken"
    file.write_text(text)
    with pytest.raises(ConnectError, match=r"kubeconfig .*/broken cannot be used: ."):
        await connect(file)
    with pytest.raises(ConnectError, match=r"kubeconfig .*/broken cannot be used: ."):
        await connect(file, "prod")


async def test_a_pod_without_a_service_account_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "absent"))  # tests may run in a pod
    with pytest.raises(ConnectError, match=r"service account cannot be used: ."):
        await connect(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


@pytest.fixture
async def tls_api(ca: trustme.CA) -> AsyncIterator[FakeApi]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    server = FakeApi()
    await server.start(tls=context)
    yield server
    await server.stop()


@pytest.fixture
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def in_a_pod(tls_api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a kubelet gives a pod: two variables and a folder with token and CA."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(tls_api.port))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("of-the-pod")
    return tmp_path


async def test_a_pod_uses_its_service_account(tls_api: FakeApi, ca: trustme.CA, in_a_pod: Path) -> None:
    ca.cert_pem.write_to_path(str(in_a_pod / "ca.crt"))
    connection = await connect()
    await connection.request("get", "/version")
    assert tls_api.headers[-1]["Authorization"] == "bearer of-the-pod"
    await connection.close()


async def test_a_server_with_another_ca_is_not_trusted(tls_api: FakeApi, in_a_pod: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(in_a_pod / "ca.crt"))
    connection = await connect()
    with pytest.raises(Unreachable, match=r"cannot be reached: .*CERTIFICATE_VERIFY_FAILED"):
        await connection.request("get", "/version")
    assert tls_api.calls == []
    await connection.close()


async def test_the_token_is_sent(api: FakeApi, tmp_path: Path) -> None:
    connection = await connect(kubeconfig(tmp_path / "k", api.url, token="open-sesame"))  # noqa: S106
    await connection.request("get", "/version")
    assert api.headers[-1]["Authorization"] == "Bearer open-sesame"
    assert api.headers[-1]["User-Agent"] == "hami-dra-webhook"
    await connection.close()


async def test_an_error_carries_the_api_server_s_words(connection: Connection, tally: Tally) -> None:
    with pytest.raises(ApiError, match='pods "x" not found') as error:
        await connection.request("get", "/api/v1/namespaces/a/pods/x")
    assert (error.value.code, error.value.reason) == (404, "NotFound")
    assert tally.counts["get 404"] == 1


async def test_a_page_of_a_proxy_is_shortened(api: FakeApi, connection: Connection) -> None:
    api.raw = (503, b"<html>\n  <b>no   upstream</b>" + b"x" * 10_000)
    with pytest.raises(ApiError) as error:
        await connection.request("get", "/version")
    assert error.value.message.startswith("<html> <b>no upstream</b>xxx")
    assert len(error.value.message) == 300


async def test_an_answer_that_is_not_json_is_no_answer(api: FakeApi, connection: Connection) -> None:
    api.raw = (200, b"<html>log in first</html>")
    with pytest.raises(Unreachable, match="answered with something that is not JSON"):
        await connection.request("get", "/version")


async def test_an_error_without_a_body_has_its_status(api: FakeApi, connection: Connection) -> None:
    api.raw = (502, b"")
    with pytest.raises(ApiError, match="HTTP status 502"):
        await connection.request("get", "/version")


async def test_an_absent_server_is_told_with_its_address(api: FakeApi, connection: Connection, tally: Tally) -> None:
    await api.stop()
    with pytest.raises(Unreachable, match=f"the Kubernetes API at {api.url} cannot be reached: Cannot connect"):
        await connection.request("get", "/version")
    assert tally.counts["get 0"] == 1
