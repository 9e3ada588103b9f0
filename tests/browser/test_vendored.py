"""What the page takes from npm is what web/package-lock.json says, unchanged and with its licence."""

from __future__ import annotations

import hashlib
import json
import re

from tests.browser.visit import ROOT

VENDOR = ROOT / "app" / "preview" / "page" / "vendor"
LOCK = json.loads((ROOT / "web" / "package-lock.json").read_text())
LIBRARIES = {name.removeprefix("node_modules/"): one for name, one in LOCK["packages"].items() if name}


def test_every_copied_file_is_the_recorded_one() -> None:
    record = (VENDOR / "SHA256SUMS").read_text()
    recorded = dict(line.split("  ")[::-1] for line in record.splitlines() if not line.startswith("#"))
    found = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    assert found == recorded


def test_the_record_is_of_the_locked_versions() -> None:
    heads = re.findall(r"^# (\S+) (\S+) (\S+)$", (VENDOR / "SHA256SUMS").read_text(), re.MULTILINE)
    assert heads == [(name, one["version"], one["integrity"]) for name, one in LIBRARIES.items()]
    asked = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]
    assert asked == {name: one["version"] for name, one in LIBRARIES.items()}


def test_every_library_comes_with_its_licence() -> None:
    for name, one in LIBRARIES.items():
        assert one["license"] == "BSD-3-Clause"
        assert "Redistribution and use" in (VENDOR / name / "LICENSE").read_text()


def test_the_lock_names_no_place_to_get_it_from() -> None:
    assert [name for name, one in LIBRARIES.items() if "resolved" in one] == []
