"""What a preview costs: reading, translating and rendering ordinary manifests, against reading them with PyYAML alone.

``python -m bench.preview --mib 6``. Seconds are those of the processor. Machines are shared and noisy, so the figure
that counts is the ratio to ``yaml.load_all`` with libyaml's safe loader on the same text, measured in turns.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from app.preview.answer import answer
from app.preview.jobs import Known
from app.preview.wanted import Include, Wanted
from app.translate import Facts, Policy

ROOT = Path(__file__).parents[1]
ALL = Wanted(include=frozenset((Include.YAML, Include.DIFF)))
AIM_RATIO = 4.0
"""The tree with positions, the check of what was rewritten, and the translation, in units of one plain read."""
AIM_MIB = 320
"""Resident memory of the process, as ``preview.maxMemoryMiB``."""


def manifests(mib: float) -> bytes:
    """Deployments as ``kubectl get -o yaml`` prints them, with environment and status; half of them ask for a GPU."""
    limit, filler = int(mib * 1024 * 1024), int(mib * 16)
    text = ""
    for number in range(1000):  # as many documents as one input may hold
        one = f"---\n{_deployment(number, filler)}"
        if len(text) + len(one) > limit:
            break
        text += one
    return text.encode()


def _deployment(number: int, filler: int) -> str:
    """One of them, with so many environment variables in all."""
    env = [{"name": f"VARIABLE_{i}", "value": f"value-{number}-{i}"} for i in range(filler // 2)]
    gpu = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000} if number % 2 else {}
    container = {"image": f"example.org/app:1.{number}", "env": env, "imagePullPolicy": "IfNotPresent"}
    condition = {"lastUpdateTime": "2026-11-30T04:00:00Z", "reason": "MinimumReplicasAvailable", "status": "True"}
    labels = {"app": f"web-{number}", "team": "research"}
    pod = {
        "containers": [
            {"name": "main", **container, "resources": {"limits": {"cpu": "2", "memory": "4Gi", **gpu}}},
            {"name": "sidecar", **container, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
        ]
    }
    return yaml.dump(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"web-{number}", "namespace": f"team-{number % 20}", "labels": dict(labels)},
            "spec": {
                "selector": {"matchLabels": dict(labels)},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
            "status": {"replicas": 2, "conditions": [condition]},
        },
        Dumper=_NoAliases,
        sort_keys=False,
    )


class _NoAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def measure(text: bytes, rounds: int) -> dict[str, float]:
    """Processor seconds of a plain read and of a whole preview, in turns."""
    plain, ours = [], []
    for _ in range(rounds):
        plain.append(_seconds(lambda: list(yaml.load_all(text, Loader=yaml.CSafeLoader))))
        ours.append(_seconds(lambda: answer(text, ALL, Known(Policy(), Facts()))))
    return {
        "input_mib": len(text) / 1024 / 1024,
        "plain_read_s": statistics.median(plain),
        "preview_s": statistics.median(ours),
        "ratio": statistics.median(one / other for one, other in zip(ours, plain, strict=True)),
    }


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # as in the worker
    began = time.process_time()
    work()
    used = time.process_time() - began
    gc.enable()
    return used


def peak_memory_mib() -> float:
    """The most that this process ever held. Not getrusage(): its figure begins with that of the parent at the start."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def peak_mib(mib: float) -> float:
    """Peak memory of a process that makes one preview and nothing else."""
    run = subprocess.run(
        [sys.executable, "-m", "bench.preview", "--mib", str(mib), "--only-preview"],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    return float(run.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-preview", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    text = manifests(arguments.mib)
    if arguments.only_preview:
        _seconds(lambda: answer(text, ALL, Known(Policy(), Facts())))
        print(peak_memory_mib())
        return
    figures = {**measure(text, arguments.rounds), "peak_mib": peak_mib(arguments.mib)}
    aims = {"ratio": AIM_RATIO, "peak_mib": AIM_MIB}
    for name, value in figures.items():
        print(f"{name:16} {value:10.2f}{f'   (aim: ≤ {aims[name]})' if name in aims else ''}")


if __name__ == "__main__":
    main()
