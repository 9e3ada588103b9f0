"""Helm as a fixture, built before the first test, and a control plane for the tests that need one.

Tests in this folder carry the mark ``chart``, those on the control plane also the mark ``cluster``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.chart.account import run_hook
from tests.chart.cluster import OPT_IN, TESTED, apply, remove
from tests.chart.crds import definitions
from tests.chart.helm import FULL_NAME, NAMESPACE, Helm, hook_of
from tests.cluster.testbed import build
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.go import BuildError
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, Hardware

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.chart)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: a build takes longer than a test may."""
    ours = [item for item in session.items if _HERE in item.path.parents]
    if session.config.option.collectonly or not ours:
        return
    cluster = (
        [f"kubernetes-{build.KUBERNETES}", "etcd"] if any(item.get_closest_marker("cluster") for item in ours) else []
    )
    try:
        for recipe in ["helm", *cluster]:
            build.ensure(recipe)
    except BuildError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The real helm, without a cluster."""
    return Helm(build.ensure("helm") / "helm", tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane of its own: the chart's objects are cluster-wide."""
    with ControlPlane() as started:
        yield started


@pytest.fixture(scope="session")
def api(helm: Helm, control_plane: ControlPlane) -> Api:
    """The API server, with the namespaces that the tests use; that of ``helm test`` is marked as the one it makes."""
    marks = helm.template().one("Namespace", TESTED)["metadata"]["labels"]
    del marks[OPT_IN]
    labels = {NAMESPACE: {}, "elsewhere": {}, TESTED: marks}
    control_plane.kubectl.apply(
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": given}}
            for name, given in labels.items()
        )
    )
    return control_plane.api


@pytest.fixture(scope="session")
def crds(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The kinds of cert-manager and of the Prometheus operator."""
    texts = definitions(tmp_path_factory.mktemp("go"))
    control_plane.kubectl.apply(*texts, options=("--server-side",))
    for text in texts:
        name = yaml.safe_load(text)["metadata"]["name"]
        control_plane.kubectl("wait", "--for=condition=Established", f"crd/{name}", check=True)


@pytest.fixture
def installing(helm: Helm, control_plane: ControlPlane, api: Api) -> Iterator[Helm]:
    """Helm that reaches the control plane; whatever it installed is gone afterwards."""
    del api  # its namespaces are there before
    reaching = replace(helm, kubeconfig=control_plane.kubeconfig)
    yield reaching
    for line in reaching("list", "--all-namespaces", "--short").splitlines():
        reaching("uninstall", line, f"--namespace={NAMESPACE}", "--no-hooks")


@pytest.fixture(scope="session")
def hardware(api: Api) -> None:
    """One node with four cards, and HAMi's class.

    It takes no pods: those of the Deployment would stay on it for ever, since there is no kubelet to end them.
    """
    Hardware(api).use(T4_NODE, HAMI_CLASSES)
    for node in api.list("Node"):
        api.patch("Node", node["metadata"]["name"], {"spec": {"unschedulable": True}})


@pytest.fixture
def opted_in(api: Api) -> Iterator[None]:
    """The namespace ``TESTED`` is opted in, and empty afterwards."""
    api.patch("Namespace", TESTED, {"metadata": {"labels": {OPT_IN: "enabled"}}})
    yield
    api.patch("Namespace", TESTED, {"metadata": {"labels": {OPT_IN: None}}})
    api.delete_all("Pod", TESTED, gracePeriodSeconds=0)
    api.delete_all("ResourceClaimTemplate", TESTED)


@pytest.fixture
def helm_test(
    installing: Helm, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> Iterator[Callable[[], CompletedProcess[str]]]:
    """What ``helm test`` does: makes the hook's objects, and runs the command of its pod."""
    rendered = installing.template()
    hooks = [obj for obj in rendered.objects if hook_of(obj) == "test"]
    made = [obj for obj in hooks if obj["kind"] != "Pod"]
    apply(control_plane, made)
    spec = rendered.one("Pod", f"{FULL_NAME}-test")["spec"]
    yield lambda: run_hook(control_plane, spec, NAMESPACE, tmp_path / "account")
    api.delete_all("Pod", TESTED, gracePeriodSeconds=0)
    remove(api, made)
    api.patch("Namespace", TESTED, {"metadata": {"labels": {OPT_IN: None}}})  # helm deletes it
