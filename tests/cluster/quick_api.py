"""The client of the test bed over plain sockets, one for each thread: a fifth of the time, for thousands of objects."""

from __future__ import annotations

import json
import ssl
import threading
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.cluster.testbed.api import NO_QUERY, Api, ApiError, Query

JSON = Any


class QuickApi(Api):
    """Creates, patches and reads like :class:`Api`; warnings are not kept."""

    def __init__(self, server: str, ca: Path, token: str) -> None:
        super().__init__(server, ca, token)
        self._address = urlsplit(server).netloc
        self._trust = ssl.create_default_context(cafile=str(ca))
        self._token = token
        self._local = threading.local()
        self._open: list[HTTPSConnection] = []

    def close(self) -> None:
        """Close the connections of all threads."""
        super().close()
        for connection in self._open:
            connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: JSON = None,
        *,
        content_type: str = "application/json",
        query: Query = NO_QUERY,
    ) -> JSON:
        """One request on this thread's own connection."""
        if not hasattr(self._local, "connection"):
            self._local.connection = HTTPSConnection(self._address, context=self._trust, timeout=30)
            self._open.append(self._local.connection)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        text = None if body is None else json.dumps(body)
        target = f"{path}?{urlencode(query)}" if query else path
        self._local.connection.request(method, target, text, headers)
        answer = self._local.connection.getresponse()
        parsed = json.loads(answer.read())
        if answer.status >= 300:
            raise ApiError(answer.status, parsed.get("message", ""), parsed.get("reason", ""))
        return parsed
