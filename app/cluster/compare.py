"""Compares claim specs by value: what was asked against what an API server stores.

The API server re-prints quantities (``8192Mi`` comes back as ``8Gi``) and fills in defaults (``count: 1``), so
equal text is too strict. It also drops fields whose feature gate is off without a word
(seen on Kubernetes 1.35), so a 201 proves nothing. All functions are pure and take claim specs,
``{"devices": {"requests": […], "constraints": […], "config": […]}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.translate import quantity

JSON = Any

_ABSENT = object()


def normalise(spec: Mapping[str, JSON]) -> dict[str, JSON]:
    """The spec by value: quantities as exact numbers, API defaults filled in, nulls and empty parts left out.

    Opaque driver parameters (``devices.config``) stay as they are: nobody but the driver knows what they mean.

    Raises:
        QuantityError: a capacity is not a quantity; no API server stores such a spec.
    """
    devices = dict(spec.get("devices") or {})
    devices["requests"] = [_request(r) for r in devices.get("requests") or ()]
    devices["constraints"] = [_pruned(c) for c in devices.get("constraints") or ()]
    return _without_empty({**spec, "devices": _without_empty(devices)})


def same(a: Mapping[str, JSON], b: Mapping[str, JSON]) -> bool:
    """Both specs ask for the same, whatever their spelling."""
    return a == b or normalise(a) == normalise(b)


def dropped(sent: Mapping[str, JSON], received: Mapping[str, JSON]) -> list[str]:
    """Paths of fields that were sent and did not come back, the outermost only, in the order of the spec.

    Example: ``["devices.requests[0].exactly.capacity"]``. A value that came back different is not in the list;
    :func:`same` sees it.
    """
    return list(_dropped(normalise(sent), normalise(received), ""))


def _request(request: Mapping[str, JSON]) -> dict[str, JSON]:
    result = dict(request)
    if result.get("exactly"):
        result["exactly"] = _device_request(result["exactly"])
    if result.get("firstAvailable"):
        result["firstAvailable"] = [_device_request(r) for r in result["firstAvailable"]]
    return _without_empty(result)


def _device_request(request: Mapping[str, JSON]) -> dict[str, JSON]:
    result: dict[str, JSON] = _pruned(request)
    # Defaults of resource.k8s.io/v1; a count of 0 is stored as 1 (seen on Kubernetes 1.36).
    if result.setdefault("allocationMode", "ExactCount") == "ExactCount":
        result["count"] = result.get("count") or 1
    for toleration in result.get("tolerations", ()):
        toleration.setdefault("operator", "Equal")
    wanted = result.get("capacity", {}).get("requests")
    if wanted:
        result["capacity"]["requests"] = {name: quantity.parse(value) for name, value in wanted.items()}
    return result


def _pruned(value: JSON) -> JSON:
    """A deep copy without nulls and empty parts."""
    if isinstance(value, Mapping):
        return _without_empty({k: _pruned(v) for k, v in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_pruned(v) for v in value]
    return value


def _without_empty(value: dict[str, JSON]) -> dict[str, JSON]:
    return {k: v for k, v in value.items() if v is not None and v not in ({}, [])}


def _dropped(sent: JSON, received: JSON, path: str) -> Iterator[str]:
    if received is _ABSENT:
        yield path
    elif isinstance(sent, dict) and isinstance(received, dict):
        for key, value in sent.items():
            yield from _dropped(value, received.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(sent, list) and isinstance(received, list):
        for i, value in enumerate(sent):
            yield from _dropped(value, received[i] if i < len(received) else _ABSENT, f"{path}[{i}]")
