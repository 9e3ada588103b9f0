"""What a preview knows of a cluster: nothing, what files hold, or what the cluster says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import typer

from app.cli.options import UNREADABLE
from app.cli.terminal import say
from app.inventory import Inventory, InventoryError
from app.preview.inputs import STDIN, collect
from app.translate import Facts, facts_from_objects
from app.translate.facts import ASSUMED_CARD_SIZES_MIB

JSON = Any
_HOW: Final = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o yaml writes them"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cluster."""

    facts: Facts
    inventory: Inventory | None = None
    """None where devices or DeviceClasses are unknown."""
    nearby: Iterable[Mapping[str, JSON]] = ()
    """LimitRanges and ResourceQuotas of its namespaces."""


def from_files(files: list[str]) -> Known:
    """What ``--slices`` files say; without any, common card sizes are assumed (S38)."""
    objects = []
    for source in collect(files, sys.stdin.buffer):
        for document in source.documents:
            if document.error is not None:
                _end(f"--slices {source.name or STDIN}: {document.error}")
            objects.append(document.value)
    try:
        inventory = Inventory.from_objects(objects)
        facts = facts_from_objects(objects, complete=False)
    except (InventoryError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = str(error) if isinstance(error, InventoryError) else f"{type(error).__name__} {error}"
        _end(f"--slices: not ResourceSlices as the API publishes them: {what}; {_HOW}", error)
    facts = replace(facts, assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    if facts.devices is None:
        return Known(facts)
    if not inventory.knows_classes:
        say(f"warning: --slices: no DeviceClass in it, so what matches is not told; {_HOW}")
        return Known(facts)
    return Known(facts, inventory)


def from_cluster(kubeconfig: Path | None, context: str | None) -> Known:
    """What a cluster says; what may not be read is a warning, a cluster that does not answer ends the program."""
    # The Kubernetes client takes half a second to import, and most previews need none.
    from app.cluster.api import ApiError, Unreachable  # noqa: PLC0415
    from app.cluster.connection import ConnectError, connect  # noqa: PLC0415
    from app.cluster.inventory import ClusterReading, read_cluster  # noqa: PLC0415

    async def read() -> ClusterReading:
        async with await connect(kubeconfig, context) as connection:
            return await read_cluster(connection)

    try:
        reading = asyncio.run(read())
    except (ConnectError, Unreachable, InventoryError) as error:
        _end(str(error), error)
    except ApiError as error:
        _end(f"the Kubernetes API refuses to tell its version: {error}", error)
    for warning in reading.warnings:
        say(f"warning: {warning}")
    facts = reading.facts
    if facts.devices is None:
        facts = replace(facts, assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    return Known(facts, reading.inventory, reading.nearby)


def _end(text: str, error: Exception | None = None) -> NoReturn:
    say(f"error: {text}")
    raise typer.Exit(UNREADABLE) from error
