"""Waits for something to become true, and says what was there instead when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(check: Callable[[], T | None], what: str, *, timeout: float = 60, describe: Callable[[], str] = str) -> T:
    """Call ``check`` until it returns something true, which is returned.

    Args:
        check: must be cheap; it is called up to 20 times a second.
        what: continues the sentence "waited 60 s for …".
        timeout: seconds; much longer than it takes, for a busy machine.
        describe: called on failure; what there is to see instead.

    Raises:
        AssertionError: the time is up.
    """
    start = time.monotonic()
    while True:
        if found := check():
            return found
        waited = time.monotonic() - start
        if waited > timeout:
            raise AssertionError(f"waited {timeout:g} s for {what}\n{describe()}")
        time.sleep(0.05 if waited < 2 else 0.2)
