"""First figures: conversions over HTTPS against a no-op route, in one run on one machine; memory; start-up time.

``make bench`` (or ``python -m bench.run --seconds 5 --rounds 3``). Machines are shared and noisy, so the figure that
counts is the ratio of processor time of the two servers, measured in turns; the others are for orientation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from app.server.metrics import PREFIX
from examples.certificate import write_certificate
from examples.server import HOST, StandaloneServer
from tests.cluster.testbed.go import cache_folder, digest, environment, find_go

HERE = Path(__file__).parent
DURATION = f"{PREFIX}_review_duration_seconds"
CONNECTIONS = 4
"""An API server keeps few connections to a webhook; more only measures queueing."""
AIMS = {"ratio": 0.6, "memory_mib": 130.0, "ready_s": 2.0, "handler_p99_ms": 3.0}


def load_program() -> Path:
    """The load generator, built once into the cache folder."""
    source = HERE / "load"
    program = cache_folder() / f"load-{digest(source / 'main.go', source / 'go.mod')}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([find_go(), "build", "-o", program, "."], cwd=source, env=environment(), check=True)
    return program


def review() -> bytes:
    """A review as the API server sends it for a controller's pod: defaulted, with managedFields, about 4 KiB."""
    body: bytes = (HERE / "review.json").read_bytes()
    return body


def put_load(url: str, certificate: Path, body: Path, seconds: float, *, pid: int, rate: float = 0) -> dict[str, float]:
    """Measure one server for so many seconds; ``per_core`` is requests per second of processor time it used."""
    command = [load_program(), "-url", url, "-ca", certificate, "-body", body, "-seconds", str(seconds)]
    options = ["-connections", str(CONNECTIONS), "-rate", str(rate)]
    used = cpu_seconds(pid)
    run = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(run.stdout)
    result["per_core"] = result["requests"] / (cpu_seconds(pid) - used)
    if result["failed"]:
        raise SystemExit(f"{result['failed']} requests to {url} failed")
    return result


@contextmanager
def noop_server(folder: Path) -> Iterator[tuple[str, Path, int]]:
    """The floor, while the block lasts; gives its URL, certificate and process id."""
    certificate, key = write_certificate(folder, HOST)
    with socket.create_server((HOST, 0), backlog=2048) as listener:
        port, shared = listener.getsockname()[1], listener.fileno()
        process = subprocess.Popen(
            [sys.executable, HERE / "noop.py", certificate, key, str(shared)], pass_fds=[shared]
        )  # fmt: skip
    try:
        yield f"https://{HOST}:{port}/mutate", certificate, process.pid
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of a process now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def durations(ops_url: str) -> dict[float, float]:
    """Reviews so far that took at most so many seconds, by the server's own histogram: without network and client."""
    families = text_string_to_metric_families(httpx.get(f"{ops_url}/metrics", trust_env=False).text)
    samples = [sample for family in families for sample in family.samples]
    return {float(one.labels["le"]): one.value for one in samples if one.name == f"{DURATION}_bucket"}


def quantile(share: float, before: dict[float, float], after: dict[float, float]) -> float:
    """Seconds within which this share of the reviews between two readings ended; linear within a bucket."""
    counts = {bound: after[bound] - before[bound] for bound in sorted(after)}
    wanted = share * counts[math.inf]
    lower, below = 0.0, 0.0
    for bound, count in counts.items():
        if count >= wanted:
            return lower if bound == math.inf else lower + (bound - lower) * (wanted - below) / (count - below)
        lower, below = bound, count
    return math.nan


def measure(seconds: float, rounds: int) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "noop").mkdir()
        body, config = folder / "review.json", folder / "settings.yaml"
        body.write_bytes(review())
        config.write_text("logging: {level: info}\n")
        began = time.perf_counter()
        with StandaloneServer(config, folder) as webhook:
            ready = time.perf_counter() - began
            idle = memory_mib(webhook.pid)
            with noop_server(folder / "noop") as (noop_url, noop_certificate, noop_pid):
                floor, ours = [], []
                put_load(webhook.url, webhook.certificate, body, 1, pid=webhook.pid)
                put_load(noop_url, noop_certificate, body, 1, pid=noop_pid)
                for _ in range(rounds):
                    floor.append(put_load(noop_url, noop_certificate, body, seconds, pid=noop_pid))
                    ours.append(put_load(webhook.url, webhook.certificate, body, seconds, pid=webhook.pid))
            rate = statistics.median(one["per_second"] for one in ours) / 2
            before = durations(webhook.ops_url)
            half = put_load(webhook.url, webhook.certificate, body, seconds, pid=webhook.pid, rate=rate)
            handler_p99 = quantile(0.99, before, durations(webhook.ops_url))
            return {
                "noop_per_s": statistics.median(one["per_second"] for one in floor),
                "noop_per_s_and_core": statistics.median(one["per_core"] for one in floor),
                "conversions_per_s": statistics.median(one["per_second"] for one in ours),
                "conversions_per_s_and_core": statistics.median(one["per_core"] for one in ours),
                "ratio": statistics.median(o["per_core"] / f["per_core"] for o, f in zip(ours, floor, strict=True)),
                "half_load_p50_ms": half["p50_ms"],
                "half_load_p99_ms": half["p99_ms"],
                "handler_p99_ms": handler_p99 * 1000,
                "memory_idle_mib": idle,
                "memory_mib": memory_mib(webhook.pid),
                "ready_s": ready,
            }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.seconds, arguments.rounds)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        aim = f"   (aim: {'≥' if name == 'ratio' else '≤'} {AIMS[name]})" if name in AIMS else ""
        print(f"{name:26} {value:10.2f}{aim}")


if __name__ == "__main__":
    main()
