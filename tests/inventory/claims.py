"""Short ways to write claims and what has been given to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.inventory import Inventory

JSON = Any
CLASS = "cards"


def inventory(*objects: JSON, expression: str = "true", claims: Sequence[JSON] = ()) -> Inventory:
    """An inventory with one DeviceClass, ``cards``, in which everything is known."""
    device_class = {
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    return Inventory.from_objects([device_class, *objects, *claims], known=["ResourceClaim"])


def request(name: str = "gpu", *expressions: str, count: int = 1, **fields: JSON) -> JSON:
    """An exact request of the class ``cards``; ``count=0`` asks all devices."""
    mode: JSON = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
    selectors = {"selectors": [{"cel": {"expression": one}} for one in expressions]} if expressions else {}
    return {"name": name, "exactly": {"deviceClassName": CLASS, **mode, **selectors, **fields}}


def claim(*requests: JSON, constraints: Sequence[JSON] = ()) -> JSON:
    """The spec of a claim; one request for any card where none is given."""
    devices: JSON = {"requests": list(requests) or [request()]}
    return {"devices": {**devices, **({"constraints": list(constraints)} if constraints else {})}}


def amounts(**capacity: str) -> JSON:
    """The field of a request that asks amounts of capacities."""
    return {"requests": capacity}


def allocated(*devices: tuple[str, str, str], share: Mapping[str, str] | None = None, admin: bool = False) -> JSON:
    """An existing ResourceClaim that has devices, each given by driver, pool and name; of shared ones an amount."""
    results = []
    for number, (driver, pool, name) in enumerate(devices):
        result: JSON = {"request": "gpu", "driver": driver, "pool": pool, "device": name}
        if share is not None:
            result |= {"shareID": f"share-{number}", "consumedCapacity": dict(share)}
        if admin:
            result["adminAccess"] = True
        results.append(result)
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": "existing"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
