"""Facts are read once; what cannot be read stays unknown and is told."""

from __future__ import annotations

from typing import Any

import pytest

from app.cluster.api import Connection
from app.cluster.facts import read_facts
from app.cluster.offers import unpack
from tests.store.fake_api import FakeApi


def resource_slice(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "managedFields": [{"fieldsV1": {"f:spec": {}}}]},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"uuid": {"string": f"GPU-{name}"}}}],
        },
    }


@pytest.fixture
def cluster(api: FakeApi) -> FakeApi:
    for i in range(3):
        api.put("resourceslices", resource_slice(f"node-{i}"))
    api.put(
        "deviceclasses",
        {"metadata": {"name": "gpu.example.com"}, "spec": {"extendedResourceName": "nvidia.com/gpu"}},
    )
    return api


@pytest.mark.usefixtures("cluster")
async def test_everything_is_read(connection: Connection) -> None:
    reading = await read_facts(connection)
    facts = reading.facts
    assert reading.problems == ()
    assert facts.server_version == (1, 36)
    assert facts.uuids == {"GPU-node-0", "GPU-node-1", "GPU-node-2"}
    assert facts.device_classes is not None
    assert facts.device_classes["gpu.example.com"].extended_resource_name == "nvidia.com/gpu"
    assert facts.dropped_fields == frozenset()
    assert reading.offers is not None
    inventory = unpack(reading.offers)
    assert inventory is not None
    one = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": 1}}
    (match,) = inventory.matches({"devices": {"requests": [one]}})
    assert (match.devices, match.nodes) == (3, 3)


async def test_slices_are_read_page_by_page(
    cluster: FakeApi, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cluster.facts._PAGE", 2)
    assert len((await read_facts(connection)).facts.devices or ()) == 3
    assert cluster.count("list resourceslices") == 2


async def test_the_probes_write_nothing(cluster: FakeApi, connection: Connection) -> None:
    await read_facts(connection, namespace="system")
    assert cluster.templates("system") == {}
    assert cluster.count("create resourceclaimtemplates") == 3
    assert all(q["dryRun"] == "All" for q, c in zip(cluster.queries, cluster.calls, strict=True) if "create" in c)


async def test_dropped_fields_are_found(cluster: FakeApi, connection: Connection) -> None:
    def gate_off(item: dict[str, Any]) -> None:
        for request in item["spec"]["spec"]["devices"]["requests"]:
            request.get("exactly", {}).pop("capacity", None)

    cluster.change = gate_off
    reading = await read_facts(connection)
    assert reading.facts.dropped_fields == {"capacity"}
    assert reading.problems == ()


async def test_a_refused_hole_is_a_dropped_field(cluster: FakeApi, connection: Connection) -> None:
    message = "spec.spec.devices.constraints[0].matchAttribute: Required value"
    cluster.fail("create", 422, message, "Invalid", times=3)
    reading = await read_facts(connection)
    assert reading.facts.dropped_fields == {"distinctAttribute"}
    assert "which claim fields this API server keeps is unknown" in reading.problems[0]


async def test_a_missing_permission_leaves_its_part_unknown(cluster: FakeApi, connection: Connection) -> None:
    words = 'resourceslices.resource.k8s.io is forbidden: User "webhook" cannot list resource "resourceslices"'
    cluster.before_answer = lambda call: (
        cluster.fail("list", 403, words, "Forbidden") if call == "list resourceslices" else None
    )
    reading = await read_facts(connection)
    assert reading.facts.devices is None
    assert reading.facts.device_classes is not None
    assert reading.offers is None
    assert reading.problems == (f"ResourceSlices are unknown: {words}",)


async def test_a_cluster_without_the_api_is_told_which_version_it_needs(
    cluster: FakeApi, connection: Connection
) -> None:
    cluster.fail("list", 404, "404 page not found", times=2)
    cluster.fail("create", 404, "404 page not found", times=3)
    reading = await read_facts(connection)
    assert (reading.facts.devices, reading.facts.device_classes) == (None, None)
    assert reading.facts.server_version == (1, 36)
    assert (
        "ResourceSlices are unknown: this cluster does not serve resource.k8s.io/v1: Kubernetes ≥ 1.34 is needed"
        in (reading.problems)
    )


@pytest.mark.parametrize("version", [{}, {"major": "", "minor": ""}])
async def test_a_server_that_hides_its_version_is_a_problem(
    cluster: FakeApi, connection: Connection, version: dict[str, str]
) -> None:
    cluster.version = version
    reading = await read_facts(connection)
    assert reading.facts.server_version is None
    assert reading.problems == ("the server version is unknown: /version does not tell major and minor",)


async def test_an_absent_api_server_is_a_problem_and_no_crash(api: FakeApi, connection: Connection) -> None:
    await api.stop()
    reading = await read_facts(connection)
    assert reading.facts.server_version is None
    assert reading.facts.devices is None
    assert len(reading.problems) == 4
    assert all("cannot be reached" in problem for problem in reading.problems)
