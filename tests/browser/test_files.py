"""Files and folders are opened and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.visit import WORKLOADS, Visit


def drop(visit: Visit, paths: Sequence[Path]) -> None:
    """Drop files and folders on the page, as from a file manager."""
    session = visit.page.context.new_cdp_session(visit.page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 700, "y": 500, "data": data})
    expect(visit.page.locator("#dropzone")).to_be_visible()
    session.send("Input.dispatchDragEvent", {"type": "drop", "x": 700, "y": 500, "data": data})
    expect(visit.page.locator("#dropzone")).to_be_hidden()


def test_one_dropped_file_stays_byte_for_byte(visit: Visit) -> None:
    drop(visit, WORKLOADS[:1])
    visit.expect_status("1 workload: 1 converted")
    expect(visit.editor).to_have_value(WORKLOADS[0].read_text())


def test_dropped_files_are_joined_and_named(visit: Visit) -> None:
    drop(visit, WORKLOADS)
    visit.expect_status("6 workloads: 4 converted, 1 untouched, 1 denied")
    names = visit.page.get_by_role("list", name="Files in the editor").get_by_role("button")
    assert names.all_inner_texts() == [path.name for path in WORKLOADS]
    names.nth(2).click()
    assert visit.selected_line() == "# file: 03-mig-inference.yaml"


def test_a_dropped_folder_gives_its_manifests_and_nothing_else(visit: Visit, tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    (folder / "team").mkdir(parents=True)
    (folder / "team" / "b.yml").write_text(WORKLOADS[1].read_text())
    (folder / "a.yaml").write_text(f"---\n{WORKLOADS[0].read_text()}")
    (folder / "README.md").write_text("not a manifest")
    drop(visit, [folder])
    visit.expect_status("2 workloads: 2 converted")
    names = visit.page.get_by_role("list", name="Files in the editor").get_by_role("button")
    assert names.all_inner_texts() == ["deploy/a.yaml", "deploy/team/b.yml"]


def test_opened_files_are_read(visit: Visit) -> None:
    with visit.page.expect_file_chooser() as waiting:
        visit.page.get_by_role("button", name="Open files").click()
    waiting.value.set_files([str(path) for path in WORKLOADS[:2]])
    visit.expect_status("2 workloads: 2 converted")


def test_what_cannot_be_read_is_said_and_changes_nothing(visit: Visit, tmp_path: Path) -> None:
    visit.example("Training job")
    large, binary, empty = tmp_path / "large.yaml", tmp_path / "binary.yaml", tmp_path / "empty"
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("# café\n".encode("latin-1"))
    large.write_text("# x\n" * (2 * 1024 * 1024))
    binary.write_bytes(b"\x7fELF\0\0")
    empty.mkdir()
    for path, said in (
        (large, "1 file with 8.0 MiB; a preview takes at most 7 MiB. Take fewer at a time."),
        (binary, "binary.yaml is no text"),
        (latin, "latin.yaml is not UTF-8: save it as UTF-8"),
        (empty, "No .yaml, .yml or .json file in it"),
    ):
        drop(visit, [path])
        expect(visit.page.locator("#toast")).to_have_text(said)
    expect(visit.editor).to_have_value(WORKLOADS[1].read_text())
