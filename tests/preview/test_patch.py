"""Diffs are what ``patch -p0`` applies, whatever files are called and wherever they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app import cli
from app.preview.diff import TEMPLATES_FILE
from tests.preview.inputs import pod

pytestmark = pytest.mark.patch
MANIFEST = yaml.safe_dump(pod())
NAMES = [
    "pod.yaml",
    "my pod.yaml",
    "tab\tin it.yaml",
    'a "quoted" pod.yaml',
    '"',
    "back\\slash.yaml",
    "über uns.yaml",
    os.fsdecode(b"caf\xe9.yaml"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run: beside other folders, and reached by a link."""
    assert shutil.which("patch"), "no patch: python -m tests.system patch gets it"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "link")
    return tmp_path / "link"


def diff(file: str | Path) -> bytes:
    return CliRunner().invoke(cli.app, ["preview", "-o", "diff", str(file)]).stdout_bytes


def applied(given: str | Path, file: Path) -> bytes:
    """A file after ``patch -p0`` of the diff that the command line prints for it."""
    wanted = CliRunner().invoke(cli.app, ["preview", "-o", "yaml", str(given)]).stdout_bytes
    subprocess.run(["patch", "-p0"], input=diff(given), check=True, capture_output=True)
    after = file.read_bytes()
    assert wanted.endswith(after)
    assert b"resourceClaims" in after
    assert Path(TEMPLATES_FILE).read_bytes() == wanted.removesuffix(after).removesuffix(b"---\n")
    return after


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_file_may_be_called_anything(name: str) -> None:
    Path(name).write_text(MANIFEST)
    applied(name, Path(name))


def test_lines_end_as_they_did() -> None:
    Path("pod.yaml").write_bytes(MANIFEST.replace("\n", "\r\n").encode())
    Path("end.yaml").write_text(MANIFEST.removesuffix("\n"))
    assert applied("pod.yaml", Path("pod.yaml")).count(b"\n") > MANIFEST.count("\n")
    Path(TEMPLATES_FILE).unlink()
    applied("end.yaml", Path("end.yaml"))


def test_an_absolute_path_and_one_through_the_parent_are_named_from_here(folder: Path) -> None:
    file = folder / "my manifests" / "pod.yaml"
    file.parent.mkdir()
    for given in (file, file.resolve(), Path("..", "link", "my manifests", "pod.yaml")):
        file.write_text(MANIFEST)
        assert b"--- my manifests/pod.yaml\t\n" in diff(given)
        applied(given, file)
        Path(TEMPLATES_FILE).unlink()


def test_a_file_that_is_not_below_keeps_its_path(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.yaml"
    file.write_text(MANIFEST)
    for given in (str(file), "../elsewhere.yaml"):
        assert f"--- {given}\n".encode() in diff(given)
        refused = subprocess.run(["patch", "-p0", "--batch"], input=diff(given), check=False, capture_output=True)
        assert (refused.returncode, b"elsewhere.yaml" in refused.stdout) == (1, True)
        assert file.read_text() == MANIFEST
        Path(TEMPLATES_FILE).unlink()
