"""What a namespace holds: counts of templates and claims, and waits for pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.translate.decision import MARK_LABEL
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for
from tests.cluster.testbed.webhook import Webhook

JSON = Any
Pods = list[JSON]
TEMPLATE = "ResourceClaimTemplate"
NOISY_MACHINE_SECONDS = 60
"""What a wait for something that takes a second may take on a busy machine."""


def named_by(pod: JSON) -> tuple[str, ...]:
    """The templates that a pod names, in the order of its ``spec.resourceClaims``."""
    return tuple(entry["resourceClaimTemplateName"] for entry in pod["spec"].get("resourceClaims", ()))


def names_of(objects: Iterable[JSON]) -> set[str]:
    """Names of objects."""
    return {one["metadata"]["name"] for one in objects}


def uids_of(objects: Iterable[JSON]) -> set[str]:
    """UIDs of objects: equal when nothing was deleted and made again."""
    return {one["metadata"]["uid"] for one in objects}


def template_names(namespace: Namespace) -> set[str]:
    """Names of all templates in the namespace."""
    return names_of(namespace.list(TEMPLATE))


def marked(namespace: Namespace) -> set[str]:
    """Names of the templates that the webhook wrote and may remove."""
    return names_of(namespace.list(TEMPLATE, labelSelector=f"{MARK_LABEL}=true"))


def written(webhook: Webhook) -> float:
    """How many templates the webhook has written since it was started."""
    return webhook.metric("hami_dra_webhook_templates_total", result="created")


def until_claims(namespace: Namespace, count: int) -> None:
    """Wait until the namespace holds exactly so many claims."""
    wait_for(
        lambda: len(namespace.list("ResourceClaim")) == count,
        f"{count} claims in {namespace}",
        timeout=NOISY_MACHINE_SECONDS,
        describe=namespace.describe,
    )


def pods_of(namespace: Namespace, app: str, count: int) -> Pods:
    """Wait until exactly so many pods carry the label ``app``, and all of them have a node."""

    def placed() -> bool:
        pods = namespace.pods(app=app)
        return len(pods) == count and all("nodeName" in one["spec"] for one in pods)

    wait_for(placed, f"{count} scheduled pods of {app}", timeout=NOISY_MACHINE_SECONDS, describe=namespace.describe)
    return namespace.pods(app=app)
