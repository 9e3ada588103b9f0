"""The caBundle of the webhook configuration: what API servers trust."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Final

from cryptography import x509

from certs.api import APPLY, CONFLICT, FIELD_MANAGER, NOT_FOUND, Api, ApiProblem, NotDone
from certs.trust import certificates_in

JSON = Any

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
_KIND: Final = "MutatingWebhookConfiguration"
_PATH: Final = f"/apis/{_API_VERSION}/mutatingwebhookconfigurations"


@dataclass(frozen=True, slots=True)
class Registered:
    """The caBundle of each entry of the configuration, as it was read."""

    version: str
    bundles: dict[str, bytes]
    """PEM text by the name of the entry; empty where there is none."""

    @property
    def trusted(self) -> frozenset[x509.Certificate]:
        """The certificates that every entry holds."""
        sets = [frozenset(certificates_in(text)) for text in self.bundles.values()]
        return frozenset.intersection(*sets) if sets else frozenset()

    def holds(self, bundle: bytes) -> bool:
        """Whether every entry holds exactly this text."""
        return all(text == bundle for text in self.bundles.values())


class WebhookConfiguration:
    """Reads and writes the caBundle of one MutatingWebhookConfiguration, and nothing else of it.

    Args:
        api: to the API server.
        name: of the configuration.
    """

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self._name = name
        self.title = f"{_KIND} {name}"
        """What the configuration is called in messages."""

    async def read(self) -> Registered:
        """What the API servers trust now.

        Raises:
            NotDone: there is no such configuration, or no entry in it.
            ApiProblem: the API server refuses or does not answer.
        """
        try:
            item = await self._api.request("get", f"{_PATH}/{self._name}")
        except ApiProblem as problem:
            if problem.code == NOT_FOUND:
                text = (
                    f"{self.title} does not exist; install it, or name the right one in server.tls.webhookConfiguration"
                )
                raise NotDone(text) from problem
            raise
        webhooks = item.get("webhooks") or []
        if not webhooks:
            raise NotDone(f"{self.title} has no webhooks, so no API server calls anybody")
        return Registered(item["metadata"]["resourceVersion"], {one["name"]: _bundle(one) for one in webhooks})

    async def write(self, registered: Registered, bundle: bytes) -> bool:
        """Have every entry hold this text; False when somebody changed the configuration since it was read.

        By server-side apply, so that charts and GitOps tools see whose field it is. It is forced: a caBundle that does
        not fit the served certificate helps nobody.

        Raises:
            ApiProblem: the API server refuses or does not answer.
        """
        text = base64.b64encode(bundle).decode()
        item = {
            "apiVersion": _API_VERSION,
            "kind": _KIND,
            # Without the version, a replica that has not yet seen a new CA could take it out of the bundle again.
            "metadata": {"name": self._name, "resourceVersion": registered.version},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": text}} for name in registered.bundles],
        }
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        try:
            await self._api.request("patch", f"{_PATH}/{self._name}", query=query, body=item, content_type=APPLY)
        except ApiProblem as problem:
            if problem.code == CONFLICT:
                return False
            raise
        return True


def _bundle(webhook: JSON) -> bytes:
    try:
        return base64.b64decode((webhook.get("clientConfig") or {}).get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""
