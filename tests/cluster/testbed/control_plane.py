"""One control plane: etcd, API server, controller manager and scheduler on free loopback ports."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.cluster.testbed import build
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.components import ADMIN_TOKEN, API, CONTROLLERS, ETCD, SCHEDULER, Layout, command, health_url
from tests.cluster.testbed.kubectl import Kubectl
from tests.cluster.testbed.processes import ProcessError, Processes
from tests.cluster.testbed.wait import wait_for


class ControlPlane:
    """Starts on ``start`` (about four seconds), is gone after ``stop``; also a context manager.

    Args:
        version: Kubernetes version, one of ``testbed/recipes``.
        scheduler: version of the scheduler, where it differs.
        feature_gates: passed to all components.
        scheduler_feature_gates: passed to the scheduler instead.
    """

    def __init__(
        self,
        version: str = build.KUBERNETES,
        *,
        scheduler: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        scheduler_feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        self.version = version
        self.scheduler_version = scheduler or version
        self._gates = feature_gates or {}
        self._scheduler_gates = self._gates if scheduler_feature_gates is None else scheduler_feature_gates
        self.folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self.layout = Layout.create(self.folder)
        self.processes = Processes(self.folder)
        """The components, and whatever else a test starts and wants to be stopped with them."""
        self.api = Api(self.layout.server, self.layout.ca, ADMIN_TOKEN)
        """The API server, as its admin."""
        self.kubectl = Kubectl(build.ensure(f"kubernetes-{version}") / "kubectl", self.kubeconfig)

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the admin."""
        return self.layout.kubeconfig()

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor of the API server: ``(1, 36)``."""
        major, minor, _ = self.version.split(".")
        return int(major), int(minor)

    def start(self) -> Self:
        """Start everything, and wait until pods can be created.

        Raises:
            ProcessError: a component ended or did not become ready; with the last lines of its log.
        """
        try:
            for component in (ETCD, API, CONTROLLERS, SCHEDULER):
                self.start_component(component)
            # The ServiceAccount controller makes it; without it the API server refuses pods.
            wait_for(lambda: self.api.find("ServiceAccount", "default", "default"), "the default ServiceAccount")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop everything and remove the files."""
        self.api.close()
        self.processes.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_component(self, component: str, version: str | None = None) -> None:
        """Start a stopped component (``kube-apiserver`` …), in ``version`` if given, and wait until it is healthy.

        Raises:
            ProcessError: it ended or did not become ready.
        """
        if component == SCHEDULER:
            self.scheduler_version = version or self.scheduler_version
            version, gates = self.scheduler_version, self._scheduler_gates
        else:
            version, gates = version or self.version, self._gates
        folder = build.ensure("etcd" if component == ETCD else f"kubernetes-{version}")
        self.processes.start(component, command(component, folder / component, self.layout, gates))
        trust = ssl.create_default_context(cafile=str(self.layout.ca))
        with httpx.Client(verify=trust, timeout=5, trust_env=False) as client:

            def healthy() -> bool:
                if not self.processes.running(component):
                    raise ProcessError(f"{component} ended at once\n{self.processes.tail(component)}")
                try:
                    return client.get(health_url(component, self.layout)).is_success
                except httpx.TransportError:
                    return False

            wait_for(healthy, f"{component} to be healthy", timeout=60, describe=lambda: self.processes.tail(component))

    def stop_component(self, component: str, *, kill: bool = False) -> None:
        """Stop a component: SIGTERM, or SIGKILL with ``kill``."""
        self.processes.stop(component, kill=kill)

    def restart_component(self, component: str, *, kill: bool = False) -> None:
        """Stop and start a component; its state is in etcd and survives."""
        self.stop_component(component, kill=kill)
        self.start_component(component)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
