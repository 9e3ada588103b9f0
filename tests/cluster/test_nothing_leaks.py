"""What pods that have come and gone leave: no claim, a template for each shape, and in the end none (section 7)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster import marks
from tests.cluster.contents import (
    NOISY_MACHINE_SECONDS,
    TEMPLATE,
    marked,
    named_by,
    template_names,
    uids_of,
    until_claims,
    written,
)
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
SHARE: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}
LARGER: Mapping[str, int] = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 2000}
SHAPES = (
    [container(SHARE)],
    [container({**LARGER, "nvidia.com/gpucores": 10})],
    [container({"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 5})],
    [container(SHARE, name="first"), container(LARGER, name="second")],
    [container({"nvidia.com/gpu": 2, "nvidia.com/gpumem": 500})],
)
CYCLES, AT_ONCE = 200, 4

pytestmark = pytest.mark.usefixtures("machines")


def age(namespace: Namespace, template: str) -> None:
    """Let the template look as if it had not been used for two hours."""
    stamp = marks.stamp(marks.utc_now() - timedelta(hours=2))
    annotations = {"metadata": {"annotations": {marks.RENEWED_ANNOTATION: stamp}}}
    namespace.api.patch(TEMPLATE, template, annotations, namespace.name)


def sweep(webhook: Webhook) -> None:
    """Have the webhook sweep, which is what it does first when it starts."""

    def sweeps() -> int:
        return sum(line["event"] == "swept" for line in webhook.logs())

    webhook.stop()  # its own first sweep is in the log by then
    before = sweeps()
    webhook.start()
    wait_for(lambda: sweeps() > before, "a sweep", timeout=NOISY_MACHINE_SECONDS, describe=lambda: str(webhook.logs()))


def use_once(namespace: Namespace, containers: list[JSON]) -> str:
    """Create and delete a pod of one template, whose name is returned."""
    (name,) = named_by(namespace.create(pod("passing", containers=containers)))
    namespace.delete_pod("passing")
    return name


@pytest.fixture
def sweeping(start_webhook: Callable[..., Webhook], namespace: Namespace) -> Iterator[Webhook]:
    """A webhook whose sweeper waits for nobody else's Lease, with the shortest grace period that can be set."""
    return start_webhook({"cluster": {"namespace": namespace.name, "gracePeriodSeconds": 60}})


def test_two_hundred_pods_that_come_and_go_leave_no_claim_and_one_template_for_each_shape(
    webhook: Webhook, namespace: Namespace
) -> None:
    shapes = {
        name
        for containers in SHAPES
        for name in named_by(namespace.create(pod("probe", containers=containers), dry_run=True))
    }
    wrote, called = written(webhook), webhook.metric("hami_dra_webhook_api_requests_total", verb="create")

    def cycle(number: int) -> None:
        name = f"p{number % (2 * AT_ONCE)}-{number % 3}"  # names come again soon
        namespace.create(pod(name, containers=SHAPES[number % len(SHAPES)]))
        if number % 2:
            namespace.scheduled(name, timeout=NOISY_MACHINE_SECONDS)
        namespace.api.delete("Pod", name, namespace.name, gracePeriodSeconds=0)

    def cycles(worker: int) -> None:
        for number in range(worker, CYCLES, AT_ONCE):
            cycle(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(cycles, range(AT_ONCE)))
    until_claims(namespace, 0)
    assert template_names(namespace) == shapes
    assert written(webhook) - wrote == len(shapes)
    # No pod but the first of each shape cost a call; every two minutes the facts are read anew, with three dry runs.
    calls = webhook.metric("hami_dra_webhook_api_requests_total", verb="create") - called
    assert calls in {len(shapes) + 3 * looks for looks in range(4)}


def test_the_sweeper_removes_old_unused_templates_and_nothing_else(sweeping: Webhook, namespace: Namespace) -> None:
    unused = use_once(namespace, [container(SHARE)])
    young = use_once(namespace, [container({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000})])
    (running,) = named_by(namespace.create(pod("running", LARGER)))
    namespace.scheduled("running")
    (waiting,) = named_by(namespace.create(pod("waiting", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 99000})))
    namespace.unschedulable("waiting")
    (finished,) = named_by(namespace.create(pod("finished", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1500})))
    namespace.scheduled("finished")
    namespace.finish("finished")
    for name in (unused, running, waiting, finished):
        age(namespace, name)
    sweep(sweeping)
    assert template_names(namespace) == {young, running, waiting, finished}
    assert sweeping.metric("hami_dra_webhook_templates_total", result="removed") == 1


