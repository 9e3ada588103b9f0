"""Puts a template back that vanished while pods still name it.

Their claims may not have been made yet, and a pod whose template is missing waits with nothing but an event (seen on
Kubernetes 1.36). Somebody may have deleted it by hand; or the sweeper did, while a pod was being admitted by a replica
that could not write the renew stamp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from app.cluster.api import ApiError, Connection, Unreachable
from app.cluster.observer import StoreObserver
from app.cluster.store import StoreUnavailable, TemplateError
from app.translate import Template
from app.translate.decision import CONVERTED_LABEL

JSON = Any

_LOOKS_SECONDS = (0.2, 5.0, 60.0)
"""Waits before each look for pods: the first gathers what is deleted together, and the last one lies beyond the minute
that the API server gives a request, so that a pod that was being admitted has appeared or never will."""
WAITING_PODS = {
    "labelSelector": f"{CONVERTED_LABEL}=true",
    "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
}

log = structlog.get_logger(__name__)


class Restorer:
    """Looks for pods of vanished templates, one namespace at a time, and has the templates made again.

    Args:
        connection: lists the pods.
        write: makes a template exist and tells whether it had to: :meth:`app.cluster.templates.ApiTemplateStore.write`.
        observer: hears of each template that was put back.
    """

    def __init__(
        self, connection: Connection, write: Callable[[str, Template], Awaitable[bool]], observer: StoreObserver
    ) -> None:
        self._connection = connection
        self._write = write
        self._observer = observer
        self._lost: dict[str, dict[str, Template]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def lost(self, namespace: str, template: Template) -> None:
        """A template of ours is gone; returns at once."""
        if namespace not in self._lost:
            self._lost[namespace] = {}
            task = asyncio.create_task(self._look_after(namespace))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._lost[namespace][template.name] = template

    async def close(self) -> None:
        """Stop looking."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_after(self, namespace: str) -> None:
        first, *later = _LOOKS_SECONDS
        await asyncio.sleep(first)
        lost = self._lost.pop(namespace)
        await self._look(namespace, lost)
        for seconds in later:
            if not lost:
                return
            await asyncio.sleep(seconds)
            await self._look(namespace, lost)

    async def _look(self, namespace: str, lost: dict[str, Template]) -> None:
        """Put back what a pod names, and take it off the list; what fails now stays on it for the next look."""
        try:
            named = await templates_in_use(self._connection, namespace, WAITING_PODS)
        except (ApiError, Unreachable) as error:
            log.warning("lost_templates_not_checked", namespace=namespace, templates=sorted(lost), error=str(error))
            return
        for name in sorted(named & lost.keys()):
            try:
                written = await self._write(namespace, lost[name])
            except StoreUnavailable as error:
                log.warning("template_not_restored", namespace=namespace, template=name, error=str(error))
                continue
            except TemplateError as error:  # also a namespace that is being deleted: nobody needs it there
                log.info("template_not_restored", namespace=namespace, template=name, error=str(error))
            else:
                if written:  # else another pod, or another replica, was faster
                    self._observer.restored()
                    log.info("template_restored", namespace=namespace, template=name)
            del lost[name]


async def templates_in_use(
    connection: Connection, namespace: str, query: dict[str, str] | None = None
) -> frozenset[str]:
    """Names of the templates that pods of a namespace name; ``query`` selects among the pods.

    Raises:
        ApiError: the API server refuses the list.
        Unreachable: no usable answer.
    """
    named: set[str] = set()
    # Small pages: a pod is 10 KB and more, and only a name of it is wanted.
    async for page in connection.pages(f"/api/v1/namespaces/{namespace}/pods", query=query, limit=100):
        for pod in page.get("items") or ():
            named.update(named_templates(pod))
    return frozenset(named)


def named_templates(pod: JSON) -> dict[str, str]:
    """Templates that a pod names, with the name of the entry that does."""
    entries = pod["spec"].get("resourceClaims") or ()
    return {e["resourceClaimTemplateName"]: e["name"] for e in entries if e.get("resourceClaimTemplateName")}
