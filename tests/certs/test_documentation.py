"""The page about certificates names everything that a metric, a log line or a Secret can show."""

from __future__ import annotations

from pathlib import Path

import pytest

from certs.reasons import Kind, Reason
from certs.trust import KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_is_described(reason: Reason) -> None:
    assert f"| `{reason}` |" in PAGE
    assert len(reason.sentence) > 10


@pytest.mark.parametrize("word", [*Kind, *KEYS])
def test_each_kind_and_each_key_of_the_secret_is_named(word: str) -> None:
    assert f"`{word}`" in PAGE
