"""What a preview says of matches and fit: in the report, to people, and on the command line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner, Result

from app import cli
from app.inventory import Inventory
from app.preview import Item, preview, read
from app.preview.explain import print_explanation
from app.translate import Policy, TranslationSettings, facts_from_objects
from tests.cluster.testbed.hardware import A100_NODE, HAMI_CLASSES, T4_NODE, load
from tests.inventory.claims import allocated
from tests.inventory.machines import HAMI
from tests.preview.inputs import container, pod

JSON = Any
CLUSTER = load(A100_NODE, T4_NODE, HAMI_CLASSES)
HALF = {"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 50}
EMPTY_CLAIMS = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList", "items": []}


def taken(node: str, cards: int) -> JSON:
    """A claim that has cards of a node for itself."""
    return allocated(*((HAMI, node, f"hami-gpu-{i}") for i in range(cards)))


def items(*manifests: JSON, cluster: Sequence[JSON] = CLUSTER, claims: Sequence[JSON] | None = ()) -> list[Item]:
    """The preview of manifests on a cluster; ``claims`` None = unknown."""
    known = [] if claims is None else ["ResourceClaim"]
    inventory = Inventory.from_objects([*cluster, *(claims or ())], known=known)
    text = yaml.safe_dump_all(manifests)
    policy = Policy(TranslationSettings())
    return preview([read(text)], facts_from_objects(cluster), policy, inventory=inventory).items


def sentences(*manifests: JSON, **options: Any) -> list[str]:
    """What is said of the first item."""
    matches = items(*manifests, **options)[0].matches
    assert matches is not None
    return list(matches.sentences())


def test_each_claim_and_alternative_is_reported_with_its_devices_and_nodes() -> None:
    spec = {"containers": [container("a"), container("b", HALF)]}
    report = items(pod(spec=spec))[0].report()
    nodes = ["hami-a100-node", "hami-t4-node"]
    assert report["matches"] == [
        {"claim": "a-gpu", "request": "gpu", "nodes": 2, "devices": 12, "nodeNames": nodes},
        {"claim": "b-gpu", "request": "gpu/m15360mi", "nodes": 1, "devices": 4, "nodeNames": ["hami-t4-node"]},
        {"claim": "b-gpu", "request": "gpu/m81920mi", "nodes": 1, "devices": 8, "nodeNames": ["hami-a100-node"]},
    ]
    assert report["fit"] == {"now": True, "nodes": 2, "nodeNames": nodes, "why": None}


def test_people_read_a_line_for_each_request_and_one_for_the_pod() -> None:
    claims = [taken("hami-a100-node", 8)]
    assert sentences(pod(), claims=claims) == [
        "main-gpu: request gpu matches 12 devices, enough on 2 nodes",
        "fits now on 1 node: hami-t4-node",
    ]
    assert sentences(pod(), claims=[*claims, taken("hami-t4-node", 4)])[1] == (
        "fits nowhere now: request gpu needs 1 device with room; 8 match on node hami-a100-node, none with room now"
    )


def test_explain_prints_them() -> None:
    text = io.StringIO()
    found = items(pod())
    result = preview([], facts_from_objects([]), Policy(TranslationSettings()))
    result.items += found
    print_explanation(result, Console(file=text, width=160, no_color=True, highlight=False))
    assert "main-gpu: request gpu matches 12 devices, enough on 2 nodes" in text.getvalue()
    assert "fits now on 2 nodes: hami-a100-node, hami-t4-node" in text.getvalue()


def test_more_than_ten_nodes_are_counted() -> None:
    slices = [one for one in CLUSTER if one["kind"] == "ResourceSlice"][:1]
    many = []
    for number in range(12):
        copy = orjson.loads(orjson.dumps(slices[0]))
        copy["metadata"]["name"] = copy["spec"]["nodeName"] = copy["spec"]["pool"]["name"] = f"n{number:02}"
        many.append(copy)
    line = sentences(pod(), cluster=[*many, *load(HAMI_CLASSES)])[1]
    assert line == f"fits now on 12 nodes: {', '.join(f'n{i:02}' for i in range(10))} and 2 more"


def test_containers_with_the_same_ask_have_a_claim_each() -> None:
    whole = {"nvidia.com/gpu": 1}
    five = pod(spec={"containers": [container(f"c{i}", whole) for i in range(5)]})
    (item,) = items(five, claims=[taken("hami-a100-node", 4)])
    fit = item.report()["fit"]
    assert fit["now"] is False
    assert fit["why"] == "each request would fit alone, but not all together on one node"
    assert items(five)[0].report()["fit"]["nodeNames"] == ["hami-a100-node"]


def test_a_pod_without_claims_matches_nothing_and_needs_no_room() -> None:
    plain = pod(spec={"containers": [{"name": "main", "image": "example.org/app:1"}]})
    denied = pod(spec={"containers": [container(limits={"nvidia.com/gpu": 99})]})
    for report in (item.report() for item in items(plain, denied)):
        assert report["matches"] == []
        assert "fit" not in report


def test_what_is_not_known_is_left_out() -> None:
    assert "fit" not in items(pod(), claims=None)[0].report()
    without = preview([read(yaml.safe_dump(pod()))], facts_from_objects(CLUSTER), Policy(TranslationSettings()))
    assert not {"matches", "fit"} & without.items[0].report().keys()


OWN = {"name": "own", "resourceClaimTemplateName": "mine"}


def own_template(**spec: JSON) -> JSON:
    """A template that the user writes."""
    request = {"name": "r", "exactly": {"deviceClassName": HAMI, "count": 4, **spec}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "mine"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def test_the_claims_that_a_pod_brings_itself_need_room_too() -> None:
    both = pod(spec={"containers": [container()], "resourceClaims": [OWN]})
    (item, _) = items(both, own_template())
    assert item.report()["fit"]["nodeNames"] == ["hami-a100-node"]
    assert [match["claim"] for match in item.report()["matches"]] == ["main-gpu"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ((), "the pod's own claim own is not known here"),
        ((own_template(count="four"),), "the pod's own claim is not the spec of a ResourceClaim: "),
    ],
)
def test_a_claim_of_the_pods_own_that_cannot_be_read_leaves_it_open(more: Sequence[JSON], why: str) -> None:
    both = pod(spec={"containers": [container()], "resourceClaims": [OWN]})
    fit = items(both, *more)[0].report()["fit"]
    assert fit["now"] is None
    assert fit["why"].startswith(why)


def test_limit_ranges_and_quotas_of_the_cluster_count_in_their_namespaces() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "cards", "namespace": "team"},
        "spec": {"hard": {"requests.nvidia.com/gpumem": "100"}},
    }
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": "strict"},
        "spec": {"limits": [{"type": "Container", "max": {"nvidia.com/gpu": 1}}]},
    }
    pods = [pod(metadata={"name": "p", "namespace": name}) for name in ("team", "strict", "other")]
    text = yaml.safe_dump_all(pods)
    found = preview(
        [read(text)], facts_from_objects(CLUSTER), Policy(TranslationSettings()), nearby=[quota, limits]
    ).items
    assert [item.outcome.value for item in found] == ["converted", "denied", "converted"]
    warned = [[note.message for note in item.warnings if "Quota" in note.message] for item in found]
    said = "ResourceQuota cards: requests.nvidia.com/gpumem stops counting: converted pods carry no nvidia.com/gpumem"
    assert warned == [[said], [], []]


def run(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in ("preview", *arguments)], input=stdin)


def written(folder: Path, *objects: JSON) -> Path:
    """A file with these objects."""
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return file


def test_files_with_claims_tell_what_fits(tmp_path: Path) -> None:
    manifest = yaml.safe_dump(pod())
    full = written(tmp_path, *CLUSTER, taken("hami-a100-node", 8), taken("hami-t4-node", 3))
    result = run("-", "--slices", full, "-o", "json", stdin=manifest)
    assert orjson.loads(result.stdout)["items"][0]["fit"]["nodeNames"] == ["hami-t4-node"]
    for objects, known in (([*CLUSTER, EMPTY_CLAIMS], True), (CLUSTER, False)):
        result = run("-", "--slices", written(tmp_path, *objects), "-o", "json", stdin=manifest)
        assert ("fit" in orjson.loads(result.stdout)["items"][0]) is known
        assert result.stderr == ""


def test_slices_without_classes_are_told_to_match_nothing(tmp_path: Path) -> None:
    result = run("-", "--slices", written(tmp_path, *load(T4_NODE)), "-o", "json", stdin=yaml.safe_dump(pod()))
    assert result.exit_code == 0
    assert "matches" not in orjson.loads(result.stdout)["items"][0]
    assert result.stderr.startswith("warning: --slices: no DeviceClass in it, so what matches is not told")


def test_a_broken_slice_is_named(tmp_path: Path) -> None:
    broken = load(T4_NODE)[1]
    broken["spec"]["devices"][2]["capacity"]["memory"]["value"] = "much"
    result = run("-", "--slices", written(tmp_path, broken), stdin=yaml.safe_dump(pod()))
    assert result.exit_code == 3
    assert result.stderr == (
        "error: --slices: not ResourceSlices as the API publishes them: ResourceSlice "
        'hami-t4-node-hami-core-gpu.project-hami.io-kbsdq is not as the API publishes it: "much" is not a number; '
        "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o yaml writes them\n"
    )


def test_files_or_a_cluster_not_both(tmp_path: Path) -> None:
    result = run("-", "--slices", written(tmp_path, *CLUSTER), "--context", "prod", stdin=yaml.safe_dump(pod()))
    assert result.exit_code == 2
    assert "give files or a cluster, not both" in result.stderr


def test_a_cluster_that_cannot_be_found_ends_it(tmp_path: Path) -> None:
    result = run("-", "--kubeconfig", tmp_path / "nosuch", stdin=yaml.safe_dump(pod()))
    assert (result.exit_code, result.stderr) == (3, f"error: kubeconfig {tmp_path}/nosuch does not exist\n")
