"""A small client for the API server: JSON in, JSON out, any kind."""

from __future__ import annotations

import re
import ssl
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

JSON = Any
Objects = list[JSON]
Query = Mapping[str, str | int]
NO_QUERY: Query = MappingProxyType({})
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """The API server refused; ``message`` is what a kubectl user reads."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        self.status, self.message, self.reason = status, message, reason
        super().__init__(f"{status} {reason}: {message}")


@dataclass(frozen=True, slots=True)
class Resource:
    """Where the objects of a kind live."""

    api_version: str
    plural: str
    namespaced: bool

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """URL path of one object, or of all (in a namespace)."""
        root = f"/api/{self.api_version}" if "/" not in self.api_version else f"/apis/{self.api_version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "")


Resources = list[Resource]


class Api:
    """Requests with one user's token. Kinds are given by name (``"Pod"``); the server's preferred version is used."""

    def __init__(self, server: str, ca: Path, token: str) -> None:
        self._http = httpx.Client(
            base_url=server,
            headers={"Authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cafile=str(ca)),
            timeout=30,
            trust_env=False,  # a proxy for the outside world has no business on loopback
        )
        self.warnings: list[str] = []
        """Texts of the Warning headers of the last answer."""

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: JSON = None,
        *,
        content_type: str = "application/json",
        query: Query = NO_QUERY,
    ) -> JSON:
        """One request; returns the parsed answer, or its text where it is not JSON.

        Raises:
            ApiError: the answer is not 2xx.
        """
        headers = {"Content-Type": content_type} if body is not None else {}
        answer = self._http.request(method, path, json=body, headers=headers, params=dict(query))
        self.warnings = re.findall(r'299 \S+ "((?:[^"\\]|\\.)*)"', answer.headers.get("warning", ""))
        parsed = answer.json() if "json" in answer.headers.get("content-type", "") else answer.text
        if not answer.is_success:
            status = parsed if isinstance(parsed, dict) else {"message": parsed}
            raise ApiError(answer.status_code, status.get("message", ""), status.get("reason", ""))
        return parsed

    def create(self, obj: JSON, namespace: str | None = None, *, dry_run: bool = False) -> JSON:
        """Create an object; returns it as stored."""
        path = self.resource(obj).path(namespace=obj["metadata"].get("namespace", namespace))
        return self.request("POST", path, obj, query={"dryRun": "All"} if dry_run else {})

    def get(self, kind: str, name: str, namespace: str | None = None) -> JSON:
        """One object."""
        return self.request("GET", self.resource(kind).path(name, namespace))

    def find(self, kind: str, name: str, namespace: str | None = None) -> JSON:
        """One object, or None where there is none of that name."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    def list(self, kind: str, namespace: str | None = None, **query: str | int) -> Objects:
        """All objects of a kind, in one namespace or everywhere. Query: ``labelSelector=…``, ``fieldSelector=…``."""
        resource = self.resource(kind)
        items = self.request("GET", resource.path(namespace=namespace), query=query)["items"]
        return [{"apiVersion": resource.api_version, "kind": kind, **item} for item in items]

    def patch(
        self,
        kind: str,
        name: str,
        patch: JSON,
        namespace: str | None = None,
        *,
        how: str = "merge",
        subresource: str = "",
        **query: str | int,
    ) -> JSON:
        """Patch an object, or its ``status``. ``how``: merge, json, strategic, apply (wants ``fieldManager``)."""
        path = self.resource(kind).path(name, namespace) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, patch, content_type=_PATCHES[how], query=query)

    def delete(self, kind: str, name: str, namespace: str | None = None, **query: str | int) -> None:
        """Delete one object; an absent one is fine."""
        try:
            self.request("DELETE", self.resource(kind).path(name, namespace), query=query)
        except ApiError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise

    def delete_all(self, kind: str, namespace: str | None = None, **query: str | int) -> None:
        """Delete all objects of a kind, in one namespace or everywhere."""
        self.request("DELETE", self.resource(kind).path(namespace=namespace), query=query)

    def resource(self, of: str | Mapping[str, JSON]) -> Resource:
        """Where objects of a kind live; an object names its version, a kind alone means the preferred one.

        Raises:
            LookupError: the server does not serve it.
        """
        kind, version = (of, None) if isinstance(of, str) else (of["kind"], of["apiVersion"])
        for resource in self._kinds.get(kind, []):
            if version in (None, resource.api_version):
                return resource
        raise LookupError(f"the API server does not serve {version or ''} {kind}")

    @cached_property
    def _kinds(self) -> Mapping[str, Sequence[Resource]]:
        kinds: defaultdict[str, Resources] = defaultdict(list)
        for root in ("/api", "/apis"):
            answer = self._http.get(root, headers={"Accept": _DISCOVERY}).raise_for_status().json()
            for group in answer["items"]:
                for version in group["versions"]:
                    name = "/".join(filter(None, (group["metadata"].get("name"), version["version"])))
                    for entry in version.get("resources", ()):
                        found = Resource(name, entry["resource"], entry["scope"] == "Namespaced")
                        kinds[entry["responseKind"]["kind"]].append(found)
        return kinds
