"""Lets the certificates package, which knows no client library, talk to the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.cluster.api import ApiError, Connection, Unreachable
from certs.api import ApiProblem

JSON = Any


class CertificateApi:
    """A :class:`certs.api.Api` over a connection.

    Args:
        connection: to the API server.
        seconds: for one exchange.
    """

    def __init__(self, connection: Connection, *, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds

    async def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, JSON] | None = None,
        content_type: str = "application/json",
    ) -> JSON:
        """One exchange.

        Raises:
            ApiProblem: any status but 2xx, or no usable answer.
        """
        try:
            return await self._connection.request(
                verb, path, query=query, body=body, content_type=content_type, seconds=self._seconds
            )
        except ApiError as error:
            raise ApiProblem(error.code, error.message) from error
        except Unreachable as error:
            raise ApiProblem(0, str(error)) from error
