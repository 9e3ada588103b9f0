from collections.abc import Mapping
from typing import Any
from app.translate.decision import Decision
from app.translate.facts import Facts
from app.translate.policy import Policy


def translate(pod: Mapping[str, Any], facts: Facts, policy: Policy, *, avoid: frozenset[str] = frozenset()) -> Decision:
    raise NotImplementedError


def translate_update(pod: Mapping[str, Any], old: Mapping[str, Any], policy: Policy) -> Decision:
    raise NotImplementedError
