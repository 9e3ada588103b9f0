"""The scan of a real API server with 2,000 pods in 100 namespaces and 200 nodes.

What it says is compared with what was counted while the cluster was filled (``population.py``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.cluster import population
from tests.cluster.population import (
    CARD_MIB,
    CARDS_OF_A_NODE,
    CLAIMS,
    DRIVER,
    GPU,
    INSTALLATION,
    MEMORY,
    MEMORY_FACTOR,
    NAMESPACES,
    PART_CORES,
    PART_MIB,
    PODS_OF_A_NAMESPACE,
    REFUSED,
    WITH_BOTH,
    WITH_DRA,
    WITH_PLUGIN,
    Population,
)
from tests.cluster.quick_api import QuickApi
from tests.cluster.testbed import build
from tests.cluster.testbed.components import ADMIN_TOKEN, CONTROLLERS, SCHEDULER, kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.timeout(300)  # thousands of objects are made before the first test

JSON = Any
ROOT = Path(__file__).parents[2]
MAX_SECONDS, MAX_MIB = 20, 300
OTHERS = 5
"""Namespaces that Kubernetes itself makes, and that of the installation."""
READER = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]},
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
]


class Ran(NamedTuple):
    """A scan that has ended."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    peak_mib: float

    @property
    def report(self) -> JSON:
        return json.loads(self.stdout)


class Crowd(NamedTuple):
    """The filled cluster."""

    control_plane: ControlPlane
    made: Population
    folder: Path

    def scan(self, user: str, *arguments: str) -> Ran:
        """The program as a process, with the token of a user: ``reader``, ``viewer`` or ``member``."""
        return run(sys.executable, "-m", "app", "scan", "--kubeconfig", str(self.folder / user), *arguments)


_LAUNCHER = """
import os, sys
process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    print(usage.ru_maxrss, file=file)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""The peak that the kernel keeps of a process begins with what its parent held, so this small one is its parent."""


def run(*command: str) -> Ran:
    """Run a program to its end."""
    with tempfile.NamedTemporaryFile("r") as peak:
        begin = time.monotonic()
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, peak.name, *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - begin
        return Ran(process.returncode, process.stdout, process.stderr, seconds, int(peak.read()) / 1024)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """A control plane of its own: nobody else's objects, and no controller that would change the counted ones."""
    folder = tmp_path_factory.mktemp("scan")
    with ControlPlane(build.KUBERNETES) as control_plane:
        api = control_plane.api
        wait_for(lambda: api.get("ClusterRole", "view")["rules"], "the aggregated rules of view")
        for component in (CONTROLLERS, SCHEDULER):
            control_plane.stop_component(component)
        quick = QuickApi(control_plane.layout.server, control_plane.layout.ca, ADMIN_TOKEN)
        made = population.populate(quick)
        quick.close()
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
        api.create(role | {"rules": READER})
        for user, granted in (("reader", "reader"), ("viewer", "view")):
            _account(control_plane, user, granted, folder / user)
        _account(control_plane, "member", "view", folder / "member", only="team-007")
        yield Crowd(control_plane, made, folder)


def _account(control_plane: ControlPlane, user: str, role: str, file: Path, *, only: str | None = None) -> None:
    """A ServiceAccount with a ClusterRole, everywhere or in one namespace only, and a kubeconfig with its token."""
    api = control_plane.api
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": user}}, "default")
    group = "rbac.authorization.k8s.io"
    api.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding" if only else "ClusterRoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": user, "namespace": "default"}],
        },
        only,
    )
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.request("POST", f"/api/v1/namespaces/default/serviceaccounts/{user}/token", body)["status"]["token"]
    layout = control_plane.layout
    file.write_text(yaml.safe_dump(kubeconfig(layout.server, layout.ca, token)))


@pytest.fixture(scope="module")
def ran(crowd: Crowd) -> Ran:
    """One scan of everything, by somebody who may only get and list."""
    return crowd.scan("reader", "-o", "json")


def test_the_peak_is_that_of_the_program_and_not_of_the_tests() -> None:
    held = b"1" * (MAX_MIB * 1024 * 1024)
    assert run(sys.executable, "-c", f"print({len(held)})").peak_mib < MAX_MIB / 2


def test_2000_pods_on_200_nodes_take_at_most_20_seconds_and_300_mib(ran: Ran) -> None:
    assert ran.seconds <= MAX_SECONDS
    assert ran.peak_mib <= MAX_MIB


def test_get_and_list_are_enough_for_everything(ran: Ran) -> None:
    assert (ran.code, ran.stderr) == (1, "")
    assert (ran.report["unread"], ran.report["unknown"]) == ([], [])


