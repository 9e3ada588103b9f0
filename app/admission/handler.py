"""From a review to its answer: translate, make sure that the templates exist, answer within the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from app.admission import respond
from app.admission.answer import Answer, decided, failed, refused
from app.admission.failures import failure_of, too_late
from app.admission.record import Record, record
from app.admission.review import Review
from app.cluster.store import TemplateError, TemplateNameTaken, TemplateStore
from app.translate import Facts, Policy, Template, translate_request

MAX_NAME_ROUNDS = 8
"""Names to try for one pod. A taken name is a hash collision or a forgery; eight of them are nobody's accident."""


class ReviewObserver(Protocol):
    """Is told of every review that was answered."""

    def reviewed(self, record: Record) -> None:
        """Count and log it; must be quick and must not raise."""


class AdmissionHandler:
    """Answers reviews.

    Args:
        policy: settings and driver profiles.
        facts: gives what is known of the cluster at this moment.
        store: makes sure that templates exist.
        observer: is told of every answer.
        clock: seconds on a monotonic clock.
    """

    def __init__(
        self,
        policy: Policy,
        facts: Callable[[], Facts],
        store: TemplateStore,
        observer: ReviewObserver,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._policy = policy
        self._facts = facts
        self._store = store
        self._observer = observer
        self._clock = clock

    async def handle(self, review: Review, started: float) -> respond.Response:
        """The response to a review; never raises.

        The caller bounds the time: it cancels this when the time is over, and calls :meth:`too_late`.

        Args:
            review: as parsed.
            started: when the review was complete, on the handler's clock.
        """
        try:
            answer = await self._answer(review)
            response = answer.response(review.uid)
        except Exception as error:  # noqa: BLE001 - whatever it is, the API server gets its answer
            answer = failed(review.uid, error)
            response = answer.response(review.uid)
        self._observer.reviewed(record(review, answer, self._clock() - started))
        return response

    def too_late(self, review: Review, started: float, seconds: float) -> respond.Response:
        """The response to a review whose templates were not confirmed within so many seconds."""
        answer = refused(too_late(seconds))
        self._observer.reviewed(record(review, answer, self._clock() - started))
        return answer.response(review.uid)

    async def _answer(self, review: Review) -> Answer:
        facts = self._facts()
        avoid: frozenset[str] = frozenset()
        for _ in range(MAX_NAME_ROUNDS):
            decision = translate_request(review, facts, self._policy, avoid=avoid)
            if not decision.templates:
                return decided(decision)
            errors = await self._ensure(review, decision.templates)
            if not errors:
                return decided(decision)
            failures = [one for one in errors if not isinstance(one[1], TemplateNameTaken)]
            if failures:
                return refused(failure_of(*failures[0]), decision.warnings)
            avoid |= {template.name for template, _ in errors}
        return refused(failure_of(*errors[0]), decision.warnings)

    async def _ensure(self, review: Review, templates: tuple[Template, ...]) -> list[tuple[Template, TemplateError]]:
        """Make sure that all templates exist, at the same time; what failed, in the order of the containers."""
        if len(templates) == 1:
            # The common case costs no task.
            try:
                await self._store.ensure(review.namespace, templates[0], dry_run=review.dry_run)
            except TemplateError as error:
                return [(templates[0], error)]
            return []
        results = await asyncio.gather(
            *(self._store.ensure(review.namespace, one, dry_run=review.dry_run) for one in templates),
            return_exceptions=True,
        )
        errors = []
        for template, result in zip(templates, results, strict=True):
            if isinstance(result, TemplateError):
                errors.append((template, result))
            elif result is not None:
                raise result
        return errors
