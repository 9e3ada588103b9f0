"""What a person asks about the certificates of an installation: what is there, does it fit, when does it end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from certs.api import ApiProblem, NotDone
from certs.authority import serial_text
from certs.bundle import WebhookConfiguration
from certs.source import Clock, wall_clock
from certs.store import SecretStore
from certs.trust import Trust, certificates_in

JSON = Any


@dataclass(frozen=True)
class Entry:
    """What one entry of the webhook configuration trusts."""

    name: str
    trusts: tuple[str, ...]
    """Serial numbers."""
    fits: bool
    """Holds exactly what the Secret wants."""


@dataclass
class Status:
    """The answer of ``certs status``."""

    secret: str
    configuration: str
    trust: Trust | None = None
    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unanswered: bool = False
    """The API server did not answer or refused, so something is not known."""

    @property
    def ok(self) -> bool:
        """Whether everything is there and fits."""
        return not self.problems

    def to_json(self) -> JSON:
        """Times are RFC 3339, serial numbers hexadecimal."""
        entries = [{"name": one.name, "trusts": list(one.trusts), "fits": one.fits} for one in self.entries]
        return {
            "ok": self.ok,
            "problems": self.problems,
            "secret": self.secret,
            **(trust_json(self.trust) if self.trust else {"ca": None, "old": [], "oldUntil": None}),
            "configuration": self.configuration,
            "entries": entries,
        }

    def lines(self) -> list[str]:
        """For people."""
        lines = [self.secret, *(f"  {line}" for line in (trust_lines(self.trust) if self.trust else ()))]
        lines.append(self.configuration)
        for one in self.entries:
            fits = "fits" if one.fits else "does not fit"
            lines.append(f"  {one.name}: {fits}, trusts {', '.join(one.trusts) or 'nothing'}")
        return [*lines, *(f"problem: {problem}" for problem in self.problems)]


def trust_json(trust: Trust) -> JSON:
    """The CAs, without keys."""
    return {
        "ca": {
            "serial": serial_text(trust.signer.certificate),
            "notAfter": _shown(trust.signer.not_after),
            "renewAt": _shown(trust.signer.renew_at),
        },
        "old": [serial_text(one) for one in trust.old],
        "oldUntil": None if trust.old_until is None else _shown(trust.old_until),
    }


def trust_lines(trust: Trust) -> list[str]:
    """The CAs, for people."""
    ca = trust.signer
    lines = [
        f"CA {serial_text(ca.certificate)} signs; valid until {_shown(ca.not_after)}, renewed at {_shown(ca.renew_at)}"
    ]
    if trust.old_until is not None:
        lines += [f"CA {serial_text(one)} is trusted until {_shown(trust.old_until)}" for one in trust.old]
    return lines


async def read_status(store: SecretStore, configuration: WebhookConfiguration, *, clock: Clock = wall_clock) -> Status:
    """Look at Secret and webhook configuration; changes nothing."""
    status = Status(store.title, configuration.title)
    for read in (_read_secret(store, status, clock()), _read_configuration(configuration, status)):
        try:
            await read
        except NotDone as problem:
            status.problems.append(str(problem))
        except ApiProblem as problem:
            status.problems.append(str(problem))
            status.unanswered = True
    return status


async def _read_secret(store: SecretStore, status: Status, now: datetime) -> None:
    stored = await store.read()
    if stored is None or stored.trust is None:
        raise NotDone(store.why_unusable(stored))
    status.trust = stored.trust
    if now >= stored.trust.signer.not_after:
        status.problems.append(f"{store.title}: the CA has expired")


async def _read_configuration(configuration: WebhookConfiguration, status: Status) -> None:
    registered = await configuration.read()
    for name, text in registered.bundles.items():
        fits = status.trust is not None and text == status.trust.bundle
        status.entries.append(Entry(name, tuple(map(serial_text, certificates_in(text))), fits))
        if status.trust is not None and not fits:
            status.problems.append(f"{configuration.title}: the caBundle of {name} is not what the Secret holds")


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
