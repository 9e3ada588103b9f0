"""The annotations that choose cards: UUIDs, product types, vgpu-mode, NUMA (S50-S53)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.drivers import DriverProfile
from app.translate import cel, quantity
from app.translate.decision import Note
from app.translate.facts import Device, Facts
from app.translate.reasons import Reason

USE_UUID = "nvidia.com/use-gpuuuid"
NOT_UUID = "nvidia.com/nouse-gpuuuid"
USE_TYPE = "nvidia.com/use-gputype"
NOT_TYPE = "nvidia.com/nouse-gputype"
MODE = "nvidia.com/vgpu-mode"
NUMA = "nvidia.com/numa-bind"
ANNOTATIONS = (USE_UUID, NOT_UUID, USE_TYPE, NOT_TYPE, MODE, NUMA)
"""All annotations that have an effect on devices asked through the count."""

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""What Go's ParseBool accepts as true, the legacy reader."""
_CARD_UUID = re.compile(r"GPU-[0-9a-f-]{36}")
_WIDE_COMMA = "\N{FULLWIDTH COMMA}"
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Types are compared without case, for ASCII letters only, as CEL's ``lowerAscii`` does."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the annotations of one pod choose. Hashable; the default chooses nothing."""

    uuid_allow: tuple[str, ...] | None = None
    """None = no constraint; empty = nothing is allowed."""
    uuid_deny: tuple[str, ...] = ()
    type_allow: tuple[str, ...] | None = None
    """Lower case."""
    type_deny: tuple[str, ...] = ()
    mode: str | None = None
    """The text of ``vgpu-mode``; None = no constraint."""
    numa: bool = False

    @property
    def chooses(self) -> bool:
        """Cards are chosen, so that a template differs from one without annotations."""
        return self.uuid_allow is not None or self.type_allow is not None or bool(self.uuid_deny or self.type_deny)


NO_SELECTION = Selection()


def read_selection(annotations: Mapping[str, object]) -> tuple[Selection, list[Note]]:
    """The selection of a pod, with warnings about what is written (facts are not looked at)."""
    if not any(name in annotations for name in ANNOTATIONS):
        return NO_SELECTION, []
    texts = {name: str(annotations.get(name) or "").strip() for name in ANNOTATIONS}
    lists = {name: _list(texts[name]) for name in (USE_UUID, NOT_UUID, USE_TYPE, NOT_TYPE)}
    warnings = _about_lists(texts, lists)
    allow, deny = lists[USE_UUID], lists[NOT_UUID] or ()
    if allow is not None:
        # Deny wins, and a name outside the allow list need not be denied: one short list says both.
        allow, deny = tuple(u for u in allow if u not in deny), ()
    for name, listed in ((USE_UUID, allow), (USE_TYPE, lists[USE_TYPE])):
        if listed == ():
            text = f"{name} allows no card: a list without a name, or all of it denied; the pod waits for ever"
            warnings.append(_note(Reason.ALLOWS_NOTHING, text, name))
    if MODE in annotations and not texts[MODE]:
        warnings.append(_note(Reason.VGPU_MODE_BLANK, f"{MODE} is blank and is no constraint", MODE))
    selection = Selection(
        uuid_allow=allow,
        uuid_deny=deny,
        type_allow=_lower(lists[USE_TYPE]),
        type_deny=_lower(lists[NOT_TYPE]) or (),
        mode=texts[MODE] or None,
        numa=texts[NUMA] in _TRUE,
    )
    return selection, warnings


def _about_lists(texts: Mapping[str, str], lists: Mapping[str, tuple[str, ...] | None]) -> list[Note]:
    """Warnings about single names of the four lists, as far as no facts are needed."""
    warnings = []
    for name, listed in lists.items():
        if _WIDE_COMMA in texts[name]:
            text = f"{name} has a full-width comma, which separates nothing: write ,"
            warnings.append(_note(Reason.WIDE_COMMA, text, name))
        for one in listed or ():
            if name in (USE_UUID, NOT_UUID) and not _CARD_UUID.fullmatch(one):
                warnings.append(_uuid_form(name, one))
            elif name in (USE_TYPE, NOT_TYPE) and one.translate(_LOWER).startswith("nvidia-nvidia"):
                text = f"{name} {quantity.shown(one)} matches nothing: no product is named NVIDIA-NVIDIA"
                warnings.append(_note(Reason.TYPE_DOUBLE_PREFIX, text, name))
    return warnings


