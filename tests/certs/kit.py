"""A clock set by hand, an API server in memory, replicas on it, and a TLS client that trusts what API servers trust."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509

from certs.api import APPLY, ApiProblem
from certs.bundle import WebhookConfiguration
from certs.clock import ServerClock
from certs.issue import Issuer, service_names
from certs.keeper import AuthorityKeeper
from certs.reasons import Kind, Reason, Renewals
from certs.shared import SharedSource
from certs.store import SecretStore
from certs.tls import SwappableContext
from certs.trust import Trust, certificates_in, read_trust

JSON = Any
NOW = datetime(2026, 6, 1, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
NAMES = service_names("hami-dra-webhook", "gpu", "cluster.local")
CALLED = "hami-dra-webhook.gpu.svc"
"""The name that API servers verify."""
_SECRETS = "/api/v1/namespaces/gpu/secrets"
_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SECRET = f"{_SECRETS}/ca"
CONFIGURATION = f"{_CONFIGURATIONS}/zz-webhook"


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by


@dataclass
class MemoryApi:
    """Secrets and one webhook configuration, with resource versions."""

    clock: Clock
    """Of the API server."""
    objects: dict[str, JSON] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    problem: Callable[[str, str], ApiProblem | None] = lambda _verb, _path: None
    """An answer that is given instead of the right one, by verb and path."""
    before: Callable[[str, str], None] = lambda _verb, _path: None
    """Called before a request is carried out: what others do in between."""
    interleaved: bool = False
    """Let other tasks on before each request."""
    _version: int = 0

    def __post_init__(self) -> None:
        webhooks = [{"name": name, "clientConfig": {}} for name in ("convert", "reapply")]
        self.put(CONFIGURATION, {"metadata": {"name": "zz-webhook"}, "webhooks": webhooks})

    async def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, JSON] | None = None,
        content_type: str = "application/json",
    ) -> JSON:
        del query
        if self.interleaved:
            await asyncio.sleep(0)
        self.before(verb, path)
        self.calls.append((verb, path))
        if (problem := self.problem(verb, path)) is not None:
            raise problem
        if path.endswith("selfsubjectreviews"):
            return {"metadata": {"creationTimestamp": f"{self.clock():%Y-%m-%dT%H:%M:%SZ}"}}
        if verb == "create":
            assert body is not None
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise ApiProblem(409, "already exists")
            return self.put(path, body)
        if path not in self.objects:
            raise ApiProblem(404, "not found")
        if body is None:
            return deepcopy(self.objects[path])
        stored = self.objects[path]
        if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            raise ApiProblem(409, "the object has been modified")
        if content_type == APPLY:
            applied = {one["name"]: one["clientConfig"] for one in body["webhooks"]}
            merged = [one | {"clientConfig": one["clientConfig"] | applied[one["name"]]} for one in stored["webhooks"]]
            body = stored | {"webhooks": merged}
        return self.put(path, body)

    def put(self, path: str, item: Mapping[str, JSON]) -> JSON:
        """Store an object."""
        self._version += 1
        stored = deepcopy(dict(item))
        stored["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = stored
        return deepcopy(stored)

    def put_secret(self, data: Mapping[str, bytes], labels: Mapping[str, str] | None = None) -> None:
        """Store the Secret as somebody else's write; by default with our label."""
        labels = {"hami.io/dra-webhook-ca": "true"} if labels is None else labels
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self.put(SECRET, {"metadata": {"name": "ca", "labels": dict(labels)}, "type": "Opaque", "data": encoded})

    @property
    def trust(self) -> Trust:
        """What the Secret holds."""
        return read_trust(self.objects[SECRET]["data"], "Secret")

    @property
    def bundle(self) -> bytes:
        """What the API servers trust; the same in every entry."""
        texts = {one["clientConfig"].get("caBundle", "") for one in self.objects[CONFIGURATION]["webhooks"]}
        assert len(texts) == 1
        return base64.b64decode(texts.pop())

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        return certificates_in(self.bundle)

    def set_bundle(self, bundle: bytes) -> None:
        """Write the caBundle as somebody else."""
        item = deepcopy(self.objects[CONFIGURATION])
        for one in item["webhooks"]:
            one["clientConfig"] = {"caBundle": base64.b64encode(bundle).decode()} if bundle else {}
        self.put(CONFIGURATION, item)


@dataclass
class Replica:
    """One replica of the webhook: its source, and what it has counted."""

    api: MemoryApi
    clock: Clock
    changes: list[tuple[Kind, Reason]] = field(default_factory=list)

    def __post_init__(self) -> None:
        renewals = Renewals(lambda kind, reason: self.changes.append((kind, reason)))
        issuer = Issuer(NAMES, clock=self.clock)
        self.keeper = AuthorityKeeper(SecretStore(self.api, "gpu", "ca"), issuer, renewals, clock=self.clock)
        self.source = SharedSource(
            self.keeper,
            WebhookConfiguration(self.api, "zz-webhook"),
            issuer,
            ServerClock(self.api, self.clock),
            renewals,
            clock=self.clock,
        )
        self.tls: SwappableContext | None = None

    async def start(self) -> Replica:
        """Start, with the first check."""
        await self.source.start()
        self.tls = SwappableContext(self.source.current(), "1.3")
        await self.check()
        return self

    async def check(self) -> None:
        """What happens once a minute."""
        if (pair := await self.source.check()) is not None and self.tls is not None:
            self.tls.swap(pair)

    def words(self) -> list[str]:
        """What was counted since the last call, as ``kind reason``."""
        words = [f"{kind} {reason}" for kind, reason in self.changes]
        self.changes.clear()
        return words

    @property
    def authority(self) -> x509.Certificate:
        """The CA of the served leaf, by the name of its issuer."""
        leaf = x509.load_pem_x509_certificate(self.source.current().chain_pem)
        known = {one.subject: one for one in (*self.api.trusted, *self.api.trust.certificates)}
        return known[leaf.issuer]

    def handshake(self, bundle: bytes) -> str:
        """A whole TLS handshake with a client that trusts a bundle; empty, or why it failed.

        The certificate's times are compared with the clock of the API server: OpenSSL would take the real one.
        """
        assert self.tls is not None
        if not bundle:
            return "nothing is trusted"
        client_context = ssl.create_default_context(cadata=bundle.decode())
        client_context.verify_flags |= _NO_CHECK_TIME  # type: ignore[operator]
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = client_context.wrap_bio(to_client, to_server, server_hostname=CALLED)
        server = self.tls.outer.wrap_bio(to_server, to_client, server_side=True)
        for _ in range(4):
            for side in (client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                except ssl.SSLError as error:
                    return str(error)
        served = x509.load_der_x509_certificate(client.getpeercert(binary_form=True) or b"")
        now = self.api.clock()
        return "" if served.not_valid_before_utc <= now < served.not_valid_after_utc else "not valid now"


_NO_CHECK_TIME = 0x200000
"""``X509_V_FLAG_NO_CHECK_TIME``, which the ssl module has no name for."""
