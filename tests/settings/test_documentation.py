"""The documentation of the settings is complete and says what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings.keys import Setting, all_settings
from app.settings.sources import dotted
from docs import generate_settings

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_the_generated_one() -> None:
    written = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert written == generate_settings.page(), "run: python docs/generate_settings.py"


@pytest.mark.parametrize("setting", list(all_settings()), ids=lambda one: dotted(one.path))
def test_each_setting_is_described_with_its_variable(setting: Setting) -> None:
    assert len(setting.description) > 10
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert f"### `{dotted(setting.path)}`" in page
    assert f"`{setting.variable}`" in page
