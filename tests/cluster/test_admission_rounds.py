"""S5: one admission with several rounds, since somebody else also writes into the pod; on the real API server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.calls import calls
from tests.cluster.reapply import IMMUTABLE, assert_changes_nothing, each_way, refusal, settled
from tests.cluster.second_webhook import EARLIER, LATER, SecondWebhook
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import claim_template, container, pod
from tests.cluster.testbed.webhook import Webhook

JSON = Any
GPU = "nvidia.com/gpu"
SHARE: Mapping[str, str] = {GPU: "1", "nvidia.com/gpumem": "4k"}
ORIGINALS = "hami.io/dra-original-resources"
each_side = pytest.mark.parametrize("name", [EARLIER, LATER], ids=["called-before-ours", "called-after-ours"])


def limit_range(namespace: Namespace, **limits: Mapping[str, str]) -> None:
    """A LimitRange for containers: ``default={…}``, ``max={…}``. LimitRanger sees it at once: it asks by name."""
    spec = {"limits": [{"type": "Container", **limits}]}
    namespace.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}, "spec": spec})


def recorded(stored: JSON) -> JSON:
    """The recorded originals of a pod."""
    return json.loads(stored["metadata"]["annotations"][ORIGINALS])


def keys_of(stored: JSON) -> set[str]:
    """Names in limits and requests of all containers."""
    resources = [one.get("resources", {}) for one in stored["spec"]["containers"]]
    return {key for one in resources for part in ("limits", "requests") for key in one.get(part, {})}


def test_S5_a_limit_range_gives_a_plain_pod_one_claim_and_no_key(webhook: Webhook, namespace: Namespace) -> None:
    limit_range(namespace, default={GPU: "1"})
    before = calls(webhook)
    namespace.create(pod("p"))
    stored = settled(namespace, "p")
    assert calls(webhook) == before + 2
    assert keys_of(stored) == set()
    assert recorded(stored) == {"containers": {"main": {GPU: "1"}}, "addedByOthers": {"main": [GPU]}}
    assert [entry["name"] for entry in stored["spec"]["resourceClaims"]] == ["main-gpu"]
    assert namespace.allocation("p").only.cores == 100


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_plain_file_that_a_limit_range_completed_may_be_applied_again(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    limit_range(namespace, default={GPU: "1"})
    namespace.kubectl.apply(pod("p"), options=options)
    before = settled(namespace, "p")
    namespace.kubectl.apply(pod("p"), options=options)
    assert namespace.get("Pod", "p")["spec"] == before["spec"]


@pytest.mark.usefixtures("webhook")
@each_way
def test_S60_a_key_that_a_limit_range_added_may_be_missing_in_the_file(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    limit_range(namespace, default={"nvidia.com/gpumem": "4k"})
    file = pod("p", {GPU: 1})
    namespace.kubectl.apply(file, options=options)
    stored = settled(namespace, "p")
    assert recorded(stored)["addedByOthers"] == {"main": ["nvidia.com/gpumem"]}
    assert namespace.allocation("p").only.memory_mib == 4000
    assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("webhook")
@each_way
def test_S5_a_default_that_comes_back_otherwise_changes_nothing_and_is_said(
    namespace: Namespace, options: tuple[str, ...]
) -> None:
    limit_range(namespace, default={GPU: "2"})
    file = pod("p", {GPU: 3})
    said = namespace.kubectl.apply(file, options=options)
    stored = settled(namespace, "p")
    assert keys_of(stored) == set()
    assert recorded(stored) == {"containers": {"main": {GPU: "3"}}}
    assert len(set(namespace.allocation("p").cards)) == 3
    assert any("came back as 2; 3 was converted and stays" in warning for warning in said.warnings)
    assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("max", "maximum nvidia.com/gpu usage per Container is 2.  No limit is specified"),
        ("min", "minimum nvidia.com/gpu usage per Container is 2.  No request is specified"),
    ],
)
def test_S72_a_limit_range_that_bounds_a_key_refuses_every_converted_pod_in_its_own_words(
    namespace: Namespace, bound: str, words: str
) -> None:
    limit_range(namespace, **{bound: {GPU: "2"}})
    for cards in (2, 3):
        with pytest.raises(ApiError) as refused:
            namespace.create(pod("p", {GPU: cards}))
        assert words in refused.value.message
        assert "admission webhook" not in refused.value.message


def add_container(name: str, limits: Mapping[str, str]) -> JSON:
    """The patch of a sidecar injector."""
    return lambda _: [{"op": "add", "path": "/spec/containers/-", "value": container(limits, name=name)}]


def set_key(key: str, value: str) -> JSON:
    """The patch of a policy engine that sets limit and request of the first container."""

    def change(seen: JSON) -> list[JSON]:
        resources = seen["spec"]["containers"][0].get("resources", {})
        changed = resources | {part: resources.get(part, {}) | {key: value} for part in ("limits", "requests")}
        return [{"op": "add", "path": "/spec/containers/0/resources", "value": changed}]

    return change


def set_label(_: JSON) -> list[JSON]:
    """The patch of somebody who does not care about resources."""
    return [{"op": "add", "path": "/metadata/labels", "value": {"team": "red"}}]


@each_side
def test_S5_a_container_that_another_webhook_adds_is_converted_too(
    webhook: Webhook, namespace: Namespace, name: str
) -> None:
    before = calls(webhook)
    with SecondWebhook(namespace, name, add_container("added", SHARE)):
        namespace.create(pod("p", SHARE))
    assert calls(webhook) == before + (1 if name == EARLIER else 2)
    stored = settled(namespace, "p")
    assert keys_of(stored) == set()
    assert recorded(stored) == {
        "containers": {"main": SHARE, "added": SHARE},
        "addedByOthers": {"added": ["nvidia.com/gpu", "nvidia.com/gpumem"]},
    }
    given = namespace.allocation("p")
    assert sorted((device.claim, device.memory_mib) for device in given.devices) == [
        ("added-gpu", 4000),
        ("main-gpu", 4000),
    ]


@pytest.mark.usefixtures("webhook")
@each_way
@each_side
def test_S60_a_pod_with_an_added_container_may_be_applied_again(
    namespace: Namespace, name: str, options: tuple[str, ...]
) -> None:
    with SecondWebhook(namespace, name, add_container("added", SHARE)):
        file = pod("p", SHARE)
        namespace.kubectl.apply(file, options=options)
        assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("webhook")
@each_way
@each_side
def test_S5_a_key_that_another_webhook_repeats_is_stripped_again(
    namespace: Namespace, name: str, options: tuple[str, ...]
) -> None:
    with SecondWebhook(namespace, name, set_key("nvidia.com/gpumem", "4k")):
        file = pod("p", SHARE)
        namespace.kubectl.apply(file, options=options)
        stored = settled(namespace, "p")
        assert keys_of(stored) == set()
        assert namespace.allocation("p").only.memory_mib == 4000
        assert_changes_nothing(namespace, file, options)


@pytest.mark.usefixtures("webhook")
def test_S5_another_value_from_an_earlier_webhook_counts_and_from_a_later_one_is_said(namespace: Namespace) -> None:
    change = set_key("nvidia.com/gpumem", "5k")
    with SecondWebhook(namespace, EARLIER, change):
        namespace.create(pod("early", SHARE))
        assert namespace.api.warnings == []
    assert namespace.allocation("early").only.memory_mib == 5000
    with SecondWebhook(namespace, LATER, change):
        namespace.create(pod("late", SHARE))
        (warning,) = namespace.api.warnings
    assert "nvidia.com/gpumem came back as 5000; 4k was converted and stays" in warning
    stored = settled(namespace, "late")
    assert keys_of(stored) == set()
    assert stored["metadata"]["annotations"]["hami.io/dra-warnings"] == "value-differs"
    assert namespace.allocation("late").only.memory_mib == 4000


def test_S5_a_key_that_a_webhook_adds_to_a_plain_pod_is_seen_if_it_is_called_before_ours(
    webhook: Webhook, namespace: Namespace
) -> None:
    change = set_key(GPU, "1")
    with SecondWebhook(namespace, EARLIER, change):
        namespace.create(pod("early"))
    stored = settled(namespace, "early")
    assert keys_of(stored) == set()
    assert recorded(stored) == {"containers": {"main": {GPU: "1"}}, "addedByOthers": {"main": [GPU]}}
    before = calls(webhook)
    with SecondWebhook(namespace, LATER, change):
        assert keys_of(namespace.create(pod("late"))) == {GPU}
    assert calls(webhook) == before


@each_side
def test_S5_a_change_that_has_nothing_to_do_with_keys_costs_no_second_call(
    webhook: Webhook, namespace: Namespace, name: str
) -> None:
    before = calls(webhook)
    with SecondWebhook(namespace, name, set_label) as second:
        stored = namespace.create(pod("p", SHARE))
        assert second.calls == 1
    assert calls(webhook) == before + 1
    assert stored["metadata"]["labels"]["team"] == "red"
    assert keys_of(stored) == set()


@pytest.mark.usefixtures("webhook")
def test_S5_a_request_that_a_limit_range_puts_back_without_a_limit_is_stripped_again(namespace: Namespace) -> None:
    limit_range(namespace, defaultRequest={GPU: "1"})
    namespace.create(pod("p", {GPU: 1}))
    assert keys_of(settled(namespace, "p")) == set()
    assert namespace.allocation("p").only.cores == 100


FORGED = json.dumps({"containers": {"main": {GPU: "1"}}})


@pytest.mark.usefixtures("webhook")
def test_S5_a_record_that_the_user_wrote_does_not_replace_the_claim(namespace: Namespace) -> None:
    namespace.create(pod("p", SHARE, annotations={ORIGINALS: FORGED}))
    assert recorded(settled(namespace, "p")) == {"containers": {"main": SHARE}}
    assert namespace.allocation("p").only.memory_mib == 4000


@pytest.mark.usefixtures("webhook")
def test_S5_a_claim_of_the_user_beside_a_forged_record_does_not_count_as_ours(namespace: Namespace) -> None:
    namespace.create(claim_template("gpu-1x-of-mine", "hami-core-gpu.project-hami.io", {"memory": "1Gi", "cores": "0"}))
    own = container(resources={"limits": SHARE, "claims": [{"name": "mine"}]})
    claims = [{"name": "mine", "resourceClaimTemplateName": "gpu-1x-of-mine"}]
    namespace.create(pod("p", containers=[own], annotations={ORIGINALS: FORGED}, resourceClaims=claims))
    assert keys_of(settled(namespace, "p")) == set()
    given = namespace.allocation("p")
    assert [given.of(name)[0].memory_mib for name in ("mine", "main-gpu")] == [1024, 4000]


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"containers": null}',
        '{"containers": {"main": 1}}',
        '{"containers": {"main": {}}}',
        '{"containers": {"main": {"cpu": "1"}}}',
        '{"containers": {"main": {"nvidia.com/gpu": "abc"}}}',
        '{"containers": {"main": {"nvidia.com/gpu": "-1"}}}',
        '{"containers": {"other": {"nvidia.com/gpu": "1"}}, "addedByOthers": {"main": 1}}',
    ],
)
def test_S5_a_record_that_is_none_of_ours_takes_no_claim_away(namespace: Namespace, text: str) -> None:
    stored = namespace.create(pod("p", SHARE, annotations={ORIGINALS: text}))
    assert recorded(stored)["containers"]["main"] == SHARE
    assert [entry["name"] for entry in stored["spec"]["resourceClaims"]] == ["main-gpu"]


@pytest.mark.usefixtures("webhook")
@each_way
@pytest.mark.parametrize(
    "forged",
    [{"main": SHARE, "second": SHARE}, {"main": SHARE, "second": {GPU: "abc"}}, {"main": {GPU: "abc"}}],
    ids=["one-container-more", "no-number-there", "no-number"],
)
def test_S60_a_forged_record_leaves_a_change_to_the_api_server(
    namespace: Namespace, forged: JSON, options: tuple[str, ...]
) -> None:
    namespace.kubectl.apply(pod("p", SHARE), options=options)
    settled(namespace, "p")
    forged = json.dumps({"containers": forged})
    namespace.kubectl("annotate", "--overwrite", "pod", "p", f"{ORIGINALS}={forged}", check=True)
    two = pod("p", containers=[container(SHARE), container(SHARE, name="second")])
    said = refusal(namespace, two, options)
    assert IMMUTABLE in said or "may not add or remove containers" in said
