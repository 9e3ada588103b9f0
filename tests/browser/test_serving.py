"""How the page is served: headers that keep others out, one copy for each version, any prefix, and not at all."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from app.preview.webpage import page_files
from tests.browser.prefix import behind_a_prefix
from tests.browser.visit import ALL, ROOT, Visit
from tests.server.process import Certificates, ServerProcess, running

PAGE = ROOT / "app" / "preview" / "page"
FILES = sorted(page_files())
SCRIPTS = sorted(path for path in PAGE.rglob("*.js") if "vendor" not in path.parts)
TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "yaml": "text/plain",
}
INTO_HTML = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
LARGEST_SCRIPTS = 150 * 1024  # bytes that a browser gets of all scripts, uncompressed


def address(name: str) -> str:
    return "/" if name == "index.html" else f"/page/{name}"


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_its_type_and_its_headers(server: ServerProcess, name: str) -> None:
    answer = httpx.get(f"{server.ops}{address(name)}")
    assert answer.status_code == 200
    policy = dict(one.split(" ", 1) for one in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert policy["form-action"] == policy["script-src"] == policy["style-src"] == policy["worker-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-cache"
    assert "access-control-allow-origin" not in answer.headers
    suffix = name.rpartition(".")[2]
    assert answer.headers["content-type"].partition(";")[0] == TYPES[suffix]


def test_a_known_version_is_not_sent_again(server: ServerProcess) -> None:
    first = httpx.get(f"{server.ops}/")
    for tag in (first.headers["etag"], f"W/{first.headers['etag']}", f'"other", {first.headers["etag"]}'):
        again = httpx.get(f"{server.ops}/", headers={"If-None-Match": tag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert httpx.get(f"{server.ops}/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_nothing_else_of_the_folder_is_served(server: ServerProcess) -> None:
    for path in ("", "vendor/SHA256SUMS", "vendor/diff/LICENSE", "../webpage.py", "js/none.js"):
        assert httpx.get(f"{server.ops}/page/{path}").status_code == 404
    assert httpx.post(f"{server.ops}/").status_code == 405
    head = httpx.head(f"{server.ops}/")
    assert (head.status_code, head.content) == (200, b"")


def test_the_page_works_below_any_path(open_page: Callable[..., Visit], server: ServerProcess) -> None:
    with behind_a_prefix(server.ops) as proxy:
        visit = open_page(proxy.address)
        visit.example("Shared notebook")
        visit.paste(ALL)
        visit.expect_status("6 workloads: 4 converted, 1 untouched, 1 denied")
        expect(visit.page.get_by_label("Backend")).to_be_visible()
        visit.page.get_by_role("button", name="1 denied").click()
        visit.tab("Diff")
        visit.page.context.close()
        visit.problems.clear()


def test_without_previews_there_is_no_page(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    certificates.issue()
    with running(tmp_path, certificates, preview={"enabled": False}) as process:
        assert [httpx.get(f"{process.ops}{address(name)}").status_code for name in FILES] == [404] * len(FILES)
        assert httpx.get(f"{process.ops}/readyz").status_code == 200


def test_the_page_holds_nothing_inline_and_nothing_from_elsewhere() -> None:
    html = (PAGE / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", html) == []
    addresses = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert len(addresses) > 5
    assert [one for one in addresses if not one.startswith(("page/", "#"))] == []
    for path in SCRIPTS:
        text = path.read_text()
        assert re.findall(INTO_HTML, text) == [], path
        assert re.findall(r"https?://", text) == [], path
    for path in PAGE.rglob("*.css"):
        assert re.findall(r"https?://|@import|url\(", path.read_text()) == [], path


def test_all_scripts_together_are_small() -> None:
    assert sum(path.stat().st_size for path in PAGE.rglob("*.js")) <= LARGEST_SCRIPTS


def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder  # noqa: PLC0415 - the build backend, which only this test needs

    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        held = set(wheel.namelist())
    assert held >= {f"app/preview/page/{name}" for name in (*FILES, "vendor/diff/LICENSE")}
