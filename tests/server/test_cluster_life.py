"""A server with a cluster: waits for it, works without it, and tells what it cannot see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.cluster.observer import StoreObserver
from app.server.metrics import Metrics
from tests.admission.reviews import SHARED, pod, review
from tests.cluster.testbed.processes import free_port
from tests.server.process import Certificates, ServerProcess, running, wait_for
from tests.store.fake_api import FakeApi

OTHER = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "9k"}
HAMI_CLASS = {"metadata": {"name": "hami-core-gpu.project-hami.io"}, "spec": {}}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    """An API server that is not started yet, with the class of the default driver."""
    fake = FakeApi()
    fake.put("deviceclasses", HAMI_CLASS)
    yield fake
    await fake.stop()


@asynccontextmanager
async def serving(folder: Path, certificates: Certificates, port: int) -> AsyncIterator[ServerProcess]:
    """A server whose kubeconfig names an API server on a loopback port."""
    kubeconfig = folder / "kubeconfig"
    named = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {"clusters": [named], "users": [{"name": "u", "user": {}}], "contexts": [context], "current-context": "c"}
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
    cluster = {"standalone": False, "kubeconfig": str(kubeconfig)}
    manager = running(folder, certificates, cluster=cluster)
    server = await asyncio.to_thread(manager.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


async def until(probe: Callable[[], Any]) -> Any:
    """Wait in a thread: the API server of the test lives in this loop."""
    return await asyncio.to_thread(wait_for, probe)


async def ready(server: ServerProcess) -> tuple[int, str]:
    return await asyncio.to_thread(server.ready)


async def send(server: ServerProcess, limits: dict[str, str]) -> dict[str, Any]:
    """The response to a review."""

    def post() -> dict[str, Any]:
        with server.client() as client:
            response: dict[str, Any] = client.post("/mutate?timeout=5s", content=review(pod(limits))).json()["response"]
            return response

    return await asyncio.to_thread(post)


async def created(server: ServerProcess) -> float:
    """Objects that the server has created, by its own count."""
    sample = 'hami_dra_webhook_api_requests_total{code="201",verb="create"}'
    return await asyncio.to_thread(server.metric, sample)


async def test_a_replica_waits_for_its_cluster_and_then_no_longer_needs_it(
    tmp_path: Path, certificates: Certificates, api: FakeApi
) -> None:
    port = free_port()
    async with serving(tmp_path, certificates, port) as server:
        status, text = await ready(server)
        assert status == 503
        assert "[-]facts failed: " in text
        await api.start(port)
        await until(lambda: server.ready()[0] == 200)
        assert (await send(server, SHARED))["allowed"]
        assert len(api.templates("team-a")) == 1
        await api.stop()
        assert (await ready(server))[0] == 200
        assert (await send(server, SHARED))["allowed"]
        refused = await send(server, OTHER)
        assert refused["status"]["code"] == 503
        assert refused["status"]["message"].endswith("try again")
        server.signal()
        assert await asyncio.to_thread(server.wait) == 0


async def quiet(api: FakeApi) -> None:
    """Wait until the server has done what it does by itself when it starts."""
    before = -1
    while before != len(api.calls):
        before = len(api.calls)
        await asyncio.sleep(0.5)


async def test_a_known_template_costs_no_api_call(tmp_path: Path, certificates: Certificates, api: FakeApi) -> None:
    await api.start()
    async with serving(tmp_path, certificates, api.port) as server:
        await until(lambda: server.ready()[0] == 200)
        await send(server, SHARED)
        await quiet(api)
        made, counted = len(api.calls), await created(server)
        assert counted > 0
        for _ in range(20):
            assert (await send(server, SHARED))["allowed"]
        assert (len(api.calls), await created(server)) == (made, counted)
        reused = 'hami_dra_webhook_templates_total{result="reused"}'
        assert await asyncio.to_thread(server.metric, reused) == 20
        resident = await asyncio.to_thread(server.metric, "process_resident_memory_bytes")
        assert resident < 130 * 2**20


async def test_readiness_names_what_cannot_be_read_and_what_is_dropped(
    tmp_path: Path, certificates: Certificates, api: FakeApi
) -> None:
    def drop_capacity(item: Any) -> None:
        for one in item["spec"]["spec"]["devices"]["requests"] if "devices" in item["spec"].get("spec", {}) else []:
            one.get("exactly", {}).pop("capacity", None)

    api.change = drop_capacity
    api.fail("list", 403, 'resourceslices.resource.k8s.io is forbidden: User "u" cannot list', "Forbidden", times=1000)
    await api.start()
    async with serving(tmp_path, certificates, api.port) as server:
        status, text = await until(lambda: (answer := server.ready())[0] == 200 and answer)
        assert status == 200
        facts = next(line for line in text.splitlines() if "facts" in line)
        assert "Kubernetes 1.36, device classes: unknown, devices: unknown" in facts
        assert "the API server drops capacity (feature gate DRAConsumableCapacity)" in facts
        assert "cannot list" in facts


def test_the_metrics_hear_everything_that_the_cluster_package_tells() -> None:
    metrics: StoreObserver = Metrics()
    told = {name for name in vars(StoreObserver) if not name.startswith("_")}
    assert told <= set(dir(metrics))
