"""Ways to a decision about manifests: command line, endpoint, page, and the webhook itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from playwright.sync_api import Browser, Locator, expect
from typer.testing import CliRunner

from app.cli import app
from app.preview import read
from app.preview.workloads import find_pods, manifests
from tests.browser.visit import Visit
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.webhook import Webhook
from tests.corpus.cases import Case

JSON = Any
Items = Sequence[Mapping[str, JSON]]
"""Of a PreviewReport: those that are about a pod."""
_BETWEEN = "\n---\n"
"""Parts the cases in the text that is pasted."""
_TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
"""The API server gives each pod its own name for this one."""


def about_pods(report: Mapping[str, JSON]) -> Items:
    """The items of a report that are about a pod, without the file that they come from."""
    found = [item for item in report["items"] if item["source"]["podPath"] is not None]
    return [{**item, "source": {**item["source"], "file": None}} for item in found]


def command_line(case: Case, slices: Path, folder: Path, settings: Mapping[str, JSON]) -> Items:
    """What ``preview -o json`` says, with the settings of the case and of the cluster, and what it publishes."""
    config = folder / f"{case.id}.yaml"
    config.write_text(yaml.safe_dump({**settings, **case.settings}))
    options = ("-o", "json", "--config", str(config), "--slices", str(slices))
    run = CliRunner().invoke(app, ["preview", *options, str(case.file)])
    assert run.exit_code in (0, 1), run.stderr
    return about_pods(json.loads(run.stdout))


def endpoint(case: Case, webhook: Webhook) -> Items:
    """What ``POST /preview`` of the very server that decides about pods says."""
    answer = httpx.post(f"{webhook.ops_url}/preview", content=case.file.read_bytes(), timeout=60, trust_env=False)
    return about_pods(answer.raise_for_status().json())


def page(cases: Sequence[Case], webhook: Webhook, browser: Browser) -> Mapping[str, Items]:
    """What the page of that server shows of each case, when all are pasted as one text.

    These are the report items as the page hands them out; what it shows beside them must agree.
    """
    visit = Visit(browser, f"{webhook.ops_url}/")
    visit.paste(_BETWEEN.join(case.file.read_text() for case in cases))
    expect(visit.page.locator("#status")).to_have_text(re.compile(r"\d+ workloads?: "), timeout=30_000)
    expect(visit.page.locator('#rows[aria-busy="true"]')).to_have_count(0)  # many are made a part after the other
    count = visit.rows.count()
    rows = [visit.rows.nth(number) for number in range(count)] or [None]  # a single workload is shown without a list
    items = [_shown(visit, row) for row in rows]
    visit.close()
    assert visit.problems == []
    found: dict[str, Items] = {}
    first = lines = 0
    for case in cases:
        documents = {index for index, _ in enumerate(read(case.file.read_bytes()).documents, start=first)}
        mine = [item for item in items if item["source"]["document"] in documents]
        for item in mine:
            item["source"]["document"] -= first
            for reason in item["reasons"]:
                reason["document"] -= first
                reason["line"] = reason["line"] and reason["line"] - lines
        found[case.id] = about_pods({"items": mine})
        first += len(documents)
        lines += case.file.read_text().count("\n") + _BETWEEN.count("\n")
    return found


def _shown(visit: Visit, row: Locator | None) -> JSON:
    if row is not None:
        row.click()
        expect(row).to_have_attribute("aria-selected", "true")
    visit.tab("JSON").get_by_role("button", name="Copy JSON").click()
    item = json.loads(visit.clipboard)
    source = item["source"]
    title = f"{source['kind']}/{source['name'] or source['generateName']}"
    expect(visit.page.locator("#detail-title")).to_contain_text(title)
    expect(visit.page.locator(".detail-head .chip")).to_have_text(item["outcome"])
    return item


@dataclass(frozen=True)
class Admitted:
    """What the API server answered to a pod."""

    outcome: str
    pod: Mapping[str, JSON] | None = None
    """As it was stored, without what differs between two equal pods."""
    message: str = ""
    """Why not."""
    warnings: Sequence[str] = ()


def pods_in(case: Case) -> list[JSON]:
    """The pods that a case leads to, as a controller would create them, in the order of the report."""
    found = []
    for document in read(case.file.read_bytes()).documents:
        for _, manifest in manifests(document.value):
            found += [as_pod(one.pod) for one in find_pods(manifest)]
    return found


def as_pod(template: Mapping[str, JSON]) -> JSON:
    """A pod of a template, with a generated name.

    What a controller or operator fills in is filled in: images, and the volumes of a StatefulSet's claims.
    """
    spec = deepcopy(template["spec"])
    everything = [*spec.get("initContainers", ()), *spec["containers"]]
    for container in everything:
        container.setdefault("image", "example.org/filled-in:1")
    volumes = {volume["name"] for volume in spec.get("volumes", ())}
    mounted = {mount["name"] for container in everything for mount in container.get("volumeMounts", ())}
    if missing := sorted(mounted - volumes):
        spec["volumes"] = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in missing)]
    metadata = {key: value for key, value in template.get("metadata", {}).items() if key in ("labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "pod-", **metadata}, "spec": spec}


def create(namespace: Namespace, pod: JSON, *, dry_run: bool = False) -> Admitted:
    """Create a pod, and see what became of it."""
    try:
        stored = namespace.create(pod, dry_run=dry_run)
    except ApiError as error:
        outcome = "denied" if "denied the request" in error.message else "invalid"
        return Admitted(outcome, message=error.message, warnings=warnings_of(namespace))
    warnings = warnings_of(namespace)
    if not dry_run:
        namespace.api.delete("Pod", stored["metadata"]["name"], namespace.name, gracePeriodSeconds=0)
    labels = stored["metadata"].get("labels", {})
    outcome = "converted" if labels.get("hami.io/dra-webhook-converted") == "true" else "untouched"
    kept = {key: stored["metadata"][key] for key in ("labels", "annotations") if key in stored["metadata"]}
    text = _TOKEN_VOLUME.sub("kube-api-access", json.dumps({"metadata": kept, "spec": stored["spec"]}))
    return Admitted(outcome, json.loads(text), warnings=warnings)


def warnings_of(namespace: Namespace) -> list[str]:
    """Warnings of the last answer, as they were before a header quoted them."""
    return [re.sub(r"\\(.)", r"\1", text) for text in namespace.api.warnings]
