"""How often the API server has called a webhook, by the webhook's own count."""

from __future__ import annotations

from tests.cluster.testbed.webhook import Webhook


def calls(webhook: Webhook) -> float:
    """Reviews that this replica has answered since it started."""
    return webhook.metric("hami_dra_webhook_reviews_total")
