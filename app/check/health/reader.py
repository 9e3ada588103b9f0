"""Reads objects once, however many checks ask for them, and remembers what could not be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from app.cluster.api import ApiError, Connection, Unreachable, namespaced
from app.cluster.listing import Gap, Keep, Listing, Resource

JSON = Any
T = TypeVar("T")

_SECONDS: Final = 10.0
"""For one exchange; a person waits."""
_NOT_FOUND, _FORBIDDEN = 404, 403


def _slim(item: JSON) -> JSON:
    """Without managed fields, which are half of an object."""
    item["metadata"].pop("managedFields", None)
    return item


class Unreadable(Exception):  # noqa: N818 - not always an error: a viewer may not read everything
    """Something that a check needs could not be read."""

    def __init__(self, gap: Gap) -> None:
        self.place = place_of(gap)
        super().__init__(gap.message)


def place_of(gap: Gap) -> str:
    """What could not be read, for sentences: ``secrets in team-a``."""
    return gap.resource if gap.namespace is None else f"{gap.resource} in {gap.namespace}"


class Reader:
    """Questions to one cluster.

    Args:
        connection: stays the caller's.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.gaps: dict[Hashable, Gap] = {}
        """What could not be read, each once."""
        self._asked: dict[Hashable, asyncio.Future[Any]] = {}

    async def once(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        """The answer to a question that is asked once; a check that is out of time does not take it from others."""
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(question())
        answer: T = await asyncio.shield(self._asked[key])
        return answer

    async def close(self) -> None:
        """End what is still being asked."""
        for question in self._asked.values():
            question.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    async def list(
        self, resource: Resource, namespace: str | None = None, *, selector: str = "", keep: Keep = _slim
    ) -> list[JSON]:
        """The objects of a collection, by label selector, and of each what ``keep`` keeps.

        Raises:
            Unreadable: not permitted, not served, no answer.
        """

        async def read() -> list[JSON]:
            listing = Listing(self.connection, seconds=_SECONDS)
            query = {"labelSelector": selector} if selector else None
            items = await listing.all(resource, namespace=namespace, keep=keep, query=query)
            if items is None:
                raise self._unreadable(listing.gaps[-1])
            return items

        return await self.once(("list", resource.path, namespace, selector), read)

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> JSON | None:
        """One object; None where there is none of that name.

        Raises:
            Unreadable: not permitted, not served, no answer.
        """

        async def read() -> JSON | None:
            path = f"{resource.path}/{quote(name)}" if namespace is None else namespaced(resource.path, namespace, name)
            try:
                return await self.connection.request("get", path, seconds=_SECONDS)
            except ApiError as error:
                if error.code == _NOT_FOUND and error.reason:
                    return None
                raise self._unreadable(_gap(resource, namespace, error)) from error
            except Unreachable as error:
                raise self._unreadable(_gap(resource, namespace, error)) from error

        return await self.once(("get", resource.path, namespace, name), read)

    async def ask(self, resource: Resource, body: Mapping[str, JSON], namespace: str | None = None) -> JSON:
        """The answer to a creation that stores nothing: a dry run, or a review.

        Raises:
            Unreadable: not permitted, no answer.
            ApiError: any other refusal, as by an admission webhook.
        """
        path = resource.path if namespace is None else namespaced(resource.path, namespace)
        try:
            return await self.connection.request("create", path, query={"dryRun": "All"}, body=body, seconds=_SECONDS)
        except ApiError as error:
            if is_forbidden(error):
                raise self._unreadable(_gap(resource, namespace, error)) from error
            raise
        except Unreachable as error:
            raise self._unreadable(_gap(resource, namespace, error)) from error

    def missed(self, gap: Gap) -> None:
        """Remember something that could not be read in another way."""
        self.gaps[gap.resource, gap.namespace, gap.reason] = gap

    def _unreadable(self, gap: Gap) -> Unreadable:
        self.missed(gap)
        return Unreadable(gap)


def is_forbidden(error: ApiError) -> bool:
    """Whether the caller lacks a permission; admission refuses with the same status."""
    return error.code == _FORBIDDEN and 'is forbidden: User "' in error.message


def _gap(resource: Resource, namespace: str | None, error: ApiError | Unreachable) -> Gap:
    forbidden = isinstance(error, ApiError) and error.code == _FORBIDDEN
    return Gap(resource.plural, namespace, "forbidden" if forbidden else "failed", str(error))
