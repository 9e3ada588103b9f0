"""Checks of the DeviceClasses."""

from __future__ import annotations

from collections import defaultdict

from app.check.health.finding import Finding, fail, listed, ok, summed, warn
from app.check.health.site import Site
from app.cluster.listing import DEVICE_CLASSES
from app.translate.keys import classify
from app.translate.policy import Key, Policy


async def device_classes(site: Site) -> Finding:
    """The classes behind the bound driver profiles exist (S46)."""
    policy = site.settings.policy
    there = {one["metadata"]["name"] for one in await site.reader.list(DEVICE_CLASSES)}
    counted, title = policy.count_class, policy.count_profile.title
    if counted not in there:
        return fail(
            f"DeviceClass {counted} does not exist",
            f"pods that ask for {policy.settings.resource_names.count} are refused (S46)",
            f"install {title}, whose chart makes the class, or name it in the chart's deviceClasses",
        )
    shared = policy.shared_profile
    if shared is not None and shared.device_class not in there:
        return fail(
            f"DeviceClass {shared.device_class} does not exist",
            "pods that ask for shared names are refused (S46)",
            f"install {shared.title}, or set settings.bindings.nvidia.shared to null",
        )
    mig = policy.mig_profile and policy.mig_profile.mig
    if mig is None:
        return ok(f"{counted}; no driver is bound for MIG devices")
    if mig.device_class not in there:
        return ok(f"{counted}; mig-* keys stay, since {mig.device_class} does not exist (S46)")
    return ok(listed(list(dict.fromkeys((counted, mig.device_class)))))


async def extended_resource(site: Site) -> Finding:
    """No DeviceClass has Kubernetes itself turn legacy names into claims that say something else (S67)."""
    policy = site.settings.policy
    names = policy.settings.resource_names
    claimed: defaultdict[str, list[str]] = defaultdict(list)
    for one in await site.reader.list(DEVICE_CLASSES):
        resource = (one["spec"] or {}).get("extendedResourceName")
        if resource and classify(policy, resource) is not None:
            claimed[resource].append(one["metadata"]["name"])
    problems = [
        problem for resource, classes in sorted(claimed.items()) if (problem := _claim(policy, resource, classes))
    ]
    if policy.settings.whole_gpu == "native" and names.count not in claimed:
        problems.append(
            fail(
                f"no DeviceClass claims {names.count}",
                "with wholeGpu: native, pods that ask for whole cards only wait for ever (S67)",
                f"set extendedResourceName: {names.count} on DeviceClass {policy.count_class}",
            )
        )
    shown = "; ".join(f"{resource} by {listed(classes)}" for resource, classes in sorted(claimed.items()))
    return summed(shown or "no DeviceClass claims a legacy name", problems)


def _claim(policy: Policy, resource: str, classes: list[str]) -> Finding | None:
    """What is wrong with the classes that claim a legacy name, if anything."""
    match, bound = classify(policy, resource), policy.count_class
    if match is not None and match.key not in {Key.COUNT, Key.SHARED, Key.MIG}:
        return fail(
            f"DeviceClass {listed(classes)} claims {resource}",
            "pods outside of opted-in namespaces get one device for each unit of it",
            f"remove extendedResourceName from DeviceClass {listed(classes)}",
        )
    if len(classes) > 1:
        return warn(
            f"DeviceClasses {listed(classes)} all claim {resource}",
            "in namespaces that are not opted in, Kubernetes takes the newest of them",
            "leave extendedResourceName on one of them",
        )
    if resource == policy.settings.resource_names.count and classes[0] != bound:
        return warn(
            f"DeviceClass {classes[0]} claims {resource}, while {bound} is bound",
            "pods of opted-in namespaces and others get different devices",
            f"remove extendedResourceName from DeviceClass {classes[0]}, or bind its driver",
        )
    return None
