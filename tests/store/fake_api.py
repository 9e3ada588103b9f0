"""A small Kubernetes API over real HTTP, for what a real server does not do on demand.

Knows templates, pods, leases, slices and classes: create, get, list in pages, watch, update, merge patch, delete with
preconditions. Everything else about it is for misbehaving: see :class:`FakeApi`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import uuid
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

JSON = Any

CREATED = "2026-01-01T00:00:00Z"


@dataclass
class Failure:
    """An answer that is given instead of the right one."""

    verb: str
    code: int
    message: str
    reason: str
    times: int


@dataclass
class FakeApi:
    """One API server. Objects live in ``objects`` by resource, namespace and name."""

    objects: dict[tuple[str, str, str], JSON] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """Verb and resource of each request, as ``"create resourceclaimtemplates"``."""
    bodies: list[JSON] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: tuple[int, bytes] | None = None
    """Answer everything with this status and body, as a proxy in between does."""
    change: Callable[[JSON], None] = lambda _: None
    """Applied to objects on their way in: a closed feature gate, another webhook."""
    delay: float = 0.0
    """Seconds before each answer but those of watches."""
    answer_delay: float = 0.0
    """Seconds after the request was carried out, before its answer."""
    hang_up: int = 0
    """Close the connection of this many requests without an answer."""
    before_answer: Callable[[str], Awaitable[None] | None] = lambda _: None
    """Called with each entry of ``calls`` before the request is carried out, and awaited."""
    url: str = ""
    version: JSON = field(default_factory=lambda: {"major": "1", "minor": "36+"})
    _failures: list[Failure] = field(default_factory=list)
    _version: int = 100
    _watchers: list[asyncio.Queue[JSON]] = field(default_factory=list)
    _runner: web.AppRunner | None = None
    _compacted: int = 0
    _history: list[tuple[int, JSON]] = field(default_factory=list)

    async def start(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=tls)
        await site.start()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        for queue in self._watchers:
            queue.put_nowait(None)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def fail(self, verb: str, code: int, message: str, reason: str = "", times: int = 1) -> None:
        """Answer the next requests of this verb with an error."""
        self._failures.append(Failure(verb, code, message, reason, times))

    def put(self, resource: str, item: JSON) -> JSON:
        """Store an object as somebody else's write, and tell the watchers."""
        metadata = item["metadata"]
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        known = key in self.objects
        self._version += 1
        stored = deepcopy(item)
        stored["metadata"].setdefault("uid", str(uuid.uuid4()))
        stored["metadata"].setdefault("creationTimestamp", CREATED)
        stored["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = stored
        self._tell(resource, "MODIFIED" if known else "ADDED", stored)
        return stored

    def remove(self, resource: str, namespace: str, name: str) -> None:
        """Delete an object as somebody else, and tell the watchers."""
        item = self.objects.pop((resource, namespace, name))
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self._tell(resource, "DELETED", item)

    def expire_watches(self) -> None:
        """Forget all history, as etcd's compaction does, and end the running watches with 410."""
        self._compacted = self._version
        for queue in self._watchers:
            queue.put_nowait({"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}})

    def cut_watches(self, *, silently: bool = False) -> None:
        """End the running watches; silently: without history, events in between are lost."""
        if silently:
            self._compacted = self._version + 1
        for queue in self._watchers:
            queue.put_nowait(None)

    @property
    def watching(self) -> int:
        """Running watches."""
        return len(self._watchers)

    def templates(self, namespace: str = "team") -> dict[str, JSON]:
        """Template objects of a namespace by name."""
        return {
            name: item
            for (resource, space, name), item in self.objects.items()
            if resource == "resourceclaimtemplates" and space == namespace
        }

    def count(self, call: str) -> int:
        """How often a call was made."""
        return self.calls.count(call)

    def _tell(self, resource: str, kind: str, item: JSON) -> None:
        event = {"type": kind, "object": deepcopy(item)}
        if resource == "resourceclaimtemplates":
            self._history.append((self._version, event))
            for queue in self._watchers:
                queue.put_nowait(event)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        namespace, resource, name = _parts(request.path)
        verb = _verb(request, name)
        call = f"{verb} {resource}"
        body = await request.json() if request.can_read_body else None
        self.calls.append(call)
        self.queries.append(dict(request.query))
        self.headers.append(dict(request.headers))
        self.bodies.append(body)
        answer: web.StreamResponse | None = await self._misbehave(request, verb, call)
        if answer is None and verb == "watch":
            answer = await self._watch(request)
        if answer is None:
            answer = self._carry_out(request, verb, (resource, namespace, name), body)
        await asyncio.sleep(self.answer_delay)
        return answer

    async def _misbehave(self, request: web.Request, verb: str, call: str) -> web.Response | None:
        if self.hang_up:
            self.hang_up -= 1
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if verb != "watch":
            await asyncio.sleep(self.delay)
        if (waiting := self.before_answer(call)) is not None:
            await waiting
        if self.raw is not None:
            return web.Response(status=self.raw[0], body=self.raw[1])
        for failure in self._failures:
            if failure.verb == verb and failure.times:
                failure.times -= 1
                return _status(failure.code, failure.message, failure.reason)
        return None

    def _carry_out(self, request: web.Request, verb: str, key: tuple[str, str, str], body: JSON) -> web.Response:
        resource, namespace, name = key
        if resource == "version":
            return web.json_response(self.version)
        if verb == "list":
            return self._list(request, resource, namespace)
        if verb == "create":
            return self._create(request, resource, namespace, body)
        if key not in self.objects:
            return _status(404, f'{resource} "{name}" not found', "NotFound")
        if verb == "get":
            return web.json_response(self.objects[key])
        if verb == "delete":
            return self._delete(key, body)
        return self._write(key, body, merge=verb == "patch")

    def _list(self, request: web.Request, resource: str, namespace: str) -> web.Response:
        label, _, value = request.query.get("labelSelector", "").partition("=")
        items = [
            item
            for (kind, space, _), item in self.objects.items()
            if kind == resource
            and namespace in ("", space)
            and (not label or item["metadata"].get("labels", {}).get(label) == value)
            and not ("fieldSelector" in request.query and item["status"]["phase"] in ("Succeeded", "Failed"))
        ]
        start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        more = str(start + limit) if start + limit < len(items) else ""
        metadata = {"resourceVersion": str(self._version), "continue": more}
        return web.json_response({"kind": "List", "metadata": metadata, "items": items[start : start + limit]})

    def _create(self, request: web.Request, resource: str, namespace: str, body: JSON) -> web.Response:
        self.change(body)
        name = body["metadata"].get("name", "generated")
        if request.query.get("dryRun"):
            return web.json_response(body, status=201)
        if (resource, namespace, name) in self.objects:
            return _status(409, f'{resource} "{name}" already exists', "AlreadyExists")
        body["metadata"]["namespace"] = namespace
        return web.json_response(self.put(resource, body), status=201)

    def _write(self, key: tuple[str, str, str], body: JSON, *, merge: bool) -> web.Response:
        stored = self.objects[key]
        for precondition in ("uid", "resourceVersion"):
            if body["metadata"].get(precondition, stored["metadata"][precondition]) != stored["metadata"][precondition]:
                return _status(409, "the object has been modified", "Conflict")
        return web.json_response(self.put(key[0], _merged(stored, body) if merge else body))

    def _delete(self, key: tuple[str, str, str], body: JSON) -> web.Response:
        metadata = self.objects[key]["metadata"]
        wanted = (body or {}).get("preconditions", {})
        if any(metadata[k] != v for k, v in wanted.items()):
            return _status(409, "the precondition does not hold", "Conflict")
        self.remove(*key)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        if version < self._compacted:
            return _status(410, "too old resource version", "Expired")
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[JSON] = asyncio.Queue()
        for at, event in self._history:
            if at > version:
                queue.put_nowait(event)
        self._watchers.append(queue)
        try:
            while (event := await queue.get()) is not None:
                await response.write(json.dumps(event).encode() + b"\n")
                if event["type"] == "ERROR":
                    break
        except ConnectionError:
            pass  # the watcher is gone
        finally:
            self._watchers.remove(queue)
        return response


def _parts(path: str) -> tuple[str, str, str]:
    """Namespace, resource and name of a request path."""
    parts = path.strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:] if parts[0] == "api" else parts
    namespace = ""
    if parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    return namespace, parts[0], parts[1] if len(parts) > 1 else ""


def _verb(request: web.Request, name: str) -> str:
    """The RBAC verb of a request."""
    if request.method == "GET" and request.query.get("watch"):
        return "watch"
    if request.method == "GET" and not name and request.path != "/version":
        return "list"
    return {"POST": "create", "PUT": "update"}.get(request.method, request.method.lower())


def _status(code: int, message: str, reason: str = "") -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message, "reason": reason}, status=code)


def _merged(target: JSON, patch: JSON) -> JSON:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
