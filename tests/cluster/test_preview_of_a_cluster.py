"""``preview --context``: what a person with a viewer's rights is told about a cluster, and that nothing is written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.since import SHARES_BY_DEFAULT, holds
from tests.cluster.testbed.components import kubeconfig
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.hardware import T4_NODE
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import claim_template, claiming, container, pod

JSON = Any
HAMI = "hami-core-gpu.project-hami.io"
SHARE = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000}
CLUSTER_WIDE = (
    ("resource.k8s.io", "resourceslices"), ("resource.k8s.io", "deviceclasses"), ("resource.k8s.io", "resourceclaims"),
    ("", "nodes"), ("", "limitranges"), ("", "resourcequotas"),
)  # fmt: skip
"""Everything that a preview reads."""
pytestmark = pytest.mark.usefixtures("machines")


@pytest.fixture
def viewer(control_plane: ControlPlane, namespace: Namespace, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Makes kubeconfigs of accounts that may list these resources, and do nothing else."""
    api, made = control_plane.api, []

    def make(*resources: tuple[str, str]) -> Path:
        name = f"{namespace.name}-{len(made)}"[-60:].strip("-")
        rules = [{"apiGroups": [group], "resources": [plural], "verbs": ["list"]} for group, plural in resources]
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace.name}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        version = "rbac.authorization.k8s.io/v1"
        api.create({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
        api.create(
            {
                "apiVersion": version,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": role,
                "subjects": [subject],
            }
        )
        made.append(name)
        created = api.request(
            "POST",
            f"/api/v1/namespaces/{namespace.name}/serviceaccounts/default/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3607}},
        )
        file = tmp_path / f"viewer-{len(made)}.yaml"
        token = created["status"]["token"]
        file.write_text(yaml.safe_dump(kubeconfig(control_plane.layout.server, control_plane.layout.ca, token)))
        return file

    yield make
    for name in made:
        api.delete("ClusterRoleBinding", name)
        api.delete("ClusterRole", name)


def preview(*manifests: JSON, config: Path, output: str = "json") -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run(
        [sys.executable, "-m", "app", "preview", "-", "--kubeconfig", str(config), "-o", output],
        input=yaml.safe_dump_all(manifests),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_who_may_list_what_it_reads_is_told_what_matches_and_what_fits_now(
    viewer: Callable[..., Path], namespace: Namespace
) -> None:
    config = viewer(*CLUSTER_WIDE)
    result = preview(pod("p", SHARE), config=config)
    assert (result.returncode, result.stderr) == (0, "")
    item = json.loads(result.stdout)["items"][0]
    assert item["matches"] == [
        {"claim": "main-gpu", "request": "gpu", "nodes": 1, "devices": 4, "nodeNames": [T4_NODE]}
    ]
    assert item["fit"] == {"now": True, "nodes": 1, "nodeNames": [T4_NODE], "why": None}
    namespace.create(claim_template("whole", HAMI, count=4))
    namespace.create(claiming("tenant", "whole"))
    namespace.scheduled("tenant")
    full = json.loads(preview(pod("p", SHARE), config=config).stdout)["items"][0]
    assert full["matches"] == item["matches"]
    assert full["fit"]["now"] is False
    why = f"request gpu needs 1 device with room; 4 match on node {T4_NODE}, none with room now"
    assert full["fit"]["why"] == why
    assert f"fits nowhere now: {why}" in preview(pod("p", SHARE), config=config, output="explain").stdout


def test_limit_ranges_and_quotas_of_the_namespace_count(viewer: Callable[..., Path], namespace: Namespace) -> None:
    hard = {"requests.nvidia.com/gpumem": "100k"}
    namespace.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "cards"}, "spec": {"hard": hard}}
    )
    config = viewer(*CLUSTER_WIDE)
    here = pod("p", SHARE) | {"metadata": {"name": "p", "namespace": namespace.name}}
    item = json.loads(preview(here, config=config).stdout)["items"][0]
    assert any(one.startswith("ResourceQuota cards: requests.nvidia.com/gpumem stops") for one in item["warnings"])
    limits = [{"type": "Container", "max": {"nvidia.com/gpu": 1}}]
    namespace.create(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": {"limits": limits}}
    )
    assert json.loads(preview(here, config=config).stdout)["items"][0]["outcome"] == "denied"


@pytest.mark.parametrize(
    ("left_out", "members", "warning"),
    [
        ("resourceclaims", {"matches"}, "whether pods fit now is not told"),
        ("nodes", {"matches", "fit"}, "the nodes that ResourceSlices name count"),
        ("deviceclasses", set(), "what matches is not told"),
        ("resourceslices", set(), "card sizes are assumed, and what matches is not told"),
        ("limitranges", {"matches", "fit"}, "those of the cluster do not count"),
    ],
)
def test_what_may_not_be_read_is_named_and_left_out(
    viewer: Callable[..., Path], control_plane: ControlPlane, left_out: str, members: set[str], warning: str
) -> None:
    result = preview(pod("p", SHARE), config=viewer(*(one for one in CLUSTER_WIDE if one[1] != left_out)))
    line, *refusals = result.stderr.splitlines()
    # Before 1.36 only shared devices in the slices show that the gate is on.
    unshown = left_out == "resourceslices" and not holds(control_plane, SHARES_BY_DEFAULT)
    assert (result.returncode, len(refusals)) == ((1, 1) if unshown else (0, 0)), result.stderr
    assert line.startswith(f"warning: {left_out} cannot be read (forbidden: {left_out}")
    assert line.endswith(f": {warning}")
    assert {"matches", "fit"} & json.loads(result.stdout)["items"][0].keys() == members


HALF = container({"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 50})


def test_a_percentage_knows_the_cards_of_the_cluster(viewer: Callable[..., Path]) -> None:
    result = preview(pod("p", containers=[HALF]), config=viewer(*CLUSTER_WIDE))
    item = json.loads(result.stdout)["items"][0]
    assert [one["request"] for one in item["matches"]] == ["gpu"]
    assert item["warnings"] == []


def test_a_percentage_assumes_cards_where_slices_may_not_be_read(
    viewer: Callable[..., Path], control_plane: ControlPlane
) -> None:
    config = viewer(*(one for one in CLUSTER_WIDE if one[1] != "resourceslices"))
    item = json.loads(preview(pod("p", containers=[HALF]), config=config).stdout)["items"][0]
    if not holds(control_plane, SHARES_BY_DEFAULT):
        assert item["outcome"] == "denied"
        return
    assert any("card sizes are not known here; assumed" in one for one in item["warnings"])


def test_a_cluster_that_does_not_answer_ends_it(control_plane: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "gone.yaml"
    file.write_text(yaml.safe_dump(kubeconfig("https://127.0.0.1:1", control_plane.layout.ca, "x")))
    result = preview(pod("p", SHARE), config=file)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("error: the Kubernetes API at https://127.0.0.1:1 cannot be reached: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_user_who_is_not_known_is_told_so(control_plane: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "stranger.yaml"
    file.write_text(yaml.safe_dump(kubeconfig(control_plane.layout.server, control_plane.layout.ca, "no-such-token")))
    refused = "the Kubernetes API refuses to tell its version: Unauthorized"
    result = preview(pod("p", SHARE), config=file)
    assert (result.returncode, result.stdout, result.stderr) == (3, "", f"error: {refused}\n")
