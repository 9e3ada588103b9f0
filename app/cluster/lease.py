"""A Lease that is taken for one round of work at a time.

It spares replicas the same work; nothing relies on it for safety, since every deletion carries preconditions. So one
read and one write a round are enough, and a successor may take its time. The client library's leader election
renews every few seconds, for ever, and ends the whole election on the first failure to renew.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from app.cluster import marks
from app.cluster.api import ApiError, Connection, namespaced

JSON = Any

_LEASES = "/apis/coordination.k8s.io/v1/leases"
_NOT_FOUND, _CONFLICT = 404, 409


class Lease:
    """One candidate for a ``coordination.k8s.io/v1`` Lease.

    Args:
        connection: to the API server.
        namespace: of the Lease.
        name: of the Lease, created when it does not exist.
        identity: of this candidate, unique among the replicas: the pod's name.
        duration: how long a round is ours; longer than the pause between rounds.
        clock: the current time.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        name: str,
        *,
        identity: str,
        duration: timedelta,
        clock: Callable[[], datetime] = marks.utc_now,
    ) -> None:
        self._connection = connection
        self._path = namespaced(_LEASES, namespace)
        self._name = name
        self._identity = identity
        self._duration = duration
        self._clock = clock
        self._observed: tuple[str, datetime] | None = None

    async def hold(self) -> bool:
        """Take the Lease or keep it; False while somebody else holds it.

        Raises:
            ApiError: the API server refuses; a lost race is no error.
            Unreachable: no usable answer.
        """
        try:
            lease = await self._connection.request("get", f"{self._path}/{self._name}")
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            return await self._write("create", self._path, {"metadata": {"name": self._name}, "spec": {}})
        holder = (lease.get("spec") or {}).get("holderIdentity")
        if holder and holder != self._identity and not self._expired(lease):
            return False
        return await self._write("update", f"{self._path}/{self._name}", lease)

    async def release(self) -> None:
        """Let the next candidate take over at once, if the Lease is ours.

        Raises:
            ApiError: the API server refuses.
            Unreachable: no usable answer.
        """
        path = f"{self._path}/{self._name}"
        lease = await self._connection.request("get", path)
        if lease["spec"].get("holderIdentity") == self._identity:
            lease["spec"]["holderIdentity"] = ""
            await self._connection.request("update", path, body=lease)

    def _expired(self, lease: JSON) -> bool:
        """Nobody has renewed it for its duration, by our own clock: those of two nodes may differ."""
        version, now = lease["metadata"]["resourceVersion"], self._clock()
        if self._observed is None or self._observed[0] != version:
            self._observed = (version, now)
        seconds = lease["spec"].get("leaseDurationSeconds") or 0
        return now - self._observed[1] > timedelta(seconds=seconds)

    async def _write(self, verb: str, path: str, lease: JSON) -> bool:
        """Put our name on it; False when another candidate was quicker."""
        spec = lease.setdefault("spec", {})
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if spec.get("holderIdentity") != self._identity:
            spec["leaseTransitions"] = spec.get("leaseTransitions", -1) + 1
            spec["acquireTime"] = now
        spec["holderIdentity"] = self._identity
        spec["renewTime"] = now
        spec["leaseDurationSeconds"] = max(1, round(self._duration.total_seconds()))
        try:
            await self._connection.request(verb, path, body=lease)
        except ApiError as error:
            if error.code == _CONFLICT:
                return False
            raise
        return True
