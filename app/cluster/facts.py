"""Reads what the cluster publishes, once: ResourceSlices, DeviceClasses, the version, and which claim fields survive.

A part that cannot be read stays unknown in the facts, and a problem says why; nothing here stops the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.cluster import compare, gates
from app.cluster.api import TEMPLATES, ApiError, Connection, Unreachable, namespaced
from app.cluster.offers import pack
from app.translate import Facts, facts_from_objects
from app.translate.decision import API_VERSION
from app.translate.facts import Version, parse_version

JSON = Any

_RESOURCE_API = f"/apis/{API_VERSION}"
_PAGE = 100
"""A slice holds up to 128 devices, some 100 KB of JSON."""
_NOT_FOUND, _INVALID = 404, 422
_PROBED_CLASS = "hami-dra-webhook-probe"
"""No such DeviceClass needs to exist: the API server does not look."""
_PROBES: Mapping[str, JSON] = {
    "capacity": {
        "requests": [
            {"name": "a", "exactly": {"deviceClassName": _PROBED_CLASS, "capacity": {"requests": {"memory": "1Gi"}}}}
        ]
    },
    "distinctAttribute": {
        "requests": [{"name": "a", "exactly": {"deviceClassName": _PROBED_CLASS, "count": 2}}],
        "constraints": [{"requests": ["a"], "distinctAttribute": "hami.io/probe"}],
    },
    "firstAvailable": {
        "requests": [{"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": _PROBED_CLASS}]}]
    },
}
"""One claim for each field, since a lost field may have the whole claim refused (seen on Kubernetes 1.35)."""


@dataclass(frozen=True, slots=True)
class FactsReading:
    """What was read, and what could not be."""

    facts: Facts
    problems: tuple[str, ...]
    """One sentence for each unknown part, for readiness details and ``check``."""
    offers: bytes | None = None
    """Slices and classes as they are (:mod:`app.cluster.offers`); None where either is unknown."""


async def read_facts(connection: Connection, *, namespace: str = "default") -> FactsReading:
    """Read the facts; ``namespace`` is where the probing templates would be, if they were not dry runs."""
    problems: list[str] = []
    (dropped, unsure), version, slices, classes = await asyncio.gather(
        read_dropped_fields(connection, namespace=namespace),
        _version(connection, problems),
        _list(connection, "ResourceSlice", "ResourceSlices", problems),
        _list(connection, "DeviceClass", "DeviceClasses", problems),
    )
    problems += unsure
    objects = [*(slices or ()), *(classes or ())]
    # In a thread: 8,000 devices take a sixth of a second, in which no review would be answered.
    facts = await asyncio.to_thread(facts_from_objects, objects, server_version=version, dropped_fields=dropped)
    if slices is None:
        facts = replace(facts, devices=None)
    if classes is None:
        facts = replace(facts, device_classes=None)
    offers = None
    if slices is not None and classes is not None:
        offers = await asyncio.to_thread(pack, objects)
    return FactsReading(facts, tuple(sorted(set(problems))), offers)


async def read_dropped_fields(
    connection: Connection, *, namespace: str = "default"
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Claim fields that this API server drops, and why one may be missing here: a sentence for each problem."""
    problems: list[str] = []
    survived = await asyncio.gather(*(_survives(connection, namespace, field, problems) for field in _PROBES))
    dropped = frozenset(field for field, kept in zip(_PROBES, survived, strict=True) if not kept)
    return dropped, tuple(dict.fromkeys(problems))


async def _version(connection: Connection, problems: list[str]) -> Version | None:
    try:
        version = await connection.request("get", "/version")
        return parse_version(version["major"], version["minor"])
    except (ApiError, Unreachable) as error:
        problems.append(f"the server version is unknown: {error}")
    except (KeyError, ValueError):
        problems.append("the server version is unknown: /version does not tell major and minor")
    return None


async def _list(connection: Connection, kind: str, plural: str, problems: list[str]) -> list[JSON] | None:
    """The objects of a kind, without what the facts don't need; None when they cannot be listed."""
    items: list[JSON] = []
    try:
        async for page in connection.pages(f"{_RESOURCE_API}/{plural.lower()}", limit=_PAGE):
            items += _slim(kind, page.get("items") or ())
    except (ApiError, Unreachable) as error:
        problems.append(_problem(f"{plural} are unknown", error))
        return None
    return items


def _slim(kind: str, items: Iterable[JSON]) -> list[JSON]:
    """Objects with their kind, which lists leave out, and without managed fields, which are half of a slice."""
    return [{"kind": kind, "metadata": {"name": i["metadata"]["name"]}, "spec": i["spec"]} for i in items]


async def _survives(connection: Connection, namespace: str, field: str, problems: list[str]) -> bool:
    """Whether the API server keeps a claim field; True also when it cannot be found out."""
    spec = {"devices": _PROBES[field]}
    body = {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"generateName": "hami-dra-webhook-probe-"},
        "spec": {"spec": spec},
    }
    path = namespaced(TEMPLATES, namespace)
    try:
        received = await connection.request("create", path, query={"dryRun": "All"}, body=body)
    except ApiError as error:
        if error.code == _INVALID and gates.refused(spec, error.message):
            return False
        problems.append(_problem("which claim fields this API server keeps is unknown", error))
        return True
    except Unreachable as error:
        problems.append(_problem("which claim fields this API server keeps is unknown", error))
        return True
    return not compare.dropped(spec, received["spec"]["spec"])


def _problem(what: str, error: ApiError | Unreachable) -> str:
    if isinstance(error, ApiError) and error.code == _NOT_FOUND and not error.reason:
        return f"{what}: this cluster does not serve {API_VERSION}: Kubernetes ≥ 1.34 is needed"
    return f"{what}: {error}"
