"""Legacy resource names: which are ours, what they ask, and which only look alike (S1, S9, S43)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from app.translate.memory import remembered
from app.translate.policy import Key, Policy

_MIG_PROFILE = re.compile(r"([0-9]+)g\.([0-9]+)gb(\.[a-z]+(\.[a-z]+)*)?(-[a-z]+)?")
_SIMILAR = 0.8
"""difflib ratio above which a name of the same domain counts as a slip: gpucore/gpucores is 0.93, gpu/hostdev 0.2."""
_SAME_START = 3
"""A slip keeps the first letters; without this ``pgpu`` would pass for ``gpu``."""


@dataclass(frozen=True, slots=True)
class Match:
    """What a configured name asks."""

    key: Key
    mig_profile: str | None = None
    """The profile as slices spell it, for ``mig-*`` names."""
    shared: bool = False


@remembered()
def classify(policy: Policy, name: str) -> Match | None:
    """What the name asks; None when it is not a configured one (also for ``mig-`` names that are no profile)."""
    key = policy.keys.get(name)
    if key is not None:
        return Match(key, shared=key is Key.SHARED)
    names = policy.settings.resource_names
    if not name.startswith(names.mig_prefix):
        return None
    shared = name.endswith(names.shared_suffix)
    written = name.removeprefix(names.mig_prefix).removesuffix(names.shared_suffix)
    profile = mig_profile(written)
    if profile is None:
        return None
    aliases = policy.settings.mig_aliases
    return Match(Key.MIG, aliases.get(written, aliases.get(profile, profile)), shared)


def mig_profile(name: str) -> str | None:
    """The MIG profile behind the rest of a resource name: ``1g.5gb.me`` → ``1g.5gb+me``; None when it is none (S43).

    Source: the device plugin writes each ``+`` of a profile as ``.``, and a profile has at most one ``+``.
    """
    match = _MIG_PROFILE.fullmatch(name)
    if match is None:
        return None
    head, separator, tail = name.partition("gb.")
    return f"{head}gb+{tail}" if separator else name


@remembered()
def near_miss(policy: Policy, name: str) -> str | None:
    """The configured name that was probably meant, for names that are not configured (S9).

    Names of other families and unknown names of the same domain (``nvidia.com/pgpu``) give None.
    """
    names = policy.settings.resource_names
    domain, rest = _parts(name)
    if name.startswith(names.mig_prefix):
        return f"{names.mig_prefix}<slices>g.<memory>gb"
    best: tuple[float, str] | None = None
    for known in policy.keys:
        known_domain, known_rest = _parts(known)
        if domain != known_domain or rest[:_SAME_START] != known_rest[:_SAME_START]:
            continue
        score = difflib.SequenceMatcher(None, rest, known_rest).ratio()
        if rest.startswith(known_rest):
            score = max(score, _SIMILAR) + len(known_rest) / 1000  # the longest configured start wins
        if score >= _SIMILAR and (best is None or score > best[0]):
            best = (score, known)
    return None if best is None else best[1]


def _parts(name: str) -> tuple[str, str]:
    """Domain and rest of a resource name, the rest without case and separators, which slips change most."""
    domain, _, rest = name.partition("/")
    return domain, re.sub(r"[-_]", "", rest.lower())
