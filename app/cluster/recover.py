"""At start: puts back templates that vanished while no webhook was there to see it.

A running store notices a deletion by its watch (:mod:`app.cluster.restore`). A store that has just started knows no
template that is gone, but the pods that wait for one do: they carry what they asked for, and the template's name tells
whether translating that again gives the same content.
"""

from __future__ import annotations

from typing import Any

import structlog

from app.cluster.api import ApiError, Connection, Unreachable
from app.cluster.restore import WAITING_PODS, named_templates
from app.cluster.store import TemplateError
from app.cluster.templates import ApiTemplateStore
from app.translate import Facts, Policy, Template, recorded_templates

JSON = Any

log = structlog.get_logger(__name__)


async def put_back_missing(connection: Connection, store: ApiTemplateStore, facts: Facts, policy: Policy) -> int:
    """Write the templates that waiting pods name and that do not exist; returns how many were written.

    Failures are logged: this is help for pods that somebody harmed, and no reason not to serve.
    """
    written = 0
    missing: set[tuple[str, str]] = set()
    try:
        async for page in connection.pages("/api/v1/pods", query=WAITING_PODS, limit=100):
            for pod in page.get("items") or ():
                namespace = pod["metadata"]["namespace"]
                for name in _waited_for(pod):
                    if (namespace, name) in missing or store.knows(namespace, name):
                        continue
                    missing.add((namespace, name))
                    written += await _write(store, namespace, name, recorded_templates(pod, facts, policy))
    except (ApiError, Unreachable) as error:
        log.warning("missing_templates_not_checked", error=str(error))
    return written


def _waited_for(pod: JSON) -> list[str]:
    """Templates whose claims have not been made yet."""
    made = {entry["name"] for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
    return [template for template, entry in named_templates(pod).items() if entry not in made]


async def _write(store: ApiTemplateStore, namespace: str, name: str, templates: tuple[Template, ...]) -> bool:
    template = next((one for one in templates if one.name == name), None)
    if template is None:
        # Somebody else's template, or facts and settings have changed since.
        log.warning("template_not_restored", namespace=namespace, template=name, error="its content is not known")
        return False
    try:
        written = await store.write(namespace, template)
    except TemplateError as error:
        log.warning("template_not_restored", namespace=namespace, template=name, error=str(error))
        return False
    if written:
        log.info("template_restored", namespace=namespace, template=name)
    return written
