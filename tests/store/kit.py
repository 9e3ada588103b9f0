"""What the tests of the store share: a clock, a counter, templates, pods and kubeconfigs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from app.translate import Template

GRACE = timedelta(hours=1)


class Clock:
    """The time, moved by tests."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **duration: float) -> None:
        self.now += timedelta(**duration)


class Tally:
    """A StoreObserver that counts words."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def created(self) -> None:
        self.counts["created"] += 1

    def reused(self) -> None:
        self.counts["reused"] += 1

    def renewed(self) -> None:
        self.counts["renewed"] += 1

    def restored(self) -> None:
        self.counts["restored"] += 1

    def removed(self) -> None:
        self.counts["removed"] += 1

    def failed(self, reason: str) -> None:
        self.counts[f"failed {reason}"] += 1

    def api_call(self, verb: str, code: int) -> None:
        self.counts[f"{verb} {code}"] += 1


def claim_spec(memory: str = "8000Mi", **exactly: Any) -> dict[str, Any]:
    """A claim for one card with some memory, as the translation writes it."""
    request = {
        "deviceClassName": "hami-core-gpu.project-hami.io",
        "capacity": {"requests": {"memory": memory, "cores": "0"}},
        **exactly,
    }
    return {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}


def template(name: str = "gpu-1x-8000mi-0c-abcde", spec: dict[str, Any] | None = None) -> Template:
    return Template(name, spec or claim_spec(), "1 card, 8000 MiB")


def pod(name: str, template_name: str, *, namespace: str = "team", phase: str = "Pending") -> dict[str, Any]:
    """A converted pod that names a template."""
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"hami.io/dra-webhook-converted": "true"}},
        "spec": {"resourceClaims": [{"name": "own"}, {"name": "gpu", "resourceClaimTemplateName": template_name}]},
        "status": {"phase": phase},
    }


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds; it takes milliseconds, and on a busy machine longer."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  a condition of any kind has no event to wait for
            await asyncio.sleep(0.005)


def kubeconfig(path: Path, server: str, **user: Any) -> Path:
    """Write a kubeconfig with the contexts ``here`` (current) and ``there``."""
    cluster = {"server": server}
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("here", "there")]
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user or {"token": "secret"}}],
                "contexts": contexts,
                "current-context": "here",
            }
        )
    )
    return path
