"""Puts the server together, runs it, and ends it in order."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack

import structlog
import uvloop
from fastapi import APIRouter

from app.admission import AdmissionHandler
from app.preview.endpoint import preview_router
from app.preview.service import PreviewService
from app.preview.webpage import page_router
from app.server.backend import Backend, open_backend
from app.server.certificates import open_source
from app.server.errors import StartError
from app.server.facts import FactsHolder
from app.server.health import Checks
from app.server.life import Life
from app.server.listeners import Listener, bind
from app.server.logs import configure_logging
from app.server.metrics import Metrics
from app.server.observe import Recorder
from app.server.ops import ops_app
from app.server.tasks import BackgroundTasks
from app.server.webhook import Mutate, WebhookApp
from app.settings import Settings
from certs.source import Health
from certs.tls import SwappableContext

EXIT_CANNOT_START = 1
EXIT_STOPPED_AT_ONCE = 1
"""A second signal cuts off reviews that are being answered, which is no success."""


def serve(settings: Settings) -> int:
    """Serve until a signal ends it.

    Returns:
        The exit code: 0 after an orderly end, 1 when the server cannot start (stderr says why) or was stopped at once.
    """
    configure_logging(settings.logging)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run(settings))
    except StartError as error:
        sys.stderr.write("\n  - ".join(("hami-dra-webhook cannot start:", *error.problems)) + "\n")
        return EXIT_CANNOT_START


async def run(settings: Settings) -> int:
    """Serve in the running loop, until a signal ends it.

    Returns:
        The exit code, as :func:`serve`.

    Raises:
        StartError: with every reason that is known by then.
    """
    began = time.perf_counter()
    life = Life()
    life.listen()
    tasks, metrics, facts = BackgroundTasks(), Metrics(), FactsHolder()
    async with AsyncExitStack() as stack:
        webhook_socket = stack.enter_context(bind(settings.server.host, settings.server.port))
        ops_socket = stack.enter_context(bind(settings.server.ops_host, settings.server.ops_port))
        backend = await open_backend(settings.cluster, settings.policy, facts, tasks, metrics)
        stack.push_async_callback(backend.close)
        stack.push_async_callback(tasks.close)
        source, certificate_checks = await open_source(
            settings.server.tls, backend.certificate_api, backend.namespace, metrics
        )
        tls = SwappableContext(source.current(), settings.server.tls.min_version)

        def not_after() -> float:
            return source.current().not_after.timestamp()

        metrics.follow(not_after=not_after, facts_age=facts.age_seconds)
        tasks.start("certificate", source.run(tls.swap))
        webhook = Listener(_webhook(settings, facts, backend, metrics, life), webhook_socket, tls.outer)
        ready = Checks(
            {
                **certificate_checks,
                "settings": lambda: Health(ok=True, text="valid"),
                "facts": facts.health,
                "shutdown": life.health,
            }
        )
        routers = _routers(settings, facts, backend, metrics, stack)
        ops = Listener(ops_app(Checks({"tasks": tasks.health}), ready, metrics, routers), ops_socket)
        serving = (tasks.start("webhook listener", webhook.serve()), tasks.start("ops listener", ops.serve()))
        await asyncio.gather(webhook.until_started(), ops.until_started())
        # What was made until now lives as long as the process: collections need not look at it again.
        gc.collect()
        gc.freeze()
        log = structlog.get_logger(__name__)
        log.info("serving", webhook=webhook.url, ops=ops.url, start_seconds=round(time.perf_counter() - began, 3))
        await _until_end(life, settings.server.drain_seconds, (webhook, ops), serving)
    if life.aborted:
        log.warning("stopped_at_once")
        return EXIT_STOPPED_AT_ONCE
    log.info("stopped")
    return 0


async def _until_end(
    life: Life, drain_seconds: float, listeners: Iterable[Listener], serving: Iterable[asyncio.Task[None]]
) -> None:
    """Serve until the first signal, drain, and stop the listeners one after the other; or stop at the second one."""

    async def end_in_order() -> None:
        await life.until_drain()
        structlog.get_logger(__name__).info("draining", seconds=drain_seconds)
        await asyncio.sleep(drain_seconds)
        for listener, task in zip(listeners, serving, strict=True):
            listener.stop()
            await task

    works = [asyncio.create_task(end_in_order()), asyncio.create_task(life.until_abort())]
    ended, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
    for work in works:
        work.cancel()
    await asyncio.gather(*works, return_exceptions=True)
    for work in ended:
        work.result()  # a listener that failed while it stopped is no orderly end


def _routers(
    settings: Settings, facts: FactsHolder, backend: Backend, metrics: Metrics, stack: AsyncExitStack
) -> list[APIRouter]:
    """What the ops listener offers to people."""
    if not settings.preview.enabled:
        return []
    namespace = None if settings.cluster.standalone else backend.namespace
    service = PreviewService(settings.preview, settings.policy, facts, namespace)
    stack.push_async_callback(service.close)
    return [preview_router(service, metrics.previewed), page_router()]


def _webhook(settings: Settings, facts: FactsHolder, backend: Backend, metrics: Metrics, life: Life) -> WebhookApp:
    recorder = Recorder(metrics)
    handler = AdmissionHandler(settings.policy, facts.current, backend.store, recorder)
    endpoint = Mutate(
        handler,
        recorder,
        metrics,
        max_body_bytes=settings.server.max_body_bytes,
        draining=lambda: life.draining,
    )
    return WebhookApp(endpoint)