def test_what_was_swept_is_there_again_for_the_next_pod(sweeping: Webhook, namespace: Namespace) -> None:
    name = use_once(namespace, [container(SHARE)])
    age(namespace, name)
    sweep(sweeping)
    assert template_names(namespace) == set()
    namespace.kubectl.apply(pod("next", SHARE))
    assert namespace.allocation("next").only.memory_mib == 1000
    assert template_names(namespace) == {name}


def test_a_pod_makes_its_old_template_young_before_it_is_admitted(
    sweeping: Webhook, start_webhook: Callable[..., Webhook], namespace: Namespace
) -> None:
    name = use_once(namespace, [container(SHARE)])
    age(namespace, name)
    before = namespace.get(TEMPLATE, name)["metadata"]["uid"]
    start_webhook(sweeping.settings)  # another replica, which reads the old stamp and leaves the sweeping to the first
    namespace.create(pod("late", SHARE))
    used = marks.last_used(namespace.get(TEMPLATE, name))
    assert marks.utc_now() - used < timedelta(minutes=1)
    namespace.delete_pod("late")
    sweep(sweeping)
    assert namespace.get(TEMPLATE, name)["metadata"]["uid"] == before


def previewed(namespace: Namespace, legacy: JSON, folder: Path) -> str:
    """What ``hami-dra-webhook preview -o yaml`` prints for a pod, with what this cluster publishes."""
    slices = folder / "slices.yaml"
    slices.write_text(namespace.kubectl("get", "resourceslices,deviceclasses", "-o", "yaml", check=True).stdout)
    version = json.loads(namespace.kubectl("get", "--raw", "/version", check=True).stdout)
    settings = folder / "settings.yaml"
    # Slices do not tell the version, and several cards are asked otherwise before 1.36 (S37).
    settings.write_text(f'schedulerVersion: "{version["major"]}.{version["minor"]}"\n')
    run = subprocess.run(
        [sys.executable, "-m", "app", "preview", "-o", "yaml", f"--slices={slices}", f"--config={settings}", "-"],
        input=yaml.safe_dump(legacy),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def given(namespace: Namespace, name: str) -> list[tuple[str, ...]]:
    """What the scheduler gave a pod, but for the identities that are new each time."""
    devices = namespace.allocation(name, timeout=NOISY_MACHINE_SECONDS).devices
    # Sorted by claim, since the pod's status has them in any order.
    return sorted((one.claim, one.request, one.driver, one.pool, one.device, str(one.consumed)) for one in devices)


@pytest.mark.parametrize(
    "containers",
    [*SHAPES, [container({"nvidia.com/gpu": 2})]],
    ids=["share", "cores", "percentage", "two containers", "two shares", "two cards"],
)
def test_a_previewed_file_needs_no_webhook_and_gets_the_same_devices(
    start_webhook: Callable[..., Webhook], namespace: Namespace, tmp_path: Path, containers: list[JSON]
) -> None:
    webhook = start_webhook()
    legacy = pod("p", containers=containers)
    namespace.kubectl.apply(legacy)
    by_webhook, templates = given(namespace, "p"), template_names(namespace)
    namespace.delete_pod("p")
    namespace.api.delete_all(TEMPLATE, namespace.name)
    webhook.kill()
    namespace.kubectl.apply(previewed(namespace, legacy, tmp_path))
    assert given(namespace, "p") == by_webhook
    assert template_names(namespace) == templates
    assert marked(namespace) == set()


def test_the_templates_of_a_preview_are_used_by_the_webhook_and_never_removed(
    sweeping: Webhook, namespace: Namespace, tmp_path: Path
) -> None:
    namespace.kubectl.apply(previewed(namespace, pod("own", SHARE), tmp_path))
    namespace.delete_pod("own")
    before = uids_of(namespace.list(TEMPLATE))
    name = use_once(namespace, [container(SHARE)])
    age(namespace, name)
    assert template_names(namespace) == {name}
    sweep(sweeping)
    assert uids_of(namespace.list(TEMPLATE)) == before
    assert marked(namespace) == set()
