"""What this package needs of a Kubernetes API. Whoever opens connections implements it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

JSON = Any

NOT_FOUND: Final = 404
CONFLICT: Final = 409
APPLY: Final = "application/apply-patch+yaml"
"""Content type of server-side apply; JSON is YAML."""
FIELD_MANAGER: Final = "hami-dra-webhook"


class ApiProblem(Exception):  # noqa: N818 - not always an error: 404 and 409 are answers
    """A call that did not bring what was asked for; the text is for people.

    Args:
        code: HTTP status; 0 when no usable answer came.
        message: of the API server, or what happened to the connection.
    """

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class NotDone(Exception):  # noqa: N818 - a decision, not a mistake
    """The API server answered, and what it said does not allow what was wanted; the text is for people."""


class Api(Protocol):
    """JSON to and from one API server."""

    async def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, JSON] | None = None,
        content_type: str = "application/json",
    ) -> JSON:
        """One exchange; the verb is that of RBAC (get, create, update, patch).

        Raises:
            ApiProblem: any status but 2xx, or no usable answer.
        """
