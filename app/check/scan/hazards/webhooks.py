"""Other webhooks that change pods: whether they see legacy keys or claims depends on their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.check.health.selectors import Labels, selects
from app.check.health.site import is_asked_about_pods
from app.check.scan.hazard import Check, Found, Severity, name_of
from app.check.scan.hazards.hami import HAMI_WEBHOOK
from app.check.scan.survey import Survey

JSON = Any
_OWN_SUFFIX: Final = ".dra-webhook.hami.io"
"""Names of the webhooks in the chart's configuration, however that one is called."""


def is_own(configuration: Mapping[str, JSON], name: str) -> bool:
    """Whether a configuration registers this webhook, also where the chart's release has another name."""
    return configuration["metadata"]["name"] == name or any(
        str(webhook.get("name")).endswith(_OWN_SUFFIX) for webhook in configuration["webhooks"]
    )


def _foreign(survey: Survey) -> Iterator[tuple[str, list[str]]]:
    """Configurations of others, with the webhooks that are called for pods of namespaces with GPU workloads."""
    namespaces = {workload.ref.namespace for workload in survey.asking}
    for one in survey.cluster.webhooks or ():
        called = [
            str(webhook.get("name"))
            for webhook in one["webhooks"]
            if is_asked_about_pods(webhook, "CREATE")
            and any(_may_select(webhook, survey.cluster.namespaces.get(name)) for name in namespaces)
        ]
        if called and not is_own(one, survey.own_webhook) and HAMI_WEBHOOK not in called:
            yield one["metadata"]["name"], called


def _may_select(webhook: Mapping[str, JSON], labels: Labels | None) -> bool:
    """Whether a webhook is called for a namespace; unknown labels may be the right ones."""
    return labels is None or selects(webhook.get("namespaceSelector"), labels)


def _before(survey: Survey) -> Iterator[Found]:
    return _ordered(survey, after=False)


def _after(survey: Survey) -> Iterator[Found]:
    return _ordered(survey, after=True)


def _ordered(survey: Survey, *, after: bool) -> Iterator[Found]:
    for name, called in _foreign(survey):
        if (name > survey.own_webhook) is after:
            yield Found(name_of("MutatingWebhookConfiguration", name), ", ".join(called))


CHECKS: Final = (
    Check(
        "webhook-after",
        Severity.WARNS,
        "Another webhook changes pods after this one: it sees claims where it may expect legacy keys.",
        "Rename its configuration so that it sorts before this one's, or check that it does not read GPU requests.",
        _after,
        ("webhooks",),
    ),
    Check(
        "webhook-before",
        Severity.INFORMS,
        "Another webhook changes pods before this one; what it adds is converted, too.",
        "Nothing, unless it adds GPU requests, volumes or schedulers that DRA pods shall not have.",
        _before,
        ("webhooks",),
    ),
)