def test_the_sums_are_those_that_were_counted(ran: Ran, crowd: Crowd) -> None:
    summary, made = ran.report["summary"], crowd.made
    assert made.pods == NAMESPACES * PODS_OF_A_NAMESPACE == 2000
    assert summary["pods"] == made.pods
    assert summary["finished"] == made.finished
    assert (summary["namespaces"], summary["optedIn"]) == (NAMESPACES + OTHERS, made.opted_in)
    counted = {outcome: number for outcome, number in summary["workloads"].items() if number}
    assert counted == made.outcomes + Counter({"no-gpu": 2})  # HAMi's scheduler and the webhook


def test_every_namespace_and_every_workload_is_as_it_was_counted(ran: Ran, crowd: Crowd) -> None:
    rows = {row["name"]: row for row in ran.report["namespaces"]}
    for name, counted in crowd.made.by_namespace.items():
        assert {outcome: number for outcome, number in rows[name]["workloads"].items() if number} == counted
        assert rows[name]["optedIn"] is name.endswith("0")
    listed: dict[str, Counter[str]] = {}
    for one in ran.report["workloads"]:
        listed.setdefault(one["namespace"], Counter())[one["outcome"]] += 1
    without_gpu = Counter({"no-gpu": 1})
    assert listed == {name: counted - without_gpu for name, counted in crowd.made.by_namespace.items()}


def test_each_workload_tells_its_pods(ran: Ran) -> None:
    found = {(one["namespace"], one["kind"], one["name"]): one for one in ran.report["workloads"]}
    numbers = {
        ("Deployment", "serve"): (4, 4, 0),
        ("StatefulSet", "train"): (2, 2, 0),
        ("Job", "batch"): (3, 3, 0),
        ("RayCluster", "ray"): (3, 3, 0),
        ("Pod", "notebook"): (1, 1, 0),
    }
    for (kind, name), expected in numbers.items():
        one = found["team-042", kind, name]
        assert (one["pods"], one["running"], one["served"]) == expected
    assert found["team-010", "Deployment", "serve"]["served"] == 2
    assert found["team-005", "CronJob", "nightly"]["pods"] == 0


def test_what_is_asked_offered_and_free_is_as_it_was_counted(ran: Ran, crowd: Crowd) -> None:
    (row,) = ran.report["devices"]
    asked = crowd.made.asked
    assert row["asked"] == {
        "pods": asked["pods"], "devices": asked["devices"], "wholeDevices": asked["whole"],
        "memoryMiB": asked["memory"] * MEMORY_FACTOR, "memoryPercentage": asked["percent"], "cores": asked["cores"],
    }  # fmt: skip
    cards = (WITH_DRA + WITH_BOTH) * CARDS_OF_A_NODE
    whole = parts = CLAIMS // 2
    assert row["offered"] == {
        "devices": cards, "untouchedDevices": cards, "memoryMiB": cards * CARD_MIB, "cores": cards * 100,
    }  # fmt: skip
    assert row["free"] == {
        "devices": cards - whole,
        "untouchedDevices": cards - whole - parts,
        "memoryMiB": (cards - whole) * CARD_MIB - parts * PART_MIB,
        "cores": (cards - whole) * 100 - parts * PART_CORES,
    }
    assert row["short"] == []


def test_the_settings_are_those_of_the_installation_unless_others_are_given(ran: Ran, crowd: Crowd) -> None:
    assert ran.report["scope"]["settings"] == f"ConfigMap {INSTALLATION}/{INSTALLATION}"
    file = crowd.folder / "settings.yaml"
    file.write_text("memoryFactor: 1\n")
    given = crowd.scan("reader", "--config", str(file), "-n", "team-042", "-o", "json").report
    assert given["scope"]["settings"] == str(file)
    assert given["devices"][0]["asked"]["memoryMiB"] == 4 * 4000 + 2 * 8000 + 2000


def test_the_hazards_are_those_that_were_built_in(ran: Ran) -> None:
    found = {one["code"]: (one["severity"], one["count"]) for one in ran.report["hazards"]}
    assert found == {
        "cards-offered-twice": ("blocks", WITH_BOTH),
        "class-claims-legacy-name": ("warns", 1),
        "memory-scaling": ("warns", 1),
        "hami-webhook": ("warns", 1),
        "hami-scheduler": ("warns", 1),
        "limit-range-refuses": ("warns", 1),
        "limit-range-gives-devices": ("warns", 1),  # the API server makes a default of each max
        "quota-stops-counting": ("warns", 2),
        "webhook-after": ("warns", 1),
        "nodes-without-dra": ("informs", WITH_PLUGIN),
    }
    objects = {one["code"]: one["objects"] for one in ran.report["hazards"]}
    assert objects["quota-stops-counting"] == [
        {
            "object": "team-002/ResourceQuota/gpus",
            "detail": f"limits.{MEMORY}: 64k → nothing counts memory or cores of claims",
        },
        {
            "object": "team-002/ResourceQuota/gpus",
            "detail": f"requests.{GPU}: 40 → goes on counting, since a DeviceClass has this extendedResourceName",
        },
    ]


