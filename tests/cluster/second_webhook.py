"""A second mutating webhook, as sidecar injectors and policy engines are: changes pods of one namespace as told."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

import trustme

from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.wait import wait_for

JSON = Any
Change = Callable[[JSON], list[JSON]]
"""From a pod as the API server sends it to the operations of a JSON Patch."""
EARLIER, LATER = "aa-second-webhook", "zzz-second-webhook"
"""Names that sort before and after our configuration: the order in which the API server calls."""
_PROBE = "second-webhook-probe"


class SecondWebhook:
    """Called for every new pod of the namespace while the context lasts. Its own calls it never has repeated.

    Args:
        namespace: whose pods it changes.
        name: ``EARLIER`` or ``LATER``.
        change: what it does to a pod.
    """

    def __init__(self, namespace: Namespace, name: str, change: Change) -> None:
        self._namespace, self._name, self._change = namespace, name, change
        self.calls = 0
        """How many pods it has changed."""

    def __enter__(self) -> Self:
        authority = trustme.CA()
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(trust)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = trust.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self._namespace.api.create(self._configuration(authority.cert_pem.bytes()))
        wait_for(self._is_called, f"the API server to call {self._name}", timeout=30)
        return self

    def __exit__(self, *_: object) -> None:
        self._namespace.api.delete("MutatingWebhookConfiguration", self._name)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _is_called(self) -> bool:
        try:
            self._namespace.create(pod(_PROBE), dry_run=True)
        except ApiError as error:
            return _PROBE in error.message
        return False

    def _review(self, request: JSON) -> JSON:
        if request["name"] == _PROBE:
            return {"uid": request["uid"], "allowed": False, "status": {"message": f"{_PROBE} has arrived"}}
        self.calls += 1
        patch = base64.b64encode(json.dumps(self._change(request["object"])).encode()).decode()
        return {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        review = self._review

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps({**asked, "response": review(asked.pop("request"))}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True

            def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - named by the base class
                pass

        return Handler

    def _configuration(self, ca_pem: bytes) -> JSON:
        port = self._server.server_address[1]
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._name},
            "webhooks": [
                {
                    "name": "second.example.com",
                    "admissionReviewVersions": ["v1"],
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{port}/mutate",
                        "caBundle": base64.b64encode(ca_pem).decode(),
                    },
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                    ],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace.name}},
                    "sideEffects": "None",
                    "reinvocationPolicy": "Never",
                }
            ],
        }
