"""The Secret that holds the CA. It is written with preconditions only, so that the first writer wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from certs.api import CONFLICT, FIELD_MANAGER, NOT_FOUND, Api, ApiProblem, NotDone
from certs.pair import CertificateError
from certs.trust import KEYS, Trust, read_trust

JSON = Any

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MARK: Final = "hami.io/dra-webhook-ca"
"""Label of the Secrets that we may write: a Secret of somebody else, named by mistake, is never overwritten."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A Secret that was read."""

    item: JSON
    trust: Trust | None
    """None when there is nothing in it, or nothing that can be used."""
    problems: tuple[str, ...] = ()
    """Why what is in it cannot be used."""


class SecretStore:
    """Reads and writes one Secret.

    Args:
        api: to the API server.
        namespace: of the Secret.
        name: of the Secret.
    """

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = name
        self.title = f"Secret {namespace}/{name}"
        """What the Secret is called in messages."""

    async def read(self) -> Stored | None:
        """What is there; None where there is no Secret.

        Raises:
            NotDone: it holds something and does not carry our label.
            ApiProblem: the API server refuses or does not answer.
        """
        try:
            item = await self._api.request("get", f"{self._collection}/{self._name}")
        except ApiProblem as problem:
            if problem.code == NOT_FOUND:
                return None
            raise
        data = item.get("data") or {}
        if not data:
            return Stored(item, None)
        if (item["metadata"].get("labels") or {}).get(MARK) != "true":
            raise NotDone(
                f"{self.title} was not made by this webhook (it has no label {MARK}) and is left alone; "
                "delete it, or choose another name in server.tls.secretName"
            )
        try:
            return Stored(item, read_trust(data, self.title))
        except CertificateError as error:
            return Stored(item, None, tuple(error.problems))

    def why_unusable(self, stored: Stored | None) -> str:
        """A sentence about a Secret that holds no CA."""
        if stored is None:
            return f"{self.title} does not exist"
        return "; ".join(stored.problems) or f"{self.title} is empty"

    async def create(self, trust: Trust) -> bool:
        """Create the Secret; False when another replica was first.

        Raises:
            ApiProblem: the API server refuses or does not answer.
        """
        labels = {MANAGED_BY: FIELD_MANAGER, MARK: "true"}
        item = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._name, "labels": labels},
            "type": "Opaque",
            "data": trust.to_data(),
        }
        return await self._write("create", self._collection, item)

    async def replace(self, stored: Stored, trust: Trust) -> bool:
        """Replace what was read, and nothing newer; False when another replica was first.

        Labels, owners and keys of others stay.

        Raises:
            ApiProblem: the API server refuses or does not answer.
        """
        metadata = stored.item["metadata"]
        others = {key: value for key, value in (stored.item.get("data") or {}).items() if key not in KEYS}
        item = {
            **stored.item,
            "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), MARK: "true"}},
            "data": {**others, **trust.to_data()},
        }
        return await self._write("update", f"{self._collection}/{self._name}", item)

    async def _write(self, verb: str, path: str, item: JSON) -> bool:
        try:
            await self._api.request(verb, path, query={"fieldManager": FIELD_MANAGER}, body=item)
        except ApiProblem as problem:
            if problem.code == CONFLICT:
                return False
            raise
        return True
