"""The worker process behind ``POST /preview``: bounded, replaced, and never in the way of a review."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from app.cluster.offers import pack
from app.preview import service as previews
from app.preview.service import MAX_PLACES, PreviewService
from app.preview.wanted import Output, Wanted
from app.preview.work import GROWTH_BYTES, NICENESS
from app.server.facts import FactsHolder
from app.settings import Previews
from app.translate import Device, Facts, Policy
from tests.admission.reviews import SHARED, pod, review
from tests.cluster.testbed.hardware import HAMI_CLASSES, T4_NODE, load
from tests.cluster.testbed.processes import gone
from tests.preview.bad import GOOD
from tests.server.process import Certificates, ServerProcess, running, wait_for

SLOW = b"---\n".join([GOOD] * 1000)
"""A second of work, or several on a machine that has more to do."""
HOSTILE = (b"- &a x\n" + b"- *a\n" * 900_000) + b"#" * 2_000_000
"""As much work as an input may be: nearly a million values, nearly 7 MiB."""
PATIENCE = httpx.Timeout(60, read=0.3)
"""Of a client that sends the whole body before it loses it."""
ENDLESS = b"a: [" + b"[{a: b}], " * 600_000 + b"]\n"


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ends meanwhile has no children left
            found += map(int, (task / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def post(server: ServerProcess, body: bytes, query: str = "") -> httpx.Response:
    return httpx.post(f"{server.ops}/preview?{query}", content=body, timeout=120)


@pytest.fixture
def own(tmp_path: Path, certificates: Certificates) -> Iterator[ServerProcess]:
    with running(tmp_path, certificates) as process:
        yield process


def test_it_is_started_by_the_first_request_and_bounded(own: ServerProcess) -> None:
    assert children(own.process.pid) == []
    assert post(own, GOOD).status_code == 200
    (worker,) = children(own.process.pid)
    assert os.getpriority(os.PRIO_PROCESS, worker) == os.getpriority(os.PRIO_PROCESS, own.process.pid) + NICENESS
    limits = {
        line[:26].strip(): line[26:].split()[0] for line in Path(f"/proc/{worker}/limits").read_text().splitlines()
    }
    assert (limits["Max file size"], limits["Max core file size"]) == ("0", "0")
    assert 300 << 20 < int(limits["Max address space"]) < 700 << 20
    assert post(own, GOOD).status_code == 200
    assert children(own.process.pid) == [worker]


def test_one_that_died_is_replaced(own: ServerProcess) -> None:
    post(own, GOOD)
    (worker,) = children(own.process.pid)
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: gone(worker))
    assert post(own, GOOD).status_code == 200
    assert children(own.process.pid) != [worker]


def test_it_ends_with_the_server(own: ServerProcess) -> None:
    post(own, GOOD)
    (worker,) = children(own.process.pid)
    own.signal()
    assert own.wait() == 0
    assert gone(worker)


def test_it_ends_when_the_server_is_killed(own: ServerProcess) -> None:
    post(own, GOOD)
    (worker,) = children(own.process.pid)
    own.process.kill()
    wait_for(lambda: gone(worker))


def test_one_that_takes_too_long_is_killed_and_replaced(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"maxSeconds": 0.5}) as server:
        post(server, GOOD)
        (worker,) = children(server.process.pid)
        answer = post(server, HOSTILE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "took-too-long")
        assert "more than 0.5 s" in answer.json()["error"]["message"]
        assert answer.json()["error"]["hint"].startswith("split the input")
        assert gone(worker)
        assert post(server, GOOD).json()["summary"]["converted"] == 1


def test_one_that_needs_too_much_memory_says_so_and_is_replaced(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"maxMemoryMiB": 64, "maxSeconds": 60}) as server:
        answer = post(server, ENDLESS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too-much-memory")
        assert post(server, GOOD).json()["summary"]["converted"] == 1


def test_memory_of_a_large_preview_is_given_back(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"maxSeconds": 60}) as server:
        assert post(server, b"a: [" + b"1," * 500_000 + b"]\n", "include=yaml").status_code == 200
        for worker in children(server.process.pid):
            assert resident(worker) < GROWTH_BYTES + (50 << 20)
        assert post(server, GOOD).status_code == 200


def test_more_than_a_few_at_once_are_told_to_come_back(own: ServerProcess) -> None:
    """Bodies that are still on their way hold their places."""
    host, port = own.ops.removeprefix("http://").split(":")
    head = f"POST /preview HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode()
    slow = [socket.create_connection((host, int(port))) for _ in range(MAX_PLACES)]
    for one in slow:
        one.sendall(head + GOOD[:10])
    answer = wait_for(lambda: (busy := post(own, GOOD)).status_code == 503 and busy)
    assert (answer.json()["error"]["code"], answer.headers["retry-after"]) == ("busy", "1")
    for one in slow:
        one.sendall(GOOD[10:])
        with closing(one), one.makefile("rb") as file:
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
    assert wait_for(lambda: (free := post(own, GOOD)).status_code == 200 and free)


def test_work_for_a_client_that_went_away_ends(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"maxSeconds": 60, "maxMemoryMiB": 1024}) as server:
        post(server, GOOD)
        (worker,) = children(server.process.pid)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.ops}/preview?include=yaml", content=HOSTILE, timeout=PATIENCE)
        wait_for(lambda: gone(worker))
        assert post(server, GOOD).status_code == 200
        assert not [line for line in server.lines() if line["level"] == "error"]


def test_each_is_counted_by_how_it_ended(tmp_path: Path, certificates: Certificates) -> None:
    with running(tmp_path, certificates, preview={"maxSeconds": 60, "maxMemoryMiB": 1024}) as server:
        assert post(server, GOOD).status_code == 200
        assert post(server, b"a: [").status_code == 200, "a document that cannot be read is an item of the report"
        assert post(server, GOOD, "output=ymal").status_code == 400
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.ops}/preview?include=yaml", content=HOSTILE, timeout=PATIENCE)
        wait_for(lambda: server.metric('hami_dra_webhook_previews_total{result="gone"}') == 1)
        assert server.metric('hami_dra_webhook_previews_total{result="answered"}') == 2
        assert server.metric('hami_dra_webhook_previews_total{result="invalid-option"}') == 1


async def test_an_idle_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "IDLE_SECONDS", 0.5)
    before = children(os.getpid())
    service = PreviewService(Previews(), Policy(), FactsHolder(), None)
    assert (await service.answer(GOOD, Wanted())).status == 200
    await asyncio.to_thread(wait_for, lambda: children(os.getpid()) == before)
    monkeypatch.setattr(previews, "IDLE_SECONDS", 300)
    assert (await service.answer(GOOD, Wanted())).status == 200
    assert children(os.getpid()) != before
    await service.close()
    assert children(os.getpid()) == before


async def test_what_is_known_of_the_cluster_reaches_it_when_it_changes() -> None:
    two = GOOD.replace(b"nvidia.com/gpu: 1", b"nvidia.com/gpu: 2")
    cards = tuple(
        Device("d", f"n{i}", f"n{i}", "gpu-0", {"uuid": f"GPU-{i}"}, {}, {}, shareable=True) for i in range(500)
    )
    holder = FactsHolder()
    holder.update(Facts(server_version=(1, 35), devices=cards))
    service = PreviewService(Previews(), Policy(), holder, None)
    before = b"".join((await service.answer(two, Wanted(Output.YAML))).pieces)
    holder.update(Facts(server_version=(1, 36)))
    after = b"".join((await service.answer(two, Wanted(Output.YAML))).pieces)
    await service.close()
    assert (b"count: 2" in before, b"count: 2" in after) == (False, True), "S37: 1.35 gives one card twice"


async def test_it_tells_how_much_of_the_cluster_matches_and_names_no_node() -> None:
    holder = FactsHolder()
    service = PreviewService(Previews(), Policy(), holder, None)
    unknown = json.loads(b"".join((await service.answer(GOOD, Wanted())).pieces))
    cluster = load(T4_NODE, HAMI_CLASSES)
    holder.update(Facts(), offers=pack(cluster))
    known = json.loads(b"".join((await service.answer(GOOD, Wanted())).pieces))
    assert T4_NODE in str(cluster)
    text = b"".join((await service.answer(GOOD, Wanted(Output.EXPLAIN))).pieces).decode()
    await service.close()
    assert "matches" not in unknown["items"][0]
    (match,) = known["items"][0]["matches"]
    assert (match["request"], match["devices"], match["nodes"], match["nodeNames"]) == ("gpu", 4, 1, [])
    assert "request gpu matches 4 devices, enough on 1 node" in text
    assert T4_NODE not in text + str(known)


async def test_a_fault_of_ours_is_an_answer_and_its_place_is_logged() -> None:
    service = PreviewService(Previews(), Policy(), FactsHolder(), None)
    wrong: Any = "no such output"
    with capture_logs() as logs:
        answer = await service.answer(GOOD, Wanted(wrong))
    await service.close()
    assert (answer.status, b"internal-error" in b"".join(answer.pieces)) == (500, True)
    ((event, fault),) = [(line["event"], line["fault"]) for line in logs]
    assert (event, fault.rpartition(" ")[0]) == ("preview_failed", "KeyError in answer.py, line")


_WATCHED = """
import pickle, sys
from app.preview.jobs import Job, Known
from app.preview.work import worked
from app.preview.wanted import Include, Output, Wanted
from app.translate import Device, Facts, Policy
body = sys.stdin.buffer.read()
known = Known(Policy(), Facts())
for output in Output:
    worked(Job(b"a: 1", Wanted(output)), known)  # what is imported late is imported now