def selectors(selection: Selection, profile: DriverProfile, *, mig: bool) -> list[str]:
    """CEL expressions that keep the chosen cards; for MIG devices the card is the parent (S50).

    Raises:
        cel.TooLongError: when a list does not fit.
    """
    driver, attributes = profile.driver, profile.attributes
    expressions: list[str] = []
    uuid = profile.mig.parent_uuid if mig and profile.mig else attributes.uuid
    if uuid is not None:
        if selection.uuid_allow is not None:
            expressions += cel.is_one_of(driver, uuid, selection.uuid_allow)
        expressions += cel.is_none_of(driver, uuid, selection.uuid_deny)
    if attributes.product is not None:
        if selection.type_allow is not None:
            expressions += cel.product_contains_any(driver, attributes.product, selection.type_allow)
        expressions += cel.product_contains_none(driver, attributes.product, selection.type_deny)
    return expressions


def unserved(selection: Selection, profile: DriverProfile, *, mig: bool) -> list[str]:
    """Annotations that choose by an attribute which the driver does not publish, so that they choose nothing."""
    uuid = profile.mig.parent_uuid if mig and profile.mig else profile.attributes.uuid
    product = profile.attributes.product
    chosen = (
        (USE_UUID, uuid, selection.uuid_allow is not None),
        (NOT_UUID, uuid, bool(selection.uuid_deny)),
        (USE_TYPE, product, selection.type_allow is not None),
        (NOT_TYPE, product, bool(selection.type_deny)),
    )
    return [name for name, attribute, chooses in chosen if chooses and attribute is None]


def accepts(selection: Selection, profile: DriverProfile, device: Device, *, mig: bool) -> bool:
    """Whether the selectors keep a known device: the same rules, on facts."""
    uuid_name = profile.mig.parent_uuid if mig and profile.mig else profile.attributes.uuid
    uuid = device.attributes.get(uuid_name) if uuid_name else None
    product = device.attributes.get(profile.attributes.product) if profile.attributes.product else None
    name = None if product is None else _legacy_product(str(product))
    if selection.uuid_allow is not None and uuid not in selection.uuid_allow:
        return False
    if selection.type_allow is not None and not (name and any(t in name for t in selection.type_allow)):
        return False
    return uuid not in selection.uuid_deny and not (name and any(t in name for t in selection.type_deny))


def compare_with_facts(selection: Selection, profile: DriverProfile, facts: Facts) -> list[Note]:
    """Warnings that only the cluster's own devices can give: unknown UUIDs, types that match more or nothing."""
    known = [d for d in facts.devices or () if d.driver == profile.driver]
    if not known:
        return []
    warnings = []
    for name, listed in ((USE_UUID, selection.uuid_allow or ()), (NOT_UUID, selection.uuid_deny)):
        warnings += [
            _note(Reason.UUID_UNKNOWN, f"{name} {quantity.shown(u, 44)}: this cluster has no such card", name)
            for u in listed
            if _CARD_UUID.fullmatch(u) and u not in facts.uuids
        ]
    attribute = profile.attributes.product
    products = sorted(
        {str(d.attributes[attribute]) for d in known if attribute is not None and attribute in d.attributes}
    )
    for name, types in ((USE_TYPE, selection.type_allow or ()), (NOT_TYPE, selection.type_deny)):
        for one in types:
            warnings += _type_facts(name, one, products)
    return warnings


def _type_facts(name: str, one: str, products: Sequence[str]) -> list[Note]:
    matching = [p for p in products if one in _legacy_product(p)]
    if not matching:
        text = f"{name} {quantity.shown(one)} matches no card of this cluster"
        return [_note(Reason.TYPE_UNKNOWN, text, name)]
    whole_word = re.compile(rf"(?<![a-z0-9]){re.escape(one)}(?![a-z0-9])")
    more = [p for p in matching if not whole_word.search(_legacy_product(p))]
    if not more:
        return []
    text = f"{name} {quantity.shown(one)} also matches {quantity.shown(more[0])}"
    return [_note(Reason.TYPE_MATCHES_MORE, text, name)]


def _legacy_product(product: str) -> str:
    """The product name as HAMi registers a card, in lower case."""
    prefixed = product if product.startswith("NVIDIA") else f"NVIDIA-{product}"
    return prefixed.translate(_LOWER)


def _list(text: str) -> tuple[str, ...] | None:
    """The names of a comma list without doubles; None for a blank text, () for nothing but commas."""
    if not text:
        return None
    return tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))


def _lower(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys(n.translate(_LOWER) for n in names))


def _uuid_form(name: str, one: str) -> Note:
    if one.startswith("MIG-"):
        text = f"{name} {quantity.shown(one, 44)} is a slice identifier; only card UUIDs (GPU-…) match"
    else:
        text = f"{name} {quantity.shown(one, 44)}: no such card, UUIDs read GPU-… in lower case"
    return _note(Reason.UUID_FORM, text, name)


def _note(reason: Reason, text: str, annotation: str) -> Note:
    return Note(reason, text, f'metadata.annotations["{annotation}"]')