def test_S72_the_limit_range_denies_the_workloads_of_its_namespace(ran: Ran, crowd: Crowd) -> None:
    denied = {
        f"{one['namespace']}/{one['kind']}/{one['name']}"
        for one in ran.report["workloads"]
        if "limit-range" in {reason["code"] for reason in one["reasons"]}
    }
    assert denied == set(crowd.made.refused)
    assert all(name.startswith(f"{REFUSED}/") for name in denied)


def test_chosen_namespaces_are_scanned_alone(crowd: Crowd) -> None:
    report = crowd.scan("reader", "-n", "team-007", "-n", "team-010", "-o", "json").report
    made = crowd.made.by_namespace
    counted = {outcome: number for outcome, number in report["summary"]["workloads"].items() if number}
    assert counted == made["team-007"] + made["team-010"]
    assert [row["name"] for row in report["namespaces"]] == ["team-007", "team-010"]
    wrong = crowd.scan("reader", "-n", "team-100")
    assert (wrong.code, wrong.stdout, wrong.stderr) == (2, "", "error: there is no namespace team-100\n")


def test_a_viewer_is_told_what_he_may_not_read_and_what_is_unknown_for_that(crowd: Crowd) -> None:
    viewed = crowd.scan("viewer", "-o", "json")
    report, made = viewed.report, crowd.made
    assert viewed.code == 1
    assert [(gap["resource"], gap["reason"]) for gap in report["unread"]] == [
        ("deviceclasses", "forbidden"),
        ("mutatingwebhookconfigurations", "forbidden"),
        ("nodes", "forbidden"),
        ("resourceslices", "forbidden"),
    ]
    assert "cards-offered-twice" in {one["code"] for one in report["unknown"]}
    (row,) = report["devices"]
    assert (row["offered"], row["free"], row["short"]) == (None, None, [])
    assert row["asked"]["pods"] == made.asked["pods"]
    summary = report["summary"]
    assert (summary["pods"], summary["optedIn"]) == (made.pods, made.opted_in)
    # Percentages are computed for assumed card sizes, which is a warning; everything else is as for the reader.
    moved = NAMESPACES - 1
    words = {word: number for word, number in summary["workloads"].items() if number}
    expected = made.outcomes + Counter({"no-gpu": 2, "converts-with-warnings": moved})
    assert words == expected - Counter({"converts": moved})


def test_a_member_of_one_namespace_scans_it_and_nothing_else(crowd: Crowd) -> None:
    own = crowd.scan("member", "-n", "team-007", "-o", "json").report
    counted = Counter({outcome: number for outcome, number in own["summary"]["workloads"].items() if number})
    made = crowd.made.by_namespace["team-007"]
    assert counted == made + Counter({"converts-with-warnings": 1}) - Counter({"converts": 1})  # batch: assumed sizes
    assert {gap["resource"] for gap in own["unread"]} == {
        "configmaps", "deviceclasses", "mutatingwebhookconfigurations", "nodes", "resourceclaims", "resourceslices",
    }  # fmt: skip
    assert [(row["name"], row["optedIn"], row["pods"]) for row in own["namespaces"]] == [("team-007", False, 21)]
    everything = crowd.scan("member")
    assert (everything.code, everything.stdout) == (3, "")
    assert everything.stderr.startswith(
        'error: neither pods nor workloads can be read: pods is forbidden: User "system:'
    )


def test_a_token_that_nobody_knows_is_exit_code_3(crowd: Crowd) -> None:
    layout = crowd.control_plane.layout
    (crowd.folder / "nobody").write_text(yaml.safe_dump(kubeconfig(layout.server, layout.ca, "unknown")))
    refused = crowd.scan("nobody")
    assert (refused.code, refused.stdout, refused.stderr) == (3, "", "error: Unauthorized\n")


def test_the_page_of_a_real_cluster_holds_every_namespace(crowd: Crowd) -> None:
    page = crowd.folder / "report.html"
    ran = crowd.scan("reader", "--html", str(page))
    assert ran.stdout.startswith(
        f"not ready: {crowd.made.outcomes['denied']} workloads would be denied, 1 hazard blocks\n"
    )
    text = page.read_text()
    assert all(name in text for name in crowd.made.by_namespace)
    assert DRIVER in text
