"""Command lines of the control plane's programs, and the files they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.cluster.testbed.processes import free_port

API, SCHEDULER, CONTROLLERS, ETCD = "kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd"
ADMIN_TOKEN = "admin-token"  # noqa: S105 - of a server that lives for one test run, on loopback
_USERS = {
    "admin": (ADMIN_TOKEN, "admin", "system:masters"),
    SCHEDULER: ("scheduler-token", "system:kube-scheduler", ""),
    CONTROLLERS: ("controllers-token", "system:kube-controller-manager", ""),
}
# Nobody renews the leases of nodes without a kubelet, so nothing may look for them.
_CONTROLLERS = "*,-node-lifecycle-controller,-node-ipam-controller,-taint-eviction-controller"


@dataclass(frozen=True)
class Layout:
    """Files and ports of one control plane."""

    folder: Path
    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int

    @classmethod
    def create(cls, folder: Path) -> Layout:
        """Choose ports, and write certificates, tokens and kubeconfigs into ``folder``."""
        layout = cls(folder, *(free_port() for _ in range(5)))
        authority = trustme.CA()
        server = authority.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1")
        authority.cert_pem.write_to_path(layout.ca)
        server.private_key_pem.write_to_path(layout.key)
        for index, blob in enumerate(server.cert_chain_pems):
            blob.write_to_path(layout.certificate, append=index > 0)
        key = ec.generate_private_key(ec.SECP256R1())
        layout.account_key.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        rows = [f"{token},{user},{user}" + (f',"{group}"' if group else "") for token, user, group in _USERS.values()]
        layout.tokens.write_text("\n".join([*rows, ""]))
        for user, (token, _, _) in _USERS.items():
            layout.kubeconfig(user).write_text(yaml.safe_dump(kubeconfig(layout.server, layout.ca, token)))
        return layout

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.api}"

    @property
    def ca(self) -> Path:
        """Certificate that signed the servers'."""
        return self.folder / "ca.crt"

    @property
    def certificate(self) -> Path:
        """What the three servers show."""
        return self.folder / "server.crt"

    @property
    def key(self) -> Path:
        """Private key of :attr:`certificate`."""
        return self.folder / "server.key"

    @property
    def account_key(self) -> Path:
        """Private key that signs ServiceAccount tokens."""
        return self.folder / "service-accounts.key"

    @property
    def tokens(self) -> Path:
        """Static tokens of the admin and the components."""
        return self.folder / "tokens.csv"

    def kubeconfig(self, user: str = "admin") -> Path:
        """Kubeconfig of the admin or of a component."""
        return self.folder / f"{user}.kubeconfig"


def kubeconfig(server: str, ca: Path, token: str, namespace: str = "default") -> dict[str, object]:
    """A kubeconfig with one user, who has a bearer token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(ca)}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
        "current-context": "test",
    }


def health_url(component: str, layout: Layout) -> str:
    """Where a component answers 200 once it works."""
    urls = {
        ETCD: f"http://127.0.0.1:{layout.etcd}/readyz",
        API: f"{layout.server}/readyz",
        CONTROLLERS: f"https://127.0.0.1:{layout.controllers}/healthz",
        SCHEDULER: f"https://127.0.0.1:{layout.scheduler}/healthz",
    }
    return urls[component]


def command(component: str, program: Path, layout: Layout, gates: Mapping[str, bool]) -> list[str]:
    """The command line of a component. Every listener is on loopback."""
    tls = [f"--tls-cert-file={layout.certificate}", f"--tls-private-key-file={layout.key}", "--bind-address=127.0.0.1"]
    features = (
        [f"--feature-gates={','.join(f'{gate}={str(on).lower()}' for gate, on in gates.items())}"] if gates else []
    )
    config = layout.kubeconfig(component)
    delegated = [f"--{use}kubeconfig={config}" for use in ("", "authentication-", "authorization-")]
    client, peer = f"http://127.0.0.1:{layout.etcd}", f"http://127.0.0.1:{layout.etcd_peer}"
    options = {
        ETCD: [
            f"--data-dir={layout.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
        API: [
            *tls,
            *features,
            f"--etcd-servers={client}",
            f"--secure-port={layout.api}",
            "--advertise-address=127.0.0.1",
            f"--cert-dir={layout.folder}",
            f"--service-account-key-file={layout.account_key}",
            f"--service-account-signing-key-file={layout.account_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--token-auth-file={layout.tokens}",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
        ],
        CONTROLLERS: [
            *tls,
            *features,
            *delegated,
            f"--secure-port={layout.controllers}",
            f"--service-account-private-key-file={layout.account_key}",
            f"--root-ca-file={layout.ca}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            f"--controllers={_CONTROLLERS}",
        ],
        SCHEDULER: [*tls, *features, *delegated, f"--secure-port={layout.scheduler}", "--leader-elect=false"],
    }
    return [str(program), *options[component]]