def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.", "shutil.", "tempfile.", "urllib.")) or event == "open":
        print(event, arguments, flush=True)
sys.addaudithook(watch)
for output in Output:
    head, _ = worked(Job(body, Wanted(output, include=frozenset(Include))), known)
    assert head["status"] in (200, 422), head
"""


@pytest.mark.parametrize(
    "body", [GOOD, b"a: [\n", b"a: !!python/object/apply:os.system [ls]\n", b"a: !include /etc/passwd\n"]
)
def test_a_preview_opens_no_file_and_calls_nobody(body: bytes) -> None:
    run = subprocess.run([sys.executable, "-c", _WATCHED], input=body, capture_output=True, check=True)
    assert run.stdout == b""


@pytest.mark.timeout(180)
def test_reviews_do_not_suffer_from_hostile_previews(own: ServerProcess) -> None:
    body = review(pod(SHARED))
    bodies = [HOSTILE, b"#" * (8 << 20), b"[" * 7_000_000, SLOW]
    with own.client() as client:
        usual = client.post("/mutate?timeout=10s", content=body).json()
    stop = threading.Event()

    def ask() -> tuple[list[float], list[Any]]:
        seconds, different = [], []
        with own.client() as client:
            while not stop.is_set():
                began = time.perf_counter()
                answer = client.post("/mutate?timeout=10s", content=body).json()
                seconds.append(time.perf_counter() - began)
                if answer != usual:
                    different.append(answer)
                time.sleep(0.002)
        return seconds, different

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        statuses, took = [], []
        for one in bodies:
            began = time.perf_counter()
            statuses.append(post(own, one, "include=yaml&include=diff").status_code)
            took.append(time.perf_counter() - began)
        stop.set()
        seconds = sorted(one for future in asking for one in future.result()[0])
        different = [one for future in asking for one in future.result()[1]]
    assert different == []
    assert len(seconds) > 500
    assert seconds[-1] < max(1, max(took) / 2), "no review may wait for a preview"
    assert set(statuses) <= {200, 413, 422}
    assert own.ready()[0] == 200
