"""The real kubectl completes the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.testbed import build

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["preview", "-o", "e"], ["explain"]),
        (["preview", "--keep"], ["--keep-going"]),
        (["preview", "--slices", ""], []),
        (["certs", "rot"], ["rotate"]),
    ],
)
def test_kubectl_completes_the_words_of_the_plugin(words: list[str], expected: list[str]) -> None:
    kubectl = build.ensure(f"kubernetes-{build.KUBERNETES}") / "kubectl"
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = [kubectl, "__complete", "hami-dra", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()
    assert [line.partition("\t")[0] for line in said] == [*expected, ":0"]
