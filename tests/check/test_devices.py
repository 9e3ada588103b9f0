"""What check says of DeviceClasses and ResourceSlices."""

from __future__ import annotations

from typing import Any

import pytest

from app.check.health.devices import device_classes, extended_resource
from app.check.health.finding import Finding, State, ok
from app.check.health.slices import resource_slices
from tests.check.kit import CLASS, Cluster, healthy, line, resource_slice

JSON = Any


def device_class(name: str, resource: str | None = None) -> JSON:
    return {"metadata": {"name": name}, "spec": {} if resource is None else {"extendedResourceName": resource}}


async def test_the_classes_of_the_bound_profiles_are_named() -> None:
    cluster = healthy()
    cluster.put("deviceclasses", device_class("mig.nvidia.com"))
    assert await line(device_classes, cluster) == ok(f"{CLASS}, mig.nvidia.com")


async def test_a_missing_class_of_cards_is_a_fault() -> None:
    cluster = healthy()
    cluster.remove("deviceclasses", CLASS)
    assert await line(device_classes, cluster) == Finding(
        State.FAIL,
        f"DeviceClass {CLASS} does not exist",
        "pods that ask for nvidia.com/gpu are refused (S46)",
        "install HAMi k8s-dra-driver, whose chart makes the class, or name it in the chart's deviceClasses",
    )


async def test_a_missing_class_of_shares_is_a_fault() -> None:
    cluster = healthy({"bindings": {"nvidia": {"shared": "gpu.nvidia.com-shares"}}})
    found = await line(device_classes, cluster)
    assert (found.state, found.found) == (State.FAIL, "DeviceClass gpu.nvidia.com does not exist")


async def test_S44_a_count_of_mig_devices_needs_their_class_and_driver() -> None:
    cluster = healthy({"nvidia": {"count": "mig"}})
    found = await line(device_classes, cluster)
    assert (found.state, found.found) == (State.FAIL, "DeviceClass mig.nvidia.com does not exist")
    assert (await line(resource_slices, cluster)).found == "no ResourceSlice of gpu.nvidia.com"
    cluster.remove("deviceclasses", CLASS)
    cluster.put("deviceclasses", device_class("mig.nvidia.com", "nvidia.com/gpu"))
    assert await line(device_classes, cluster) == ok("mig.nvidia.com")
    assert await line(extended_resource, cluster) == ok("nvidia.com/gpu by mig.nvidia.com")


async def test_a_missing_class_of_mig_devices_is_no_fault() -> None:
    found = await line(device_classes, healthy())
    assert found == ok(f"{CLASS}; mig-* keys stay, since mig.nvidia.com does not exist (S46)")


async def test_without_a_driver_for_mig_no_class_is_looked_for() -> None:
    found = await line(device_classes, healthy({"bindings": {"nvidia": {"mig": None}}}))
    assert found == ok(f"{CLASS}; no driver is bound for MIG devices")


async def test_the_count_on_the_bound_class_is_fine() -> None:
    assert await line(extended_resource, healthy()) == ok(f"nvidia.com/gpu by {CLASS}")


async def test_a_class_that_claims_memory_would_give_a_device_for_each_mib() -> None:
    cluster = healthy()
    cluster.put("deviceclasses", device_class("odd", "nvidia.com/gpumem"))
    assert await line(extended_resource, cluster) == Finding(
        State.FAIL,
        "DeviceClass odd claims nvidia.com/gpumem",
        "pods outside of opted-in namespaces get one device for each unit of it",
        "remove extendedResourceName from DeviceClass odd",
    )


async def test_two_classes_that_claim_one_name_are_a_warning() -> None:
    cluster = healthy()
    cluster.put("deviceclasses", device_class("gpu.nvidia.com", "nvidia.com/gpu"))
    found = await line(extended_resource, cluster)
    assert (found.state, found.found) == (
        State.WARN,
        f"DeviceClasses {CLASS}, gpu.nvidia.com all claim nvidia.com/gpu",
    )


async def test_a_class_of_another_driver_that_claims_the_count_is_a_warning() -> None:
    cluster = healthy()
    cluster.put("deviceclasses", device_class(CLASS))
    cluster.put("deviceclasses", device_class("gpu.nvidia.com", "nvidia.com/gpu"))
    found = await line(extended_resource, cluster)
    assert (found.state, found.found) == (
        State.WARN,
        f"DeviceClass gpu.nvidia.com claims nvidia.com/gpu, while {CLASS} is bound",
    )


async def test_mig_names_may_be_claimed_by_classes() -> None:
    cluster = healthy()
    cluster.put("deviceclasses", device_class("mig-1g", "nvidia.com/mig-1g.5gb"))
    found = await line(extended_resource, cluster)
    assert found == ok(f"nvidia.com/gpu by {CLASS}; nvidia.com/mig-1g.5gb by mig-1g")


async def test_native_whole_cards_need_a_class_that_claims_the_count() -> None:
    cluster = healthy({"wholeGpu": "native"})
    assert (await line(extended_resource, cluster)).state is State.OK
    cluster.put("deviceclasses", device_class(CLASS))
    assert await line(extended_resource, cluster) == Finding(
        State.FAIL,
        "no DeviceClass claims nvidia.com/gpu",
        "with wholeGpu: native, pods that ask for whole cards only wait for ever (S67)",
        f"set extendedResourceName: nvidia.com/gpu on DeviceClass {CLASS}",
    )


def with_slices(*slices: JSON) -> Cluster:
    cluster = healthy()
    cluster.objects["resourceslices"] = list(slices)
    return cluster


async def test_devices_and_nodes_are_counted_in_the_newest_generation() -> None:
    cluster = with_slices(
        resource_slice("a", devices=4),
        resource_slice("b", devices=1),
        resource_slice("c", driver="other.example.com"),
        resource_slice("d", driver="gpu.nvidia.com", devices=7),
    )
    assert await line(resource_slices, cluster) == ok(
        f"{CLASS}: 5 devices on 2 nodes; gpu.nvidia.com: 7 devices on 1 node"
    )


async def test_a_driver_without_slices_is_a_fault() -> None:
    found = await line(resource_slices, with_slices())
    assert (found.state, found.found, found.fix) == (
        State.FAIL,
        f"no ResourceSlice of {CLASS}",
        "install HAMi k8s-dra-driver, and look at its pods on the GPU nodes",
    )


@pytest.mark.parametrize("one", [resource_slice("a", count=2), resource_slice("a", devices=0)])
async def test_a_driver_without_a_device_that_can_be_had_is_a_fault(one: JSON) -> None:
    found = await line(resource_slices, with_slices(one))
    assert (found.state, found.found) == (State.FAIL, f"no complete pool with a device of {CLASS}")


async def test_a_pool_whose_slices_are_not_all_there_is_a_warning() -> None:
    cluster = with_slices(resource_slice("a", count=2), resource_slice("b"))
    found = await line(resource_slices, cluster)
    assert (found.state, found.found) == (State.WARN, f"{CLASS}: pools a are incomplete")


async def test_slices_of_an_older_generation_are_a_warning() -> None:
    cluster = with_slices(resource_slice("a-1", pool="a"), resource_slice("a-2", pool="a", generation=2))
    found = await line(resource_slices, cluster)
    assert (found.state, found.found) == (
        State.WARN,
        f"{CLASS}: pools a still have slices of an older generation",
    )
