"""The metrics of the server; each is described in ``docs/metrics.md``. None has a pod or namespace label."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from certs.reasons import Kind, Reason

PREFIX = "hami_dra_webhook"
DURATION_BUCKETS_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""A known template takes well below a millisecond; the API server waits 10 s by default."""


class Metrics:
    """Counts everything; also the :class:`app.cluster.observer.StoreObserver` of the server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series beside each counter, which nobody asks for
        self.registry = registry = CollectorRegistry(auto_describe=True)
        self._reviews = Counter(
            f"{PREFIX}_reviews_total", "Answered reviews.", ("outcome", "reason"), registry=registry
        )
        self._by_outcome: dict[tuple[str, str], Counter] = {}
        self._duration = Histogram(
            f"{PREFIX}_review_duration_seconds",
            "Time from the complete request to its answer.",
            buckets=DURATION_BUCKETS_SECONDS,
            registry=registry,
        )
        self.in_flight = Gauge(f"{PREFIX}_reviews_in_flight", "Reviews that are being answered.", registry=registry)
        self._templates = Counter(
            f"{PREFIX}_templates_total", "What happened to ResourceClaimTemplates.", ("result",), registry=registry
        )
        self._template_failures = Counter(
            f"{PREFIX}_template_failures_total", "Templates that could not be had.", ("reason",), registry=registry
        )
        self._api_requests = Counter(
            f"{PREFIX}_api_requests_total", "Calls of the Kubernetes API.", ("verb", "code"), registry=registry
        )
        self._previews = Counter(
            f"{PREFIX}_previews_total", "Previews that were asked for.", ("result",), registry=registry
        )
        self._not_after = Gauge(
            f"{PREFIX}_certificate_not_after_timestamp_seconds",
            "When the served certificate expires, in seconds since 1970.",
            registry=registry,
        )
        self._certificate_changes = Counter(
            f"{PREFIX}_certificate_changes_total",
            "Certificates that were made or renewed, and caBundles that were written.",
            ("what", "reason"),
            registry=registry,
        )
        self._facts_age = Gauge(
            f"{PREFIX}_facts_age_seconds",
            "Age of what is known of the cluster; NaN while nothing is known.",
            registry=registry,
        )
        Info(f"{PREFIX}_build", "What runs here.", registry=registry).info(
            {"version": version("hami-dra-webhook"), "python": platform.python_version()}
        )
        ProcessCollector(registry=registry)
        for result in ("created", "reused", "renewed", "restored", "removed"):
            self._templates.labels(result)

    def reviewed(self, outcome: str, reason: str, seconds: float) -> None:
        """One review was answered."""
        key = (outcome, reason)
        counter = self._by_outcome.get(key)
        if counter is None:
            # Looked up once: labels() takes a lock and checks its arguments on each call.
            counter = self._by_outcome[key] = self._reviews.labels(outcome, reason)
        counter.inc()
        self._duration.observe(seconds)

    def created(self) -> None:
        """A template was written."""
        self._templates.labels("created").inc()

    def reused(self) -> None:
        """A template that exists serves one more pod."""
        self._templates.labels("reused").inc()

    def renewed(self) -> None:
        """The renew stamp of a template was written."""
        self._templates.labels("renewed").inc()

    def restored(self) -> None:
        """A template that vanished under waiting pods was put back."""
        self._templates.labels("restored").inc()

    def removed(self) -> None:
        """The sweeper deleted a template that nobody used."""
        self._templates.labels("removed").inc()

    def failed(self, reason: str) -> None:
        """A template could not be had."""
        self._template_failures.labels(reason).inc()

    def api_call(self, verb: str, code: int) -> None:
        """One call of the Kubernetes API; code 0 = no answer."""
        self._api_requests.labels(verb, str(code)).inc()

    def previewed(self, result: str) -> None:
        """A preview was answered or refused."""
        self._previews.labels(result).inc()

    def certificate_changed(self, what: Kind, reason: Reason) -> None:
        """A certificate was made or renewed, or the caBundle was written."""
        self._certificate_changes.labels(what.value, reason.value).inc()

    def follow(self, *, not_after: Callable[[], float], facts_age: Callable[[], float]) -> None:
        """Read these values at each scrape."""
        self._not_after.set_function(not_after)
        self._facts_age.set_function(facts_age)

    def exposition(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)
