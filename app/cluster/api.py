"""One connection to one API server: raw JSON in and out, two kinds of errors, every exchange counted.

The typed models of the client would cost memory and lose fields that this version does not know, so only its
configuration, authentication and HTTP layers are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import orjson
from kubernetes.aio.client import ApiClient
from kubernetes.aio.client.rest import RESTResponse
from kubernetes.aio.config import ConfigException

from app.cluster.observer import NO_OBSERVER, StoreObserver

JSON = Any

TEMPLATES = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
MERGE_PATCH = "application/merge-patch+json"

_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
_OK = range(200, 300)
_SHOWN_ERROR_CHARS = 300
"""Of an error page that is not a Kubernetes Status, as proxies send them."""
_WATCH_SECONDS = 280
"""How long the server keeps one watch: below the five minutes after which load balancers like to cut streams."""
_WATCH_SILENCE_SECONDS = 120
"""A watch that is silent for two bookmark intervals (of one minute) is taken for dead, as a pulled cable leaves it."""


class ApiError(Exception):
    """The API server answered, and the answer is an error; the text is its own message."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        self.code = code
        """HTTP status."""
        self.reason = reason
        """The Status reason, as ``AlreadyExists``; empty when the answer was no Status."""
        self.message = message
        super().__init__(message)


class Unreachable(Exception):  # noqa: N818  a state of the network, not a mistake of anybody
    """No usable answer: connection refused or lost, TLS failure, time-out, not JSON."""


class Connection:
    """Talks JSON to one API server over a pool of keep-alive connections.

    Args:
        client: a configured client; closed with this connection.
        seconds: for one request and its retry, where a call does not say otherwise.
        observer: hears of every exchange.
    """

    def __init__(self, client: ApiClient, *, seconds: float = 10.0, observer: StoreObserver = NO_OBSERVER) -> None:
        self._client = client
        self._seconds = seconds
        self._observer = observer

    @property
    def host(self) -> str:
        """Base URL of the API server, for messages."""
        return str(self._client.configuration.host)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all sockets."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, JSON] | None = None,
        content_type: str = "application/json",
        seconds: float | None = None,
    ) -> JSON:
        """One exchange; returns the parsed answer.

        The verb is that of RBAC: get, list, create, update, patch, delete. ``seconds`` count for everything, also the
        retry.

        Raises:
            ApiError: any status but 2xx.
            Unreachable: no usable answer.
        """
        seconds = self._seconds if seconds is None else seconds
        try:
            async with asyncio.timeout(seconds):
                response = await self._send(verb, path, query or {}, body, content_type, aiohttp.ClientTimeout())
                data = await response.read()  # type: ignore[no-untyped-call]
        except TimeoutError as error:
            self._observer.api_call(verb, 0)
            raise Unreachable(f"the Kubernetes API at {self.host} did not answer within {seconds:.1f} s") from error
        except (aiohttp.ClientError, OSError, ConfigException) as error:
            raise self._unreachable(verb, error) from error
        self._observer.api_call(verb, response.status)
        if response.status not in _OK:
            raise _error_from(response.status, data)
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise Unreachable(f"{self.host}{path} answered with something that is not JSON") from error

    async def pages(
        self, path: str, *, query: Mapping[str, str] | None = None, limit: int = 250, seconds: float | None = None
    ) -> AsyncGenerator[JSON, None]:
        """The pages of a consistent list, each as a parsed List object; ``seconds`` count for each page.

        Raises:
            ApiError: also 410, when the list took so long that the rest has expired: start again.
            Unreachable: no usable answer.
        """
        token = ""
        while True:
            parameters = {**(query or {}), "limit": str(limit), **({"continue": token} if token else {})}
            page = await self.request("list", path, query=parameters, seconds=seconds)
            yield page
            token = page["metadata"].get("continue") or ""
            if not token:
                return

    async def watch(self, path: str, resource_version: str) -> AsyncGenerator[JSON, None]:
        """Events ``{"type", "object"}`` after a resource version, bookmarks included, until the server ends the watch.

        Raises:
            ApiError: 410 when the resource version is too old: list again.
            Unreachable: the stream broke or fell silent.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        limits = aiohttp.ClientTimeout(sock_connect=self._seconds, sock_read=_WATCH_SILENCE_SECONDS)
        try:
            response = await self._send("watch", path, query, None, "application/json", limits)
            self._observer.api_call("watch", response.status)
            if response.status not in _OK:
                data = await response.read()  # type: ignore[no-untyped-call]
                raise _error_from(response.status, data)
            async with aclosing(_events(response)) as events:
                async for event in events:
                    yield event
        except (aiohttp.ClientError, OSError, ConfigException, ValueError) as error:
            raise self._unreachable("watch", error) from error

    async def _send(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, JSON] | None,
        content_type: str,
        limits: aiohttp.ClientTimeout,
    ) -> RESTResponse:
        """One HTTP request, repeated once when a pooled connection turns out to be dead.

        Safe for every verb that we use: objects are created by name (a repeat gives AlreadyExists) and deleted
        with preconditions.
        """
        method, url, headers, serialised, _ = await self._client.param_serialize(
            _METHODS[verb],
            path,
            query_params=list(query.items()),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            return await self._client.call_api(method, url, headers, serialised, _request_timeout=limits)
        except aiohttp.ClientConnectorError:
            raise  # a fresh connection failed, another one would too
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            return await self._client.call_api(method, url, headers, serialised, _request_timeout=limits)

    def _unreachable(self, verb: str, error: Exception) -> Unreachable:
        self._observer.api_call(verb, 0)
        return Unreachable(f"the Kubernetes API at {self.host} cannot be reached: {error or type(error).__name__}")


def namespaced(path: str, namespace: str, name: str = "") -> str:
    """The path of a collection or object in a namespace, from the path of the collection in all namespaces."""
    group, _, resource = path.rpartition("/")
    return f"{group}/namespaces/{quote(namespace, safe='')}/{resource}" + (f"/{quote(name, safe='')}" if name else "")


async def _events(response: RESTResponse) -> AsyncGenerator[JSON, None]:
    """The events of a watch stream, one JSON object a line."""
    try:
        while line := await response.response.content.readline():
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                status = event["object"]
                raise ApiError(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
            yield event
    finally:
        response.response.close()


def _error_from(code: int, data: bytes) -> ApiError:
    try:
        status = orjson.loads(data)
        return ApiError(code, status.get("reason") or "", status["message"])
    except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError):
        text = " ".join(data.decode(errors="replace").split())[:_SHOWN_ERROR_CHARS]
        return ApiError(code, "", text or f"HTTP status {code}")
