"""What kubelets and Prometheus are told."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from app.server.health import Checks
from app.server.life import Life
from app.server.metrics import Metrics
from app.server.tasks import BackgroundTasks
from certs.source import Health
from tests.admission.reviews import SHARED, pod, review
from tests.server.process import ServerProcess

DOCS = Path(__file__).parents[2] / "docs"


def test_a_serving_replica_is_alive_and_ready(server: ServerProcess) -> None:
    for path in ("/livez", "/readyz"):
        answer = httpx.get(server.ops + path)
        assert (answer.status_code, answer.text) == (200, "ok")
        assert answer.headers["content-type"].startswith("text/plain")


def test_verbose_lists_every_check_with_its_text(server: ServerProcess) -> None:
    status, text = server.ready()
    assert status == 200
    assert text.splitlines() == [
        "[+]certificate ok: valid until 3000-01-01 00:00:00 UTC",
        "[+]settings ok: valid",
        "[+]facts ok: standalone, so nothing is known of any cluster",
        "[+]shutdown ok: serving",
        "readyz check passed",
    ]


def test_a_failed_check_is_listed_without_asking() -> None:
    checks = Checks({"a": lambda: Health(ok=True, text="fine"), "b": lambda: Health(ok=False, text="broken")})
    assert checks.report("readyz", verbose=False) == (
        False,
        "[+]a ok: fine\n[-]b failed: broken\nreadyz check failed\n",
    )


async def test_a_task_that_died_is_a_reason_to_restart() -> None:
    async def broken() -> None:
        raise RuntimeError("out of luck")

    tasks = BackgroundTasks()
    tasks.start("certificate", asyncio.sleep(60))
    assert tasks.health() == Health(ok=True, text="certificate")
    tasks.start("facts", broken())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert tasks.health() == Health(ok=False, text="facts died: RuntimeError: out of luck")
    await tasks.close()


async def test_housekeeping_that_died_is_told_but_no_reason_to_restart() -> None:
    async def broken() -> None:
        raise RuntimeError("out of luck")

    tasks = BackgroundTasks()
    tasks.start("sweeper", broken(), vital=False)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert tasks.health() == Health(ok=True, text="sweeper died: RuntimeError: out of luck")


def test_a_replica_that_ends_is_not_ready() -> None:
    life = Life()
    assert life.health().ok
    life.end()
    assert life.health() == Health(ok=False, text="this replica is going away")


def test_reviews_are_counted_by_outcome_and_reason_and_timed(server: ServerProcess, client: httpx.Client) -> None:
    converted = 'hami_dra_webhook_reviews_total{outcome="converted",reason="converted"}'
    denied = 'hami_dra_webhook_reviews_total{outcome="denied",reason="memory-too-large"}'
    duration = "hami_dra_webhook_review_duration_seconds_count"
    before = [server.metric(sample) for sample in (converted, denied, duration)]
    client.post("/mutate", content=review(pod(SHARED)))
    client.post("/mutate", content=review(pod({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "16Gi"})))
    after = [server.metric(sample) for sample in (converted, denied, duration)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 2]


def test_the_certificates_end_the_age_of_the_facts_and_the_version_are_there(server: ServerProcess) -> None:
    assert server.metric("hami_dra_webhook_certificate_not_after_timestamp_seconds") == 32503680000
    assert server.metric("hami_dra_webhook_facts_age_seconds") > 0
    assert 'hami_dra_webhook_build_info{python="3.' in httpx.get(f"{server.ops}/metrics").text


def test_no_metric_has_a_label_that_grows_with_the_cluster(server: ServerProcess, client: httpx.Client) -> None:
    client.post("/mutate", content=review(pod(SHARED)))
    text = httpx.get(f"{server.ops}/metrics").text
    labels = set(re.findall(r'[{,]([a-z_]+)="', text))
    assert labels == {"outcome", "reason", "result", "le", "version", "python"}


def test_the_buckets_reach_from_half_a_millisecond_to_ten_seconds(server: ServerProcess) -> None:
    bounds = re.findall(r'duration_seconds_bucket\{le="([^"]+)"\}', httpx.get(f"{server.ops}/metrics").text)
    assert (bounds[0], bounds[-2], bounds[-1]) == ("0.0005", "10.0", "+Inf")


def _metric_names() -> list[str]:
    metrics = Metrics()
    metrics.api_call("create", 201)
    metrics.failed("refused")
    metrics.previewed("answered")
    suffix = {"counter": "_total", "info": "_info"}
    return sorted(family.name + suffix.get(family.type, "") for family in metrics.registry.collect())


@pytest.mark.parametrize("name", _metric_names())
def test_each_metric_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (DOCS / "metrics.md").read_text(encoding="utf-8")


def test_only_metrics_that_exist_are_documented() -> None:
    documented = re.findall(r"^\| `([a-z_]+)` \|", (DOCS / "metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(documented) == _metric_names()
