"""Manifests get into the page in every way, and it shows what the command line prints."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.visit import ALL, ROOT, WORKLOADS, Visit

TITLES = {
    "01-shared-notebook": "Shared notebook",
    "02-training-job": "Training job",
    "03-mig-inference": "MIG inference",
    "04-percentage-statefulset": "Percentage StatefulSet",
    "05-memory-in-bytes": "Memory in bytes",
    "06-web-frontend": "Plain web frontend",
}
PACKAGED = ROOT / "app" / "preview" / "page" / "examples"
SHARE = """\
apiVersion: v1
kind: Pod
metadata: {name: shared}
spec:
  containers:
    - name: main
      image: example.org/app:1
      resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tuning}
spec:
  headGroupSpec:
    template:
      spec:
        containers:
          - {name: head, image: example.org/ray:1, resources: {limits: {nvidia.com/gpu: 1}}}
"""


@cache
def printed(*arguments: str) -> str:
    """What the command line prints for the same."""
    run = subprocess.run(
        [sys.executable, "-m", "app", "preview", *arguments], capture_output=True, check=True, cwd=ROOT
    )
    return run.stdout.decode()


def test_pasted_manifests_are_converted_without_a_click(visit: Visit) -> None:
    visit.paste(ALL)
    visit.expect_status("6 workloads: 4 converted, 1 untouched, 1 denied")
    expect(visit.row("Deployment/notebook")).to_contain_text("1 card · 4000 MiB · 30 % cores")
    expect(visit.row("Pod/render")).to_contain_text("denied")


def test_what_is_typed_is_converted_after_a_pause(visit: Visit) -> None:
    visit.editor.focus()
    visit.page.keyboard.insert_text(SHARE)
    visit.expect_status("1 workload: 1 converted")
    visit.page.keyboard.insert_text("  schedulerName: other\n")
    visit.expect_status("1 workload: 1 untouched")


def test_the_packaged_examples_are_those_of_the_repository() -> None:
    assert {path.name: path.read_bytes() for path in PACKAGED.iterdir()} == {
        path.name: path.read_bytes() for path in WORKLOADS
    }
    assert sorted(TITLES) == [path.stem for path in WORKLOADS]


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_an_example_shows_what_the_command_line_prints(visit: Visit, path: Path) -> None:
    visit.example(TITLES[path.stem])
    expect(visit.editor).to_have_value(path.read_text())
    shown = visit.tab("Converted YAML").locator("pre").text_content()
    copy_all = visit.page.get_by_role("button", name="Copy all YAML")
    if path.stem == "05-memory-in-bytes":
        assert shown == path.read_text()  # nothing is converted: it is refused
        expect(copy_all).to_be_disabled()
        return
    assert shown == printed("-o", "yaml", str(path))
    copy_all.click()
    expect(visit.page.locator("#toast")).to_have_text("All YAML copied")
    assert visit.clipboard == printed("-o", "yaml", str(path))


def test_all_examples_are_in_the_menu(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Examples", exact=True).click()
    assert visit.page.locator("#examples button").all_inner_texts() == list(TITLES.values())
    visit.page.locator("#examples").get_by_role("button", name="Memory in bytes").click()
    visit.expect_status("1 workload: 1 denied")


def test_the_explanation_says_what_was_read_and_which_rule_decided(visit: Visit) -> None:
    visit.example("Shared notebook")
    cells = visit.page.locator(".explain tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[0] == "jupyter"
    assert cells[1].split("\n") == ["nvidia.com/gpu: 1", "nvidia.com/gpumem: 4000", "nvidia.com/gpucores: 30"]
    assert "S29" in cells[2]
    assert "memory and cores are both limits on each card" in cells[2]
    assert cells[3].split("\n")[0] == "1 card: 4000 MiB, cores 30"
    pod = visit.page.locator(".explain tbody tr").nth(1).locator("th, td").all_inner_texts()
    assert pod[:2] == ["the pod", "schedulerName: hami-scheduler"]
    assert "S4" in pod[2]
    expect(visit.page.locator(".callout.warn")).to_contain_text("binpack")


def test_what_the_cluster_has_is_said_where_it_is_known(visit: Visit) -> None:
    """A standalone server knows nothing of a cluster, so its answer gets the members of one that does."""
    known = {
        "matches": [{"claim": "main-gpu", "request": "gpu", "nodes": 1, "devices": 2, "nodeNames": ["a"]}],
        "fit": {"now": False, "nodes": 0, "nodeNames": [], "why": "gpu: 0 of 2 devices are free"},
    }

    def answer(route: Route) -> None:
        report = route.fetch().json()
        report["items"][0].update(known)
        route.fulfill(json=report)

    visit.page.context.route("**/preview?*", answer)
    visit.paste(SHARE)
    panel = visit.page.get_by_role("tabpanel")
    expect(panel).to_contain_text("main-gpu: request gpu matches 2 devices, enough on 1 node")
    expect(panel).to_contain_text("Fits nowhere now: gpu: 0 of 2 devices are free")


def test_an_object_of_an_operator_stays_and_its_pods_are_shown(visit: Visit) -> None:
    visit.paste(RAY)
    visit.expect_status("1 workload: 1 converted")
    expect(visit.page.get_by_role("tabpanel")).to_contain_text("The operator of this kind reads the object")
    assert "resourceClaims:" in (visit.tab("Converted YAML").text_content() or "")
    expect(visit.tab("Diff")).to_contain_text("Its pods, before and after")


def test_a_backend_and_options_change_the_result(visit: Visit) -> None:
    visit.paste(SHARE)
    becomes = visit.page.locator(".becomes")
    expect(becomes).to_contain_text("1 card: 8000 MiB")
    visit.page.get_by_label("Backend").select_option("gpu.nvidia.com")
    expect(becomes).to_contain_text("class gpu.nvidia.com")
    expect(visit.row("Pod/shared")).to_have_count(0)  # a single workload needs no list
    visit.page.get_by_role("button", name="Options").click()
    visit.page.get_by_label("noSharing").select_option("deny")
    visit.expect_status("1 workload: 1 denied")
    expect(visit.page.locator("#options-badge")).to_have_text("1")
    visit.page.get_by_role("button", name="Reset").click()
    visit.expect_status("1 workload: 1 converted")
    expect(becomes).to_contain_text("1 card: 8000 MiB")


def test_filters_show_one_outcome(visit: Visit) -> None:
    visit.paste(ALL)
    visit.page.get_by_role("button", name="1 denied").click()
    expect(visit.rows).to_have_count(1)
    expect(visit.page.locator("#detail-title")).to_have_text("Pod/render")
    visit.page.get_by_role("button", name="2 with warnings").click()
    expect(visit.rows).to_have_count(2)
    visit.page.get_by_role("button", name="6 All").click()
    expect(visit.rows).to_have_count(6)


def test_a_chosen_workload_is_shown_in_the_editor(visit: Visit) -> None:
    visit.paste(ALL)
    visit.row("Deployment/frontend").click()
    expect(visit.page.locator(".paint .near").first).to_have_text("apiVersion: apps/v1")
    expect(visit.page.locator("#detail-title")).to_have_text("Deployment/frontend")
    assert visit.tab("Diff").inner_text() == "Nothing changes."


def test_clearing_starts_anew(visit: Visit) -> None:
    visit.example("Training job")
    visit.page.get_by_role("button", name="Clear").click()
    expect(visit.page.locator("#start")).to_be_visible()
    expect(visit.page.locator("#found")).to_be_hidden()
    expect(visit.editor).to_be_focused()


def test_a_download_holds_the_same_text(open_page: Callable[..., Visit]) -> None:
    visit = open_page(accept_downloads=True)
    visit.example("Training job")
    with visit.page.expect_download() as waiting:
        visit.page.locator("#all-tools").get_by_role("button", name="Download").click()
    assert waiting.value.suggested_filename == "converted.yaml"
    assert Path(waiting.value.path()).read_text() == printed("-o", "yaml", str(WORKLOADS[1]))
