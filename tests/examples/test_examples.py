"""``make run``: a real server, real reviews, and what the reader sees."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from examples.reviews import review, reviews_of
from examples.run import WORKLOADS

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.run"]

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def printed() -> str:
    run = subprocess.run([*COMMAND, "--once"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize(
    ("workload", "outcome"),
    [
        ("research Deployment/notebook", "converted"),
        ("research Job/finetune", "converted"),
        ("serving Deployment/classifier", "converted"),
        ("serving StatefulSet/embeddings", "converted"),
        ("research Pod/render", "denied"),
        ("serving Deployment/frontend", "untouched"),
    ],
)
def test_every_example_is_answered(printed: str, workload: str, outcome: str) -> None:
    assert f"{workload}: {outcome}" in printed


@pytest.mark.parametrize(
    "said",
    [
        r"jupyter +nvidia\.com/gpu: 1 +1 card: 4000 MiB, 30 % of the cores +S29, S36 +gpu-1x-4000mi-30c-[0-9a-f]+",
        r"nvidia\.com/gpu: 2 +2 different cards: all memory, 100 % of the cores, nobody beside it",
        r"nvidia\.com/mig-1g\.10gb: 1 +1 x MIG 1g\.10gb",
        r"1 card: 50 % of the memory",
        r"schedulerName: hami-scheduler +schedulerName: default-scheduler",
        r"warning: .*hami\.io/gpu-scheduler-policy",
        r'nvidia\.com/gpumem is "16Gi" in container blender: the unit is MiB, write 16384',
    ],
)
def test_the_reader_sees_what_was_asked_and_what_it_becomes(printed: str, said: str) -> None:
    assert re.search(said, printed), printed


def test_ctrl_c_ends_the_server() -> None:
    with subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        seen = ""
        while "until Ctrl-C" not in seen:
            line = run.stdout.readline()
            assert line, seen
            seen += line
        port = int(re.findall(r"https://127\.0\.0\.1:(\d+)/mutate", seen)[0])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        page = re.findall(r"^page +(http://127\.0\.0\.1:\d+/) ", seen, re.MULTILINE)[0]
        assert "<h1" in httpx.get(page, trust_env=False).text
        run.send_signal(signal.SIGINT)
        assert run.stdout.read().endswith("stopped\n")
    assert run.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_on_a_desktop_the_page_is_opened(tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DISPLAY": ":0", "BROWSER": str(browser)}
    with subprocess.Popen(COMMAND, cwd=ROOT, stdout=theirs, env=environment) as run:
        os.close(theirs)
        seen = ""
        while "until Ctrl-C" not in seen:
            seen += os.read(ours, 65536).decode(errors="replace")
        run.send_signal(signal.SIGINT)
    os.close(ours)
    assert opened.read_text().strip() in seen
    assert opened.read_text().startswith("http://127.0.0.1:")


def test_a_port_in_use_is_said_and_ends_the_run() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = subprocess.run(
            [*COMMAND, "--once", f"--port={port}"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert run.returncode == 1
    assert "the server did not become ready" in run.stdout
    assert str(port) in run.stderr


def test_reviews_look_like_those_of_the_controllers() -> None:
    ((title, deployment),) = reviews_of(WORKLOADS / "01-shared-notebook.yaml")
    pod = deployment["request"]["object"]
    assert title == "Deployment/notebook"
    assert "name" not in deployment["request"]
    assert "name" not in pod["metadata"]
    assert re.fullmatch(r"notebook-[0-9a-f]+-", pod["metadata"]["generateName"])
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpumem"] == "4k"
    assert resources["requests"] == resources["limits"]


def test_the_review_of_a_pod_is_that_of_a_person() -> None:
    pod = yaml.safe_load((WORKLOADS / "05-memory-in-bytes.yaml").read_text())
    request = review(pod, pod)["request"]
    assert (request["name"], request["namespace"]) == ("render", "research")
    assert request["userInfo"]["username"] == "kubernetes-admin"
    assert "ownerReferences" not in request["object"]["metadata"]
