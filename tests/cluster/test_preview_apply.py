"""``preview -o yaml | kubectl apply -f -`` ends where the webhook does: the same cards, with the same neighbours."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from app.cli import app
from app.preview.workloads import find_pods, manifests, rewritable
from tests.cluster.allocated import comparable, kinds_of_devices
from tests.cluster.corpus_machines import CLASSES, machine_with_everything
from tests.cluster.corpus_objects import HAVE_PODS, apply_object, objects_of, pods_of, taken_for_granted
from tests.cluster.since import scheduler_setting
from tests.cluster.testbed.allocation import Allocation
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.kubectl import Kubectl
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook
from tests.corpus.cases import Case, Entry, load

JSON = Any
MACHINES = (machine_with_everything(), *CLASSES)
OWN_CLAIMS_ARE_MISSING = {"one-of-each", "both-in-one", "native-only"}
"""Pods that name claims which the case does not hold."""


@pytest.fixture(scope="module", autouse=True)
def surroundings(api: Api) -> Iterator[None]:
    """What the manifests take for granted."""
    with taken_for_granted(api):
        yield


def name_of(obj: JSON) -> str:
    metadata = obj["metadata"]
    return metadata.get("name") or f"{metadata['generateName']}*"


def gets_on(entry: Entry) -> bool:
    """Its pods get cards on the machines of this module."""
    waits = any(fact.get("neverFits") for fact in entry.placement)
    return entry.outcome == "converted" and entry.name not in OWN_CLAIMS_ARE_MISSING and not waits


def chosen(case: Case) -> list[JSON]:
    """The objects of a case that Kubernetes itself serves, that a preview rewrites (S71), and whose pods get cards."""
    wanted = {(entry.kind, entry.name) for entry in case.entries if gets_on(entry)}
    return [obj for obj in objects_of(case) if (obj["kind"], name_of(obj)) in wanted and rewritable(obj)]


CASES = [case for case in load() if not case.needs and chosen(case)]


def given(namespace: Namespace, obj: JSON) -> list[Allocation]:
    """Applies an object; what its pods get."""
    pods, refused = pods_of(namespace, apply_object(namespace, obj))
    assert not refused
    return [namespace.allocation(pod["metadata"]["name"], timeout=30) for pod in pods]


@pytest.fixture
def preview(tmp_path: Path, kubectl: Kubectl, control_plane: ControlPlane) -> Callable[[Case], list[JSON]]:
    """What ``preview -o yaml`` makes of a case, with what the cluster publishes and the settings of the case."""

    def run(case: Case) -> list[JSON]:
        slices, config = tmp_path / "slices.yaml", tmp_path / "config.yaml"
        slices.write_text(kubectl("get", "resourceslices,deviceclasses", "-o", "yaml", check=True).stdout)
        config.write_text(yaml.safe_dump({**scheduler_setting(control_plane), **case.settings}))
        arguments = ("-o", "yaml", "--keep-going", "--slices", slices, "--config", config, case.file)
        said = CliRunner().invoke(app, ["preview", *map(str, arguments)])
        assert said.exit_code in (0, 1), said.stderr
        return list(yaml.safe_load_all(said.stdout))

    return run


def converted(case: Case, documents: list[JSON]) -> Iterator[list[JSON]]:
    """For each chosen object its converted form, behind the templates that it needs; all without their namespaces."""
    found = [obj for document in documents for _, obj in manifests(document) if obj]
    templates = {obj["metadata"]["name"]: obj for obj in found if obj["kind"] == "ResourceClaimTemplate"}
    by_name = {(obj["kind"], name_of(obj)): obj for obj in found if (obj["apiVersion"], obj["kind"]) in HAVE_PODS}
    for original in chosen(case):
        obj = by_name[original["kind"], name_of(original)]
        (pod,) = find_pods(obj)
        names = {one.get("resourceClaimTemplateName") for one in pod.pod["spec"].get("resourceClaims", ())}
        step = [templates[name] for name in sorted(names & set(templates))] + [obj]
        for one in step:
            one["metadata"].pop("namespace", None)
        yield step


def settle() -> None:
    """The scheduler learns by a watch that cards are free again, nothing shows when, and until then it gives others."""
    time.sleep(0.5)


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_printed_manifests_get_the_cards_that_the_webhook_gets(
    start_webhook: Callable[..., Webhook],
    new_namespace: Callable[..., Namespace],
    preview: Callable[[Case], list[JSON]],
    case: Case,
) -> None:
    if case.settings:
        start_webhook(case.settings)
    through_webhook = new_namespace()
    kinds = kinds_of_devices(through_webhook.api)
    expected = comparable([given(through_webhook, obj) for obj in chosen(case)], kinds)
    assert any(devices for row in expected for _, devices in row)
    through_webhook.remove()
    settle()
    by_hand = new_namespace(labels={})
    rows = []
    for *templates, obj in converted(case, preview(case)):
        if templates:
            by_hand.kubectl.apply(*templates)
        rows.append(given(by_hand, obj))
    assert comparable(rows, kinds) == expected


@pytest.mark.usefixtures("webhook")
def test_the_pipe_of_the_documentation_works(namespace: Namespace, tmp_path: Path) -> None:
    """With comments, a workload and two pods, one of them a duplicate in what it asks."""
    settle()
    file = tmp_path / "team.yaml"
    file.write_text(TEAM)
    program = [sys.executable, "-m", "app", "preview", "-o", "yaml", str(file)]
    printed = subprocess.run(program, capture_output=True, check=True, text=True)
    assert printed.stderr == ""
    for expected in ("created", "unchanged"):
        said = namespace.kubectl("apply", "-f", "-", stdin=printed.stdout, check=True)
        assert [line.rpartition(" ")[2] for line in said.stdout.splitlines()] == [expected] * 4
    wait_for(lambda: len(namespace.pods()) == 3, "three pods", describe=namespace.describe)
    cards = [namespace.allocation(pod["metadata"]["name"]).only for pod in namespace.pods()]
    assert [(card.device, card.memory_mib, card.cores) for card in cards] == [("hami-gpu-0", 8000, 0)] * 3


TEAM = """\
# what the team runs
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: main  # the model
          image: example.org/web:1
          resources: &share {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Pod
metadata: {name: notebook}
spec:
  containers:
    - name: main
      image: example.org/notebook:1
      resources:
        limits:
          nvidia.com/gpu: 1
          nvidia.com/gpumem: 8k  # the same as 8000
"""
