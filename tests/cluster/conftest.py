"""The control plane as fixtures. Every test in this folder carries the mark ``cluster``.

The programs are built before the first test (``testbed/build.py``), once per machine. ``--kubernetes``,
``--scheduler`` and ``--feature-gates`` run the same tests on another version (``make test-versions``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.testbed import build
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.go import BuildError
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, Hardware
from tests.cluster.testbed.kubectl import Kubectl
from tests.cluster.testbed.kwok import start_kwok, stop_kwok
from tests.cluster.testbed.namespace import OPTED_IN, Namespace
from tests.cluster.testbed.registration import Registration
from tests.cluster.testbed.webhook import Webhook

JSON = Any
_HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("control plane")
    group.addoption("--kubernetes", metavar="VERSION", help=f"version of the control plane ({build.KUBERNETES})")
    group.addoption("--scheduler", metavar="VERSION", help="version of the scheduler, where it differs")
    group.addoption("--feature-gates", metavar="GATE=BOOL,…", help="feature gates of all components")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: a build takes longer than a test may."""
    if session.config.option.collectonly or not any(_HERE in item.path.parents for item in session.items):
        return
    versions = {_option(session.config, "--kubernetes") or build.KUBERNETES, _option(session.config, "--scheduler")}
    kubernetes = {f"kubernetes-{version}" for version in versions if version}
    try:
        for recipe in [*sorted(kubernetes), "etcd", "kwok"]:
            build.ensure(recipe)
    except BuildError as error:
        raise pytest.UsageError(str(error)) from error


def _option(config: pytest.Config, name: str) -> str | None:
    # Without a path on the command line pytest reads this file too late for its options to exist.
    value: str | None = config.getoption(name, default=None)
    return value


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """The control plane of the run, as the options want it."""
    gates = dict(gate.split("=") for gate in (_option(pytestconfig, "--feature-gates") or "").split(",") if gate)
    with ControlPlane(
        _option(pytestconfig, "--kubernetes") or build.KUBERNETES,
        scheduler=_option(pytestconfig, "--scheduler"),
        feature_gates={gate: value == "true" for gate, value in gates.items()},
    ) as started:
        yield started


@pytest.fixture
def start_control_plane() -> Iterator[Callable[..., ControlPlane]]:
    """Starts further control planes, for one test: ``start_control_plane("1.35.4", feature_gates={…})``."""
    started: list[ControlPlane] = []

    def start(*arguments: Any, **options: Any) -> ControlPlane:
        started.append(ControlPlane(*arguments, **options))
        return started[-1].start()

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Api:
    """The API server, as its admin."""
    return control_plane.api


@pytest.fixture(scope="session")
def hardware(control_plane: ControlPlane) -> Hardware:
    """The machines that there are; tests say what they want by ``MACHINES`` or ``use_machines``."""
    return Hardware(control_plane.api)


@pytest.fixture(scope="module")
def machines(hardware: Hardware, request: pytest.FixtureRequest) -> None:
    """The machines of a module: those of its ``MACHINES``, by default the node of four T4 with HAMI's class."""
    hardware.use(*getattr(request.module, "MACHINES", (T4_NODE, HAMI_CLASSES)))


@pytest.fixture
def use_machines(hardware: Hardware) -> Iterator[Callable[..., None]]:
    """Other machines for one test: ``use_machines(A100_NODE, HAMI_CLASSES)``. Call it before the webhook starts."""
    before = hardware.loaded
    yield hardware.use
    hardware.use(before)


@pytest.fixture
def new_namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Callable[..., Namespace]]:
    """Makes namespaces for one test: ``new_namespace(labels={…})``, opted in by default."""
    made: list[Namespace] = []

    def make(labels: Mapping[str, str] = OPTED_IN) -> Namespace:
        made.append(Namespace(control_plane, request.node.name.removeprefix("test_"), labels))
        return made[-1]

    yield make
    for one in made:
        one.remove()


@pytest.fixture
def namespace(new_namespace: Callable[..., Namespace]) -> Namespace:
    """A fresh, opted-in namespace."""
    return new_namespace()


@pytest.fixture
def kubectl(namespace: Namespace) -> Kubectl:
    """Runs kubectl in the test's namespace, as admin."""
    return namespace.kubectl


@pytest.fixture(scope="session")
def registration(control_plane: ControlPlane) -> Registration:
    """Which webhook the API server calls."""
    return Registration(control_plane.api)


@pytest.fixture(scope="module")
def webhook(
    control_plane: ControlPlane, machines: None, registration: Registration, request: pytest.FixtureRequest
) -> Iterator[Webhook]:
    """The registered webhook of a module, with the settings of its ``WEBHOOK_SETTINGS``. It knows the ``machines``."""
    del machines  # it reads them when it starts, so they are there before
    started = Webhook(
        control_plane, getattr(request.module, "WEBHOOK_SETTINGS", None), name=f"webhook-{request.module.__name__}"
    )
    yield from _serve(started, registration)


@pytest.fixture
def start_webhook(
    control_plane: ControlPlane, registration: Registration, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Webhook]]:
    """Starts webhooks for one test: ``start_webhook({"nodeName": "deny"})``.

    The last one started with ``register`` (the default) is called; afterwards it is again the one before.
    """
    serving: list[Iterator[Webhook]] = []

    def start(settings: Mapping[str, JSON] | None = None, *, register: bool = True, **options: Any) -> Webhook:
        name = f"webhook-{request.node.name}-{len(serving)}".replace("/", "-")
        replica = _serve(Webhook(control_plane, settings, name=name, **options), registration if register else None)
        serving.append(replica)
        return next(replica)

    yield start
    for replica in reversed(serving):
        next(replica, None)


def _serve(webhook: Webhook, registration: Registration | None) -> Iterator[Webhook]:
    webhook.start()
    before = registration.use(webhook) if registration else None
    try:
        yield webhook
    finally:
        if registration:
            registration.use(before)
        if webhook.running():
            webhook.stop()


@pytest.fixture(scope="module")
def kwok(control_plane: ControlPlane) -> Iterator[None]:
    """For a module whose pods must become Running, and whose Jobs must complete."""
    start_kwok(control_plane)
    yield
    stop_kwok(control_plane)
