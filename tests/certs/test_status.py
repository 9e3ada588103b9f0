"""What ``certs status`` says about an installation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner

from app.cli import app
from certs.api import ApiProblem
from certs.authority import serial_text
from certs.bundle import WebhookConfiguration
from certs.status import Entry, Status, read_status
from certs.store import SecretStore
from tests.certs.kit import CONFIGURATION, DAY, Clock, MemoryApi, Replica

Start = Callable[[], Awaitable[Replica]]
Ask = Callable[[], Awaitable[Status]]


@pytest.fixture
def ask(api: MemoryApi, clock: Clock) -> Ask:
    store, configuration = SecretStore(api, "gpu", "ca"), WebhookConfiguration(api, "zz-webhook")
    return lambda: read_status(store, configuration, clock=clock)


async def test_all_is_well(start: Start, api: MemoryApi, ask: Ask) -> None:
    await start()
    status, serial = await ask(), serial_text(api.trust.signer.certificate)
    assert status.lines() == [
        "Secret gpu/ca",
        f"  CA {serial} signs; valid until 2027-06-01T00:00:00Z, renewed at 2027-01-30T08:00:00Z",
        "MutatingWebhookConfiguration zz-webhook",
        f"  convert: fits, trusts {serial}",
        f"  reapply: fits, trusts {serial}",
    ]
    assert status.to_json() == {
        "ok": True,
        "problems": [],
        "secret": "Secret gpu/ca",
        "ca": {"serial": serial, "notAfter": "2027-06-01T00:00:00Z", "renewAt": "2027-01-30T08:00:00Z"},
        "old": [],
        "oldUntil": None,
        "configuration": "MutatingWebhookConfiguration zz-webhook",
        "entries": [{"name": name, "trusts": [serial], "fits": True} for name in ("convert", "reapply")],
    }


async def test_no_key_is_ever_shown(start: Start, ask: Ask) -> None:
    await start()
    status = await ask()
    assert "PRIVATE" not in f"{status} {status.to_json()} {status.lines()}"


async def test_a_rotation_that_no_replica_has_seen_does_not_fit_yet(start: Start, api: MemoryApi, ask: Ask) -> None:
    replica = await start()
    old = serial_text(api.trust.signer.certificate)
    await replica.keeper.rotate()
    status = await ask()
    assert status.lines()[2] == f"  CA {old} is trusted until 2026-06-09T00:00:00Z"
    assert status.to_json()["old"] == [old]
    assert status.to_json()["oldUntil"] == "2026-06-09T00:00:00Z"
    assert status.problems == [
        f"MutatingWebhookConfiguration zz-webhook: the caBundle of {name} is not what the Secret holds"
        for name in ("convert", "reapply")
    ]
    await replica.check()
    assert (await ask()).ok


async def test_nothing_installed_is_two_problems(api: MemoryApi, ask: Ask) -> None:
    del api.objects[CONFIGURATION]
    status = await ask()
    assert [problem.partition(";")[0] for problem in status.problems] == [
        "Secret gpu/ca does not exist",
        "MutatingWebhookConfiguration zz-webhook does not exist",
    ]
    assert not status.unanswered
    assert status.to_json()["ca"] is None
    assert status.lines()[-1].startswith("problem: MutatingWebhookConfiguration zz-webhook does not exist")


async def test_an_empty_bundle_trusts_nothing(start: Start, api: MemoryApi, ask: Ask) -> None:
    await start()
    api.set_bundle(b"")
    assert "  convert: does not fit, trusts nothing" in (await ask()).lines()


def test_nothing_of_a_cluster_commands_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "\x1b[2J\x9b\u202e\nx"

    async def status(_settings: object) -> Status:
        return Status(evil, evil, entries=[Entry(evil, (evil,), fits=False)], problems=[evil])

    monkeypatch.setattr("app.server.maintain.certificate_status", status)
    shown = CliRunner().invoke(app, ["certs", "status", "--namespace", "gpu"])
    assert shown.exit_code == 1
    assert set("\x1b\x9b\u202e").isdisjoint(shown.stdout)
    assert shown.stdout.count(r"\x1b[2J\x9b\u202e\nx") == 5
    assert len(shown.stdout.splitlines()) == 4


async def test_an_expired_ca_is_a_problem(start: Start, clock: Clock, ask: Ask) -> None:
    await start()
    clock.advance(365 * DAY)
    assert (await ask()).problems == ["Secret gpu/ca: the CA has expired"]


async def test_a_missing_permission_leaves_the_rest_readable(start: Start, api: MemoryApi, ask: Ask) -> None:
    await start()
    api.problem = lambda _verb, path: ApiProblem(403, "secrets is forbidden") if "secrets" in path else None
    status = await ask()
    assert status.problems == ["secrets is forbidden"]
    assert status.unanswered
    assert [entry.fits for entry in status.entries] == [False, False]
