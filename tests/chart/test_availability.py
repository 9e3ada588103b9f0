"""A roll-out of the Deployment, and the death of a replica, while pods are created without pause."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.chart.cluster import TESTED, point_at
from tests.chart.helm import CHART, NAMESPACE, RELEASE, Helm
from tests.chart.replica import Replica
from tests.chart.service import Service
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.wait import wait_for

pytestmark = pytest.mark.cluster

DRAIN_SECONDS = 4
"""Longer than the readiness probe's period (2 s), as the chart's default is."""


class Creator:
    """Creates pods with legacy keys, one after the other, in a thread."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.admitted = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.is_set():
            # Gated: nobody has to schedule them.
            name = f"pod-{self.admitted + len(self.failures)}"
            wanted = pod(
                name, {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}, schedulingGates=[{"name": "test/wait"}]
            )
            try:
                made = self._api.create(wanted, TESTED)
            except ApiError as error:
                self.failures.append(error.message)
            else:
                assert made["spec"]["resourceClaims"]
                self.admitted += 1


@pytest.fixture
def new_replica(
    installing: Helm, control_plane: ControlPlane, hardware: None, tmp_path: Path
) -> Callable[[str], Replica]:
    """Makes replicas of an installed release by name: ``new_replica("old-0")``."""
    del hardware  # they read it when they start
    installing("install", RELEASE, CHART, f"--namespace={NAMESPACE}")
    rendered = installing.template()
    return lambda name: Replica(control_plane, rendered, name, tmp_path / name, drain_seconds=DRAIN_SECONDS)


@pytest.fixture
def service(new_replica: Callable[[str], Replica], api: Api) -> Iterator[Service]:
    """Two replicas that the API server calls by a Service."""
    with Service([new_replica("old-0"), new_replica("old-1")]) as started:
        point_at(api, started.url)
        for replica in started.replicas:
            replica.start()
        wait_for(lambda: started.endpoints() == len(started.replicas), "both replicas to be endpoints", timeout=30)
        yield started
        for replica in started.replicas:
            if replica.running():
                replica.kill()


@pytest.mark.usefixtures("opted_in")
def test_no_pod_creation_fails_while_both_replicas_are_replaced(
    service: Service, new_replica: Callable[[str], Replica], api: Api
) -> None:
    with Creator(api) as creator:
        for i, leaving in enumerate(list(service.replicas)):  # maxSurge 1, maxUnavailable 0
            coming = new_replica(f"new-{i}")
            coming.start()
            service.replicas.append(coming)
            coming.wait_ready()
            assert leaving.stop() == 0
    print(f"{creator.admitted} pods admitted")  # noqa: T201 - the figure of the claim
    assert creator.failures == []
    assert creator.admitted > 100


@pytest.mark.usefixtures("opted_in")
def test_a_killed_replica_costs_at_most_what_it_was_answering(service: Service, api: Api) -> None:
    with Creator(api) as creator:
        wait_for(lambda: creator.admitted > 50, "pods to be admitted")
        service.replicas[0].kill()
        killed_at = creator.admitted
        wait_for(lambda: creator.admitted > killed_at + 100, "pods to be admitted by the other replica")
    assert len(creator.failures) <= 1  # pods are created one after the other
    assert all('failed calling webhook "convert.dra-webhook.hami.io"' in failure for failure in creator.failures)
