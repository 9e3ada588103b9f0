"""Whatever is put in, the program ends soon, within bounds of memory, and says what it could not read."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import orjson
import pytest

from tests.preview.bad import BAD, GOOD, HOSTILE
from tests.preview.terminal import PROGRAM

MEMORY_BYTES = 1 << 30
"""Address space, which is about three times what is used."""
CPU_SECONDS = 20
"""Of processor time, which a busy machine does not change."""


def bounded(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the preview; the kernel refuses more memory, and ends it when it has computed too long."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    command = [*PROGRAM, "preview", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good file among bad and hostile ones, one of 50 MiB, and one without an end."""
    made = tmp_path_factory.mktemp("hostile")
    for name, text in HOSTILE.items():
        (made / f"{name}.yaml").write_text(text)
    for bad in BAD:
        (made / f"{bad.name}.yml").write_bytes(bad.text)
    (made / "good.yaml").write_bytes(GOOD)
    with (made / "50 MiB.yaml").open("wb") as large:
        large.truncate(50 << 20)
    (made / "endless.yaml").symlink_to("/dev/zero")
    return made


def test_the_report_holds_the_good_beside_the_bad(folder: Path) -> None:
    result = bounded(folder, "-o", "json")
    assert result.returncode == 3, result.stderr[-2000:]
    report = orjson.loads(result.stdout)
    files = {item["source"]["file"] for item in report["items"] if item["outcome"] == "invalid"}
    assert files == {str(path) for path in folder.iterdir()} - {str(folder / "good.yaml")}
    assert report["summary"]["converted"] == 1 + sum(bad.converted for bad in BAD)
    assert result.stderr.count("error: ") == len(report["items"]) - report["summary"]["converted"]
    assert "Traceback" not in result.stderr


def test_the_explanation_holds_the_good_beside_the_bad(folder: Path) -> None:
    result = bounded(folder, "-o", "explain")
    assert result.returncode == 3, result.stderr[-2000:]
    assert result.stdout.count("converted  Pod/good") == 1 + sum(bad.converted for bad in BAD)
    assert result.stderr == ""


@pytest.mark.parametrize("output", ["yaml", "patch"])
def test_what_could_be_applied_is_not_printed(folder: Path, output: str) -> None:
    result = bounded(folder, "-o", output)
    assert (result.returncode, result.stdout) == (3, "")
    assert "nothing is printed" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_an_input_without_an_end_is_cut_off(path: str) -> None:
    result = bounded(path, "-o", "json")
    assert (result.returncode, "more than 7 MiB" in result.stderr) == (3, True)
