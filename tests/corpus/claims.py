"""Compares what a container is granted with an expected claim of the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.corpus.devices import accepts, device, mebibytes
from tests.corpus.grants import Grant

CARD = {"type": "hami-gpu", "uuid": "GPU-none", "productName": "NVIDIA A100-SXM4-80GB"}
PRODUCTS = (
    "NVIDIA A10", "NVIDIA A10G", "NVIDIA A30", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB",
    "NVIDIA A100 80GB PCIe", "NVIDIA GeForce GTX 1080 Ti", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA H100 80GB HBM3",
    "NVIDIA L4", "NVIDIA L40S", "Tesla P4", "Tesla T4", "Tesla V100-SXM2-32GB",
)  # fmt: skip
"""Product names as drivers publish them."""
PROFILES = (
    "1g.5gb", "1g.6gb", "1g.6gb+me", "1g.10gb", "1g.10gb+me", "1g.18gb", "1g.18gb+me", "1g.20gb", "1g.24gb",
    "1g.24gb+me", "1g.24gb+me.all", "1g.24gb-me", "2g.20gb", "2g.48gb", "2g.48gb+gfx", "3g.20gb", "3g.40gb",
    "4g.71gb", "7g.80gb",
)  # fmt: skip
FULL = 100


def claim_problems(found: Sequence[Grant], want: Mapping[str, Any]) -> Iterator[str]:
    """What differs; nothing when a grant is what the claim expects."""
    mig = "migProfile" in want or "migAtLeastMiB" in want
    fitting = [grant for grant in found if grant.mig == mig and ("migProfile" not in want or _takes_only(grant, want))]
    if len(fitting) != 1:
        yield f"{len(fitting)} grants fit {dict(want)}; there are {found}"
        return
    grant = fitting[0]
    if grant.devices != want.get("devices", 1):
        yield f"devices: {grant.devices}, expected {want.get('devices', 1)}"
    if want.get("distinct") and not grant.distinct:
        yield "the devices may be one card twice"
    if want.get("distinct") is False and not mig:
        yield from () if not grant.distinct else ("the devices must not have to differ",)
    yield from _memory_problems(grant, want)
    yield from _cores_problems(grant, want)
    yield from _uuid_problems(grant, want)
    yield from _type_problems(grant, want)


def _takes_only(grant: Grant, want: Mapping[str, Any]) -> bool:
    taken = {profile for profile in PROFILES if _accepted(grant, _mig(profile=profile))}
    return taken == {want["migProfile"]}


def _memory_problems(grant: Grant, want: Mapping[str, Any]) -> Iterator[str]:
    asked = grant.capacity("memory")
    if "memoryMiB" in want and {mebibytes(value) if value else None for value in asked} != {want["memoryMiB"]}:
        yield f"memory {asked}, expected {want['memoryMiB']} MiB"
    if want.get("memory") == "all" and set(asked) != {None}:
        yield f"memory {asked}, expected the whole card"
    for size in want.get("memoryMiBOn", {81920: None, 15360: None}) if "memoryPercent" in want else ():
        expected = size * want["memoryPercent"] // FULL
        assert want.get("memoryMiBOn", {}).get(size) in (None, expected), "the case contradicts itself"
        card = device(grant.driver, memory_mib=size, **CARD)
        taken = [
            value for value, option in zip(asked, grant.options, strict=True) if accepts(option.get("selectors"), card)
        ]
        if [mebibytes(value) if value else None for value in taken] != [expected]:
            yield f"memory on a card of {size} MiB: {taken}, expected {expected} MiB"
    if "migAtLeastMiB" in want:
        least = want["migAtLeastMiB"]
        for memory, fits in ((least - 1, False), (least, True), (least * 2, True)):
            if _accepted(grant, _mig(memory_mib=memory, profile="1g.10gb")) is not fits:
                yield f"a MIG device of {memory} MiB is {'refused' if fits else 'accepted'}"


def _cores_problems(grant: Grant, want: Mapping[str, Any]) -> Iterator[str]:
    asked = grant.capacity("cores")
    if "cores" in want and set(asked) != {str(want["cores"])}:
        yield f"cores {asked}, expected {want['cores']} written out"
    if want.get("exclusive") and set(asked) != {str(FULL)}:
        yield f"cores {asked} leave room for others"


def _uuid_problems(grant: Grant, want: Mapping[str, Any]) -> Iterator[str]:
    allowed, denied = want.get("uuidAllow"), want.get("uuidDeny", ())
    product = next((product for product in PRODUCTS if _type_fits(product, want)), None)
    if grant.mig or product is None:
        return
    for uuid in {*(allowed or ()), *denied, "GPU-of-somebody-else"}:
        expected = (allowed is None or uuid in allowed) and uuid not in denied
        if (
            _accepted(grant, device(grant.driver, memory_mib=81920, **{**CARD, "uuid": uuid, "productName": product}))
            is not expected
        ):
            yield f"card {uuid} is {'refused' if expected else 'accepted'}"


def _type_problems(grant: Grant, want: Mapping[str, Any]) -> Iterator[str]:
    if grant.mig:
        return
    for product in PRODUCTS:
        expected = _type_fits(product, want)
        assert expected or product not in want.get("accepts", ()), f"the case contradicts itself on {product}"
        assert not expected or product not in want.get("refuses", ()), f"the case contradicts itself on {product}"
        uuid = next((u for u in want.get("uuidAllow", ()) if u not in want.get("uuidDeny", ())), "GPU-none")
        card = device(grant.driver, memory_mib=81920, **{**CARD, "uuid": uuid, "productName": product})
        if _accepted(grant, card) is not expected:
            yield f"product {product} is {'refused' if expected else 'accepted'}"


def _type_fits(product: str, want: Mapping[str, Any]) -> bool:
    allowed = want.get("typeAllow")
    return (allowed is None or _named(product, allowed)) and not _named(product, want.get("typeDeny", ()))


def _named(product: str, tokens: Iterable[str]) -> bool:
    """HAMi's rule: a part of the name in any case, which has NVIDIA- in front unless it starts with NVIDIA."""
    name = product if product.startswith("NVIDIA") else f"NVIDIA-{product}"
    return any(token.lower() in name.lower() for token in tokens)


def _accepted(grant: Grant, one: Mapping[str, Any]) -> bool:
    return any(accepts(option.get("selectors"), one) for option in grant.options)


def _mig(*, memory_mib: int = 81920, **attributes: str) -> Mapping[str, Any]:
    return device("gpu.nvidia.com", memory_mib=memory_mib, type="mig", parentUUID="GPU-none", **attributes)
