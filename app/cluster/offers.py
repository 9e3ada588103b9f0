"""ResourceSlices and DeviceClasses in little memory: a server keeps them packed for previews and never looks inside."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from app.inventory import Inventory, InventoryError

JSON = Any
_LEVEL: Final = 1
"""Slices repeat themselves: the fastest level leaves a twentieth of them."""


def pack(objects: Iterable[Mapping[str, JSON]]) -> bytes:
    """All ResourceSlices and DeviceClasses of a cluster, each with its ``kind``."""
    return zlib.compress(orjson.dumps(list(objects)), _LEVEL)


def unpack(offers: bytes) -> Inventory | None:
    """The inventory of what was packed, without claims and nodes; None where an object is of an odd shape."""
    try:
        return Inventory.from_objects(orjson.loads(zlib.decompress(offers)), known=("ResourceSlice", "DeviceClass"))
    except InventoryError:
        return None
