"""What is in the image, and that it serves."""

from __future__ import annotations

import json
import ssl
import stat
from pathlib import Path

import httpx

from tests.admission.reviews import review
from tests.image.build import REVISION, VERSION, Builder
from tests.image.container import Container

MIB = 1 << 20
SITE = "opt/hami-dra-webhook/lib"
LEGACY = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "legacy"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
}


def test_it_says_what_it_is_and_runs_as_nobody(builder: Builder) -> None:
    config = builder.inspect()
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["hami-dra-webhook"]
    assert {port.removesuffix("/tcp") for port in config["ExposedPorts"]} == {"10250", "8080"}
    labels = config["Labels"]
    assert labels["org.opencontainers.image.version"] == VERSION
    assert labels["org.opencontainers.image.revision"] == REVISION
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_nothing_in_it_fetches_installs_python_packages_or_compiles(root: Path) -> None:
    programs = {"pip", "pip3", "uv", "gcc", "g++", "cc", "c++", "make", "ld", "as", "git", "curl", "wget"}
    packages = {"tests", "test", "pip", "setuptools", "wheel", "ensurepip", "hatchling", "pytest", "_pytest", "mypy"}
    found = []
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        of_python = any(part.startswith("python3") for part in inside.parts)
        if of_python and path.is_dir() and path.name in packages:
            found.append(str(inside))
        if path.parent.name in {"bin", "sbin"} and path.name in programs:
            found.append(str(inside))
    assert not found


def test_nothing_of_the_repository_but_the_program_is_in_it(root: Path) -> None:
    assert not (root / "src").exists()
    (site,) = (root / SITE).glob("python3*/site-packages")
    assert {"app", "certs"} <= {path.name for path in site.iterdir()}
    assert not {"tests", "bench", "docs", "charts", "examples"} & {path.name for path in site.iterdir()}


def test_the_program_cannot_be_changed_by_its_user(root: Path) -> None:
    for path in (root / "opt").rglob("*"):
        information = path.lstat()
        assert information.st_uid == 0
        assert path.is_symlink() or not information.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_all_of_it_is_compiled(root: Path) -> None:
    (app,) = (root / SITE).glob("python3*/site-packages/app")
    sources = {path.stem for path in app.rglob("*.py")}
    compiled = {path.name.partition(".")[0] for path in app.rglob("__pycache__/*.pyc")}
    assert compiled == sources


def test_it_is_no_larger_than_it_was(root: Path) -> None:
    size = sum(path.lstat().st_size for path in (root / "opt").rglob("*") if not path.is_symlink())
    print(f"the program and its libraries: {size // MIB} MiB")  # noqa: T201 - a figure for the release notes
    assert size < 260 * MIB


def test_it_serves_as_nobody_on_a_read_only_root(container: Container, root: Path) -> None:
    seconds, used = container.serve(), container.cpu_seconds()
    memory = container.status("VmRSS")
    print(f"ready after {seconds:.2f} s, of them {used:.2f} s computing; {memory} resident")  # noqa: T201 - for the release
    assert used < 5
    assert container.status("Uid").split() == ["65532"] * 4
    assert container.status("Gid").split() == ["65532"] * 4
    mounts = Path(f"/proc/{container.pid}/mountinfo").read_text().splitlines()
    (options,) = [line.split()[5] for line in mounts if line.split()[4] == "/"]
    assert "ro" in options.split(",")
    trust = ssl.create_default_context()
    container.authority.configure_trust(trust)
    answer = httpx.post(
        f"https://127.0.0.1:{container.port}/mutate", content=review(LEGACY), verify=trust, trust_env=False
    )
    assert answer.json()["response"]["allowed"] is True
    assert answer.json()["response"]["patch"]
    assert not list((Path(f"/proc/{container.pid}/root") / "tmp").iterdir())
    assert root.exists()
    assert container.stop() == 0


def test_its_command_line_works(container: Container) -> None:
    code, output = container.run("hami-dra-webhook", "version")
    assert (code, output.split()[0]) == (0, "hami-dra-webhook")
    code, output = container.run("hami-dra-webhook", "preview", "--help")
    assert code == 0
    assert "Shows what manifests become" in output


def test_the_hooks_of_the_chart_find_their_python(container: Container) -> None:
    code, output = container.run("python3", "-c", "import json, ssl, urllib.request; print(json.dumps([1]))")
    assert (code, json.loads(output)) == (0, [1])
