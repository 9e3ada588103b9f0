"""Hazards of nodes, drivers and DeviceClasses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.check.scan.hazard import Check, Found, Severity, name_of
from app.check.scan.survey import Survey
from app.translate import quantity
from app.translate.containers import items, mapping
from app.translate.keys import classify
from app.translate.policy import Key, Policy

JSON = Any

_DEVICES: Final = (Key.COUNT, Key.MIG, Key.SHARED)
"""Names that a device plugin offers; the others belong to HAMi's scheduler."""
_ALL_GATES_SINCE: Final = (1, 36)


def offered_by_plugin(node: Mapping[str, JSON], policy: Policy) -> dict[str, int]:
    """Legacy devices that a device plugin offers on a node, by name."""
    offered = {}
    for name, value in mapping(mapping(node.get("status")).get("allocatable")).items():
        match = classify(policy, name)
        if match is not None and match.key in _DEVICES and (amount := quantity.integer(value)):
            offered[name] = amount
    return offered


def offered_by_drivers(survey: Survey) -> dict[str, Counter[str]]:
    """Node → bound driver → devices that its slices hold."""
    drivers = {profile.driver for profile in survey.profiles}
    offered: dict[str, Counter[str]] = {}
    for one in survey.cluster.slices or ():
        spec = one["spec"]
        devices = len(items(spec.get("devices")))
        if spec.get("driver") in drivers and spec.get("nodeName") and devices:
            offered.setdefault(spec["nodeName"], Counter())[spec["driver"]] += devices
    return offered


def _offered_twice(survey: Survey) -> Iterator[Found]:
    by_drivers = offered_by_drivers(survey)
    for node in survey.cluster.nodes or ():
        name = node["metadata"]["name"]
        plugin = offered_by_plugin(node, survey.policy)
        if plugin and name in by_drivers:
            both = [f"{key}: {amount}" for key, amount in plugin.items()]
            both += [f"{count} devices of {driver}" for driver, count in by_drivers[name].items()]
            yield Found(name_of("Node", name), ", ".join(both))


def _without_dra(survey: Survey) -> Iterator[Found]:
    by_drivers = offered_by_drivers(survey)
    for node in survey.cluster.nodes or ():
        name = node["metadata"]["name"]
        plugin = offered_by_plugin(node, survey.policy)
        if plugin and name not in by_drivers:
            yield Found(name_of("Node", name), ", ".join(f"{key}: {amount}" for key, amount in plugin.items()))


def _class_missing(survey: Survey) -> Iterator[Found]:
    names = {one["metadata"]["name"] for one in survey.cluster.classes or ()}
    needed = survey.policy.count_class
    if survey.counted and needed not in names:
        yield Found(name_of("DeviceClass", needed), f"of {survey.policy.count_profile.title}")


def _no_devices(survey: Survey) -> Iterator[Found]:
    driver = survey.policy.count_profile.driver
    offers = any(
        one["spec"].get("driver") == driver and one["spec"].get("devices") for one in survey.cluster.slices or ()
    )
    if survey.counted and not offers:
        yield Found(f"driver {driver}", "no ResourceSlice holds a device of it")


def _claims_key(survey: Survey) -> Iterator[Found]:
    for one in survey.cluster.classes or ():
        name = one["spec"].get("extendedResourceName")
        if name and classify(survey.policy, name) is not None:
            yield Found(name_of("DeviceClass", one["metadata"]["name"]), f"extendedResourceName: {name}")


def _old_kubernetes(survey: Survey) -> Iterator[Found]:
    version = survey.cluster.version
    if version is not None and version < _ALL_GATES_SINCE:
        yield Found("API server", f"{version[0]}.{version[1]}")


CHECKS: Final = (
    Check(
        "cards-offered-twice",
        Severity.BLOCKS,
        "The device plugin and a DRA driver offer the cards of a node, so one card is given to two pods.",
        "Take the device plugin off the node before its driver starts, for example with a node label that both select.",
        _offered_twice,
        ("nodes", "slices"),
    ),
    Check(
        "device-class-missing",
        Severity.BLOCKS,
        "The DeviceClass behind legacy requests does not exist, so every converted pod is refused (S46).",
        "Install the DRA driver, or let the chart make the class; --as-if-installed shows what comes after that.",
        _class_missing,
        ("classes",),
    ),
    Check(
        "no-devices",
        Severity.BLOCKS,
        "The DRA driver publishes no device, so converted pods would wait for ever.",
        "Install the driver on the nodes with cards, and look at its logs when it runs there.",
        _no_devices,
        ("slices",),
    ),
    Check(
        "class-claims-legacy-name",
        Severity.WARNS,
        "A DeviceClass claims a legacy name: Kubernetes makes claims for pods that the webhook leaves alone (S67).",
        "Remove extendedResourceName, unless such pods shall get whole cards; quotas on the name count only with it.",
        _claims_key,
        ("classes",),
    ),
    Check(
        "old-kubernetes",
        Severity.WARNS,
        "Before 1.36 the fields that shared cards need are behind feature gates, and are dropped while those are off.",
        "Switch on DRAConsumableCapacity on API server, scheduler and kubelets, or upgrade; `check` probes it.",
        _old_kubernetes,
        ("version",),
    ),
    Check(
        "nodes-without-dra",
        Severity.INFORMS,
        "A device plugin offers cards on nodes where no DRA driver does: converted pods cannot use them yet.",
        "Move the node over when its pods may go; until then its cards serve pods that are not converted.",
        _without_dra,
        ("nodes", "slices"),
    ),
)
