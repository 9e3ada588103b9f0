"""The report as people and programs get it, and what ends it early."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from app.check.health.finding import Finding, State, fail, ok, summed, unknown, warn
from app.check.health.report import CheckReport, Result, print_report
from app.check.health.run import CHECKS, LAST, check_health, made
from app.check.health.site import Site
from app.cli import app
from tests.check.kit import Cluster, healthy, site_of
from tests.cluster.testbed.processes import free_port

JSON = Any
REPORT = CheckReport(
    "gpu",
    (
        Result("api-server", ok("Kubernetes 1.36.3")),
        Result("replicas", fail("0 of 2 ready", "pods are refused", "kubectl scale deployment/x --replicas=2")),
        Result("live-test", unknown("no namespace to try it in")),
    ),
)


def test_a_line_for_each_check_and_what_to_do_below() -> None:
    text = io.StringIO()
    print_report(REPORT, Console(file=text, width=40, no_color=True, highlight=False))
    assert text.getvalue() == (
        "ok       api-server  Kubernetes 1.36.3\n"
        "fail     replicas    0 of 2 ready\n"
        "         why: pods are refused\n"
        "         fix: kubectl scale deployment/x --replicas=2\n"
        "         see: docs/check.md#replicas\n"
        "unknown  live-test   no namespace to try it in\n"
        "         see: docs/check.md#live-test\n"
        "1 ok, 1 unknown, 0 warn, 1 fail\n"
    )


def test_nothing_of_a_cluster_commands_the_terminal() -> None:
    evil = "\x1b[2J\x9b\u202e\nx"
    text = io.StringIO()
    print_report(
        CheckReport("gpu", (Result("site", fail(evil, evil, evil)),)), Console(file=text, width=80, highlight=False)
    )
    assert set("\x1b\x9b\u202e").isdisjoint(text.getvalue())
    assert text.getvalue().count(r"\x1b[2J\x9b\u202e") == 3


def test_the_document_is_stable() -> None:
    assert CheckReport("gpu", REPORT.results[1:2]).to_json() == {
        "apiVersion": "hami.io/v1alpha1",
        "kind": "CheckReport",
        "namespace": "gpu",
        "summary": {"ok": 0, "unknown": 0, "warn": 0, "fail": 1},
        "checks": [
            {
                "name": "replicas",
                "state": "fail",
                "found": "0 of 2 ready",
                "reason": "pods are refused",
                "fix": "kubectl scale deployment/x --replicas=2",
                "doc": "docs/check.md#replicas",
            }
        ],
    }


def test_several_problems_are_as_bad_as_the_worst() -> None:
    assert summed("fine", []) == ok("fine")
    both = summed("fine", [warn("a", "why a", "do"), fail("b", "why b", "do")])
    assert both == Finding(State.FAIL, "a; b", "why a; why b", "do")


async def report_on(cluster: Cluster) -> CheckReport:
    return await check_health(cluster, "hami-dra-webhook")  # type: ignore[arg-type]


async def test_every_check_has_its_line_in_the_order_of_the_report() -> None:
    report = await report_on(healthy())
    assert [one.name for one in report.results] == [*CHECKS, LAST]
    assert not report.failed


async def test_what_could_not_be_read_is_named_once_at_the_end() -> None:
    cluster = healthy()
    cluster.forbidden = {"leases", "mutatingwebhookconfigurations"}
    report = await report_on(cluster)
    states = {one.name: one.finding.state for one in report.results}
    assert not report.failed
    assert {name for name, state in states.items() if state is State.UNKNOWN} == {
        "webhook", "opt-in-label", "match-conditions", "later-webhooks", "ca-bundle", "certificate", "sweeper", LAST
    }  # fmt: skip
    assert report.results[-1].finding == Finding(
        State.UNKNOWN,
        "not permitted, or no answer: leases in hami-dra-webhook, mutatingwebhookconfigurations",
        "checks that need it are unknown",
        "ask somebody with more rights to run this check (docs/check.md#rights)",
    )


async def test_an_object_of_an_odd_shape_takes_no_other_line_away() -> None:
    cluster = healthy()
    cluster.put("resourceslices", {"metadata": {"name": "odd"}, "spec": {}})
    finding = await made(CHECKS["resource-slices"], await site_of(cluster))
    assert finding == unknown("an object has a shape that is not understood", "KeyError: 'driver'")


async def test_nothing_is_read_twice() -> None:
    cluster = healthy()
    await report_on(cluster)
    # The comparison with the Secret reads the configuration in its own way.
    again = {path for path in cluster.read if cluster.read.count(path) > 1}
    assert again == {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-hami-dra-webhook"}


async def test_a_check_without_an_answer_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: Site) -> Finding:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr("app.check.health.run._SECONDS", 0.01)
    assert await made(hang, await site_of(healthy())) == unknown("no answer within 0.01 s")


def kubeconfig(folder: Path, server: str) -> Path:
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "users": [{"name": "a", "user": {"token": "t"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_api_server_that_does_not_answer_is_one_line(tmp_path: Path, options: list[str]) -> None:
    server = f"http://127.0.0.1:{free_port()}"
    run = CliRunner().invoke(app, ["check", f"--kubeconfig={kubeconfig(tmp_path, server)}", *options])
    assert (run.exit_code, run.stdout) == (3, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"error: the Kubernetes API at {server} cannot be reached: ")


def test_a_kubeconfig_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["check", f"--kubeconfig={tmp_path / 'none'}"])
    assert (run.exit_code, run.stderr) == (3, f"error: kubeconfig {tmp_path / 'none'} does not exist\n")


def test_settings_that_cannot_be_used_are_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("nodeName: forbid\n")
    run = CliRunner().invoke(app, ["check", f"--config={tmp_path / 'config.yaml'}"])
    assert run.exit_code == 2
    assert "nodeName" in run.stderr
