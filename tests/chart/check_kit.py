"""An installation as a cluster has it, and ``check`` as people run it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chart.cluster import point_at
from tests.chart.helm import CHART, FULL_NAME, NAMESPACE, Helm
from tests.chart.replica import Replica
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.processes import python_environment
from tests.cluster.testbed.registration import NAME
from tests.cluster.testbed.wait import wait_for

JSON = Any
READY = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]


@dataclass(frozen=True)
class Answer:
    """What ``check`` said."""

    code: int
    text: str
    errors: str
    lines: Mapping[str, JSON]
    """By the name of the check."""

    def states(self, *states: str) -> set[str]:
        """Names of the checks in these states."""
        return {name for name, line in self.lines.items() if line["state"] in states}


def run_check(kubeconfig: Path, *options: str) -> Answer:
    """``hami-dra-webhook check --json`` as a process."""
    command = [sys.executable, "-m", "app", "check", f"--kubeconfig={kubeconfig}", "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=python_environment())
    lines = {one["name"]: one for one in json.loads(run.stdout)["checks"]} if run.stdout.startswith("{") else {}
    return Answer(run.returncode, run.stdout, run.stderr, lines)


@dataclass
class Installed:
    """A release with its replicas, on a control plane without kubelets."""

    control_plane: ControlPlane
    helm: Helm
    replicas: list[Replica]

    @property
    def api(self) -> Api:
        """The API server, as its admin."""
        return self.control_plane.api

    def check(self, *options: str) -> Answer:
        """``check``, as the admin."""
        return run_check(self.control_plane.kubeconfig, *options)

    def settle(self) -> None:
        """Play kubelet: pods of the Deployment become ready, until the roll-out is complete."""

        def complete() -> bool:
            for pod in self.api.list("Pod", NAMESPACE, labelSelector="app.kubernetes.io/component=webhook"):
                if pod["status"].get("phase") != "Running":
                    status = {"status": {"phase": "Running", "conditions": READY}}
                    self.api.patch("Pod", pod["metadata"]["name"], status, NAMESPACE, subresource="status")
            deployment = self.api.get("Deployment", FULL_NAME, NAMESPACE)
            wanted, status = deployment["spec"]["replicas"], deployment.get("status", {})
            return bool(
                status.get("observedGeneration") == deployment["metadata"]["generation"]
                and [status.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas")] == [wanted] * 3
            )

        wait_for(complete, "the roll-out to complete", timeout=30)

    def follow(self, advice: str) -> None:
        """Do what a line of ``check`` says, and what a cluster with kubelets and Services would make of it."""
        program, *arguments = shlex.split(advice)
        if program == "kubectl":
            self.control_plane.kubectl(*arguments, check=True)
            if "restart" in arguments:
                for replica in self.replicas:
                    replica.stop()
                    replica.start()
        else:
            assert program == "helm"
            # In a cluster the address is the Service's, also before.
            if self.api.find("MutatingWebhookConfiguration", NAME) is not None:
                point_at(self.api, None)
            chart = str(CHART.relative_to(CHART.parents[1]))
            assert chart in arguments
            self.helm(*(str(CHART) if argument == chart else argument for argument in arguments))
            point_at(self.api, self.replicas[0].url)
        for replica in self.replicas:
            replica.wait_ready()
        wait_for(self._trusted, "the replicas to write the caBundle", timeout=70)
        self.settle()

    def _trusted(self) -> bool:
        """Whether every entry has the caBundle of the Secret."""
        authority = self.api.get("Secret", f"{FULL_NAME}-ca", NAMESPACE)["data"]["ca.crt"]
        webhooks = self.api.get("MutatingWebhookConfiguration", NAME)["webhooks"]
        return all(one["clientConfig"].get("caBundle") == authority for one in webhooks)
