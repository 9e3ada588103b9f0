"""What the server and its worker process say to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from app.preview.wanted import Wanted
from app.translate import Device, Facts, Policy

MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024
"""The server holds answers while they are sent; 7 MiB of ordinary manifests make less, with all renderings."""
_DEVICES: Final = 200
"""Devices of one message: some milliseconds of work."""
OUT_OF_MEMORY: Final = 77
"""Exit code of a worker that had no memory left to say so."""
TOO_MUCH_MEMORY: Final = "the preview needs more memory than it may have (setting preview.maxMemoryMiB)"
INTERNAL_ERROR: Final = "the preview failed; the log of the server says where, without the manifests"
SPLIT: Final = "split the input, or use the command line: hami-dra-webhook preview"


@dataclass(frozen=True, slots=True)
class Known:
    """What all previews of a server share."""

    policy: Policy
    facts: Facts
    own_namespace: str | None = None
    offers: bytes | None = None
    """Slices and classes of the cluster, packed (:mod:`app.cluster.offers`)."""

    def messages(self) -> Iterator[Known | tuple[Device, ...]]:
        """The same in pieces, the devices first: to pickle those of a large cluster at once would stop reviews."""
        devices = self.facts.devices or ()
        for start in range(0, len(devices), _DEVICES):
            yield devices[start : start + _DEVICES]
        rest = None if self.facts.devices is None else ()
        yield replace(self, facts=replace(self.facts, devices=rest))

    def with_devices(self, devices: Iterable[Device]) -> Known:
        """Put together again."""
        if self.facts.devices is None:
            return self
        return replace(self, facts=replace(self.facts, devices=tuple(devices)))


@dataclass(frozen=True, slots=True)
class Job:
    """One request."""

    body: bytes
    wanted: Wanted
