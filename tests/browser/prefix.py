"""A proxy that serves the page below a path, as ``kubectl proxy`` and ingresses do, and writes down what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

PREFIX = "/api/v1/namespaces/hami/services/webhook:ops/proxy"
_KEPT = ("content-type", "etag", "cache-control", "content-security-policy")


@dataclass
class Proxy:
    """A running proxy."""

    address: str = ""
    heads: list[str] = field(default_factory=list)
    """Request lines and headers."""


@contextmanager
def behind_a_prefix(target: str) -> Iterator[Proxy]:
    """Serves a server's pages below :data:`PREFIX` on loopback."""
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            proxy.heads.append(f"{self.requestline}\n{self.headers}")
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.removeprefix(PREFIX)
            if path == self.path:
                self.send_error(404)
                return
            headers = {name: value for name, value in self.headers.items() if name.lower().startswith("if-none")}
            answer = httpx.request(self.command, f"{target}{path}", content=body, headers=headers, timeout=30)
            self.send_response(answer.status_code)
            for name in _KEPT:
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        proxy.address = f"http://127.0.0.1:{server.server_port}{PREFIX}/"
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
