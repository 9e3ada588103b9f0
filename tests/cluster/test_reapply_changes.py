"""S60: what goes through beside the keys of a converted pod, what the API server refuses, and who else may apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.reapply import IMMUTABLE, SAID, SERVER_SIDE, assert_changes_nothing, each_way, refusal, settled
from tests.cluster.testbed.hardware import T4_NODE
from tests.cluster.testbed.kubectl import manifest
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod

JSON = Any
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
FILE = pod("p", SHARE)
NEW_IMAGE = "example.org/pause:3.9"


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_labels_and_images_of_the_same_file_go_through(namespace: Namespace, options: tuple[str, ...]) -> None:
    namespace.kubectl.apply(FILE, options=options)
    before = settled(namespace, "p")
    changed = pod("p", containers=[container(SHARE, image=NEW_IMAGE)], labels={"team": "red"})
    assert namespace.kubectl.apply(changed, options=options).stdout == f"pod/p {SAID[options]}\n"
    after = namespace.get("Pod", "p")
    assert after["metadata"]["labels"] == before["metadata"]["labels"] | {"team": "red"}
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert after["spec"]["containers"][0].pop("image") == NEW_IMAGE
    del before["spec"]["containers"][0]["image"]
    assert after["spec"] == before["spec"]
    assert_changes_nothing(namespace, changed, options)


TWO = pod("p", containers=[container(SHARE), container(SHARE, name="second")])
CHANGES: Mapping[str, tuple[JSON, JSON, str]] = {
    "another-value": (FILE, pod("p", {**SHARE, "nvidia.com/gpumem": 5000}), '"nvidia.com/gpumem": "5k"'),
    "one-key-more": (FILE, pod("p", {**SHARE, "nvidia.com/gpucores": 30}), '"nvidia.com/gpucores": "30"'),
    "one-key-less": (FILE, pod("p", {"nvidia.com/gpu": 1}), '"nvidia.com/gpu": "1"'),
    "no-key-in-the-second-container": (
        TWO,
        pod("p", containers=[container(SHARE), container(name="second")]),
        '"nvidia.com/gpumem": "4k"',
    ),
    "another-node": (pod("p", SHARE, nodeName=T4_NODE), pod("p", SHARE, nodeName="other"), '"NodeName": "other"'),
    "another-scheduler": (FILE, pod("p", SHARE, schedulerName="volcano"), '"SchedulerName": "volcano"'),
    "another-variable": (
        FILE,
        pod("p", containers=[container(SHARE, env=[{"name": "A", "value": "a"}])]),
        '"Name": "A"',
    ),
}


@pytest.mark.usefixtures("webhook")
@each_way
@pytest.mark.parametrize(("first", "then", "shown"), CHANGES.values(), ids=CHANGES)
def test_S60_a_change_that_pods_do_not_allow_is_refused_by_the_api_server_itself(
    namespace: Namespace, first: JSON, then: JSON, shown: str, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(first, options=options)
    said = refusal(namespace, then, options)
    assert IMMUTABLE in said
    assert "admission webhook" not in said
    assert [line for line in said.splitlines() if line.startswith("+") and shown in line]
    assert_changes_nothing(namespace, first, options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_file_without_any_key_is_accepted_and_the_pod_keeps_its_claim(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(pod("p", {**SHARE, "cpu": 1}), options=options)
    before = settled(namespace, "p")
    namespace.kubectl.apply(pod("p", {"cpu": 1}), options=options)
    assert namespace.get("Pod", "p")["spec"] == before["spec"]
    assert namespace.allocation("p").only.memory_mib == 4000


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_file_without_any_resources_is_refused_by_the_api_server(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(FILE, options=options)
    assert IMMUTABLE in refusal(namespace, pod("p"), options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_without_our_annotation_nobody_knows_what_was_asked(namespace: Namespace, options: tuple[str, ...]) -> None:
    namespace.kubectl.apply(FILE, options=options)
    settled(namespace, "p")
    recorded = namespace.get("Pod", "p")["metadata"]["annotations"]["hami.io/dra-original-resources"]
    namespace.kubectl("annotate", "pod", "p", "hami.io/dra-original-resources-", check=True)
    assert IMMUTABLE in refusal(namespace, FILE, options)
    namespace.kubectl("annotate", "pod", "p", f"hami.io/dra-original-resources={recorded}", check=True)
    assert_changes_nothing(namespace, FILE, options)


@pytest.mark.usefixtures("webhook")
def test_S60_a_created_pod_may_be_applied(namespace: Namespace) -> None:
    namespace.kubectl.create(FILE)
    before = settled(namespace, "p")
    adopted = namespace.kubectl.apply(FILE)
    assert adopted.stdout == "pod/p configured\n"
    assert "missing the kubectl.kubernetes.io/last-applied-configuration annotation" in adopted.stderr
    assert namespace.get("Pod", "p")["spec"] == before["spec"]
    assert_changes_nothing(namespace, FILE)


@pytest.mark.usefixtures("webhook")
def test_S60_another_server_side_manager_conflicts_and_takes_over_by_force(namespace: Namespace) -> None:
    namespace.kubectl.apply(FILE, options=SERVER_SIDE)
    other = (*SERVER_SIDE, "--field-manager=other")
    said = refusal(namespace, FILE, other)
    assert 'conflicts with "kubectl"' in said
    assert '.spec.containers[name="main"].resources.limits.nvidia.com/gpumem' in said
    before = settled(namespace, "p")
    namespace.kubectl.apply(FILE, options=(*other, "--force-conflicts"))
    assert namespace.get("Pod", "p")["spec"] == before["spec"]
    assert namespace.kubectl.apply(FILE, options=other).stdout == "pod/p serverside-applied\n"
    assert 'conflicts with "other"' in refusal(namespace, FILE, SERVER_SIDE)


@pytest.mark.usefixtures("webhook")
def test_S60_moving_from_client_side_to_server_side_needs_force(namespace: Namespace) -> None:
    namespace.kubectl.apply(FILE)
    assert "--force-conflicts" in refusal(namespace, FILE, SERVER_SIDE)
    before = settled(namespace, "p")
    namespace.kubectl.apply(FILE, options=(*SERVER_SIDE, "--force-conflicts"))
    assert namespace.get("Pod", "p")["spec"] == before["spec"]
    assert_changes_nothing(namespace, FILE, SERVER_SIDE)


@pytest.mark.usefixtures("webhook")
def test_S60_moving_from_server_side_to_client_side_works(namespace: Namespace) -> None:
    namespace.kubectl.apply(FILE, options=SERVER_SIDE)
    before = settled(namespace, "p")
    assert namespace.kubectl.apply(FILE).stdout == "pod/p configured\n"
    assert namespace.get("Pod", "p")["spec"] == before["spec"]
    assert_changes_nothing(namespace, FILE)


@pytest.mark.usefixtures("webhook")
def test_S60_the_live_pod_may_be_replaced_by_itself(namespace: Namespace) -> None:
    namespace.kubectl.apply(FILE)
    live = settled(namespace, "p")
    live["metadata"]["labels"]["team"] = "red"
    replaced = namespace.kubectl("replace", "-f", "-", stdin=manifest(live), check=True)
    assert replaced.stdout == "pod/p replaced\n"
    assert namespace.get("Pod", "p")["spec"] == live["spec"]


@pytest.mark.usefixtures("webhook")
def test_S4_the_file_of_a_pod_that_was_left_alone_is_simply_unchanged(namespace: Namespace) -> None:
    # Spelled as the API server prints it: to kubectl a number beside its text is a change.
    foreign = pod("p", {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k"}, schedulerName="volcano")
    namespace.kubectl.apply(foreign)
    assert namespace.kubectl.apply(foreign).stdout == "pod/p unchanged\n"
