"""Applies the same file twice, as the tests of S60 do, and looks at what is left of the first time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from typing import Any

import pytest
import yaml

from tests.cluster.testbed.kubectl import Result, manifest
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.wait import wait_for

JSON = Any
CLIENT_SIDE: tuple[str, ...] = ()
SERVER_SIDE = ("--server-side",)
SAID = {CLIENT_SIDE: "configured", SERVER_SIDE: "serverside-applied"}
"""What kubectl prints after the name of the pod when the webhook took the keys out again; never "unchanged"."""
each_way = pytest.mark.parametrize("options", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
"""For tests with an argument ``options``, those of ``kubectl apply``."""
IMMUTABLE = "pod updates may not change fields other than"
"""The API server's own refusal of a change that a pod does not allow."""


def settled(namespace: Namespace, name: str) -> JSON:
    """The pod once the scheduler has said yes, or no for one that ``waits``: from then on only the test writes it."""
    pod = namespace.get("Pod", name)
    if "waits" in pod["metadata"].get("labels", {}):
        namespace.unschedulable(name, timeout=30)
    else:
        namespace.scheduled(name, timeout=30)
    return namespace.get("Pod", name)


def wait_for_the_next_second(stored: JSON) -> None:
    """Wait until the clock has moved on, as the API server stamps it, since anybody wrote the pod."""
    newest = max(datetime.fromisoformat(entry["time"]) for entry in stored["metadata"]["managedFields"])
    wait_for(lambda: datetime.now(UTC) >= newest + timedelta(seconds=1), "the next second")


def diff(namespace: Namespace, file: JSON, options: tuple[str, ...] = CLIENT_SIDE) -> Result:
    """``kubectl diff`` of the file: code 0 and no output where nothing would change, else 1 and the change."""
    return namespace.kubectl("diff", "-f", "-", *options, stdin=manifest(file))


def assert_same(before: JSON, after: JSON) -> None:
    """Fail with the lines that are different."""
    lines = unified_diff(yaml.safe_dump(before).splitlines(), yaml.safe_dump(after).splitlines(), lineterm="")
    assert before == after, "\n".join(lines)


def assert_changes_nothing(namespace: Namespace, file: JSON, options: tuple[str, ...] = CLIENT_SIDE) -> None:
    """Apply the file of a settled pod again: accepted, not a byte of the stored pod is different, and no diff."""
    name = file["metadata"]["name"]
    before = settled(namespace, name)
    again = namespace.kubectl.apply(file, options=options)
    assert again.stdout == f"pod/{name} {SAID[options]}\n"
    assert_same(before, namespace.get("Pod", name))
    shown = diff(namespace, file, options)
    assert (shown.code, shown.stdout) == (0, ""), shown.stderr


def refusal(namespace: Namespace, file: JSON, options: tuple[str, ...] = CLIENT_SIDE) -> str:
    """Apply the file and expect a refusal that leaves the pod as it is; returns what kubectl printed."""
    name = file["metadata"]["name"]
    before = settled(namespace, name)
    refused = namespace.kubectl.apply(file, options=options, check=False)
    assert refused.code != 0, refused.stdout
    assert_same(before, namespace.get("Pod", name))
    return refused.stderr
