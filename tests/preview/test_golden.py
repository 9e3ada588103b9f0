"""Every rendering of a few inputs, as a whole.

``UPDATE_GOLDEN=1 pytest tests/preview/test_golden.py`` writes the files anew; read their diff before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app

FOLDER = Path(__file__).parent / "golden"
SUFFIXES = {"yaml": "yaml", "json": "json", "patch": "json", "diff": "diff", "explain": "txt"}


@pytest.mark.parametrize("output", SUFFIXES)
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_the_rendering_is_what_it_was(name: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    run = CliRunner().invoke(app, ["preview", "--keep-going", "-o", output, f"{name}.yaml"])
    said = f"# exit code {run.exit_code}\n{run.stderr}" if output == "yaml" else ""
    for kind, suffix, text in ((output, SUFFIXES[output], run.stdout), ("notes", "txt", said)):
        file = FOLDER / name / f"{kind}.{suffix}"
        if not text and kind == "notes":
            continue
        if os.environ.get("UPDATE_GOLDEN"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text()
