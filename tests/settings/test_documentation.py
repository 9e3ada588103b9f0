"""The documentation of the settings is complete and says what the program does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from app.settings.keys import Setting, all_settings
from app.settings.sources import dotted

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_settings", DOCS / "generate_settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_the_generated_one(generator: ModuleType) -> None:
    written = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert written == generator.page(), "run: python docs/generate_settings.py"


@pytest.mark.parametrize("setting", list(all_settings()), ids=lambda one: dotted(one.path))
def test_each_setting_is_described_with_its_variable(setting: Setting) -> None:
    assert len(setting.description) > 10
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert f"### `{dotted(setting.path)}`" in page
    assert f"`{setting.variable}`" in page
