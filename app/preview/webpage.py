"""The web page: static files of this package, with the headers that keep everything else out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request, Response

_POLICY: Final = (
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)
HEADERS: Final = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
"""Of every file, besides those of the listener. Nothing inline, nothing from elsewhere, in no frame. Browsers keep what
they got, but ask each time whether it is still the same, so that an upgrade shows at once."""

INDEX: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".yaml": "text/plain; charset=utf-8",
}
"""What is served, by suffix; other files of the folder are not."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent."""

    body: bytes
    headers: dict[str, str]

    def answer(self, known: str) -> Response:
        """The file, or 304 where the browser's copy is the same.

        Args:
            known: the request's ``If-None-Match``; a proxy that compresses may have made its tag a weak one.
        """
        if self.headers["ETag"] in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
            return Response(status_code=304, headers=self.headers)
        return Response(self.body, headers=self.headers)


def page_router() -> APIRouter:
    """The routes of the page: ``/``, and its files below ``/page/``.

    All addresses in it are relative, so that it works below any path of a proxy.
    """
    router = APIRouter(include_in_schema=False)
    for path, file in page_files().items():
        router.add_api_route("/" if path == INDEX else f"/page/{path}", _endpoint(file), methods=["GET", "HEAD"])
    return router


def page_files() -> dict[str, File]:
    """Every file of the page by its path below the folder."""
    return dict(sorted(_files(resources.files("app.preview") / "page", "")))


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, File]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        media_type = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        elif media_type is not None:
            body = entry.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            yield path, File(body, {**HEADERS, "Content-Type": media_type, "ETag": tag})


def _endpoint(file: File) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return file.answer(request.headers.get("if-none-match", ""))

    return serve
