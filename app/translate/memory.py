"""What is remembered of pods: bounded in number by each cache, in bytes and age by :func:`forget`.

Decisions repeat themselves, so most functions below :func:`app.translate.translate` remember what they said. Their keys
hold text that anybody may send, and the facts of a cluster, which would keep facts of the past alive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

R = TypeVar("R")
_clear: list[Callable[[], None]] = []


def remembered(entries: int = 4096) -> Callable[[Callable[..., R]], _lru_cache_wrapper[R]]:
    """Makes a function remember its latest results, until :func:`forget`."""

    def remembering(function: Callable[..., R]) -> _lru_cache_wrapper[R]:
        cached = lru_cache(maxsize=entries)(function)
        _clear.append(cached.cache_clear)
        return cached

    return remembering


def forget() -> None:
    """Empty all caches: after a pod that is too large to keep, and when the facts of the cluster have changed."""
    for clear in _clear:
        clear()
