"""Builds the programs of the test bed once, into a cache folder outside the work tree.

``python -m tests.cluster.testbed.build [RECIPE…]`` builds what is missing: about ten
minutes for a Kubernetes version on two cold cores, seconds with a warm Go build cache, nothing when it is there.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.testbed.go import BuildError, cache_folder, digest, environment, find_go

RECIPES = Path(__file__).parent / "recipes"
KUBERNETES = "1.36.3"
"""The version that the tests run on unless they say otherwise."""
DEFAULT = (f"kubernetes-{KUBERNETES}", "etcd", "kwok")
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)
"""What kwok does to nodes and pods, from ``kustomize/stage`` of its module; kept beside the program for the tests."""

_MODULES = {
    "kubernetes": "k8s.io/kubernetes",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok",
    "helm": "helm.sh/helm/v3",
}
_VERSION_PACKAGE = "k8s.io/component-base/version"


def folder_of(recipe: str) -> Path:
    """Where the programs of ``recipe`` are, or will be once built.

    Raises:
        BuildError: there is no such recipe.
    """
    source = RECIPES / recipe
    if not (source / "go.mod").exists():
        known = ", ".join(sorted(path.name for path in RECIPES.iterdir() if path.is_dir()))
        raise BuildError(f"no recipe {recipe!r}; there are {known}. recipe.py adds a Kubernetes version")
    tool = recipe.partition("-")[0]
    return (
        cache_folder()
        / f"{tool}-{_module_version(source, _MODULES[tool])}-{digest(source / 'go.mod', source / 'go.sum')}"
    )


def ensure(recipe: str) -> Path:
    """Build ``recipe`` unless it is there; returns the folder of its programs.

    Raises:
        BuildError: with what is missing, or what the compiler said.
    """
    folder = folder_of(recipe)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if not folder.exists():  # another run may have built it while this one waited
            _build(recipe, folder)
    return folder


def _build(recipe: str, folder: Path) -> None:
    go, tool = find_go(), recipe.partition("-")[0]
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name:
        scratch = Path(name)
        # Go wants to write go.mod, and the work tree must not change.
        module = shutil.copytree(RECIPES / recipe, scratch / "module")
        out = scratch / "out"
        for package in _packages(module, tool):
            program = out / ("etcd" if tool == "etcd" else Path(package).name)
            print(f"building {program.name} of {folder.name} …", file=sys.stderr, flush=True)  # noqa: T201
            _run(go, module, "build", f"-ldflags={_link_flags(module, tool)}", "-o", str(program), package)
        if tool == "kwok":
            source = (
                Path(_run(go, module, "list", "-m", "-f", "{{.Dir}}", _MODULES[tool]).strip()) / "kustomize" / "stage"
            )
            for stage in STAGES:
                shutil.copyfile(source / stage, out / Path(stage).name)
        out.rename(folder)


def _run(go: Path, module: Path, *arguments: str) -> str:
    run = subprocess.run([go, *arguments], cwd=module, env=environment(), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        last = "\n".join(run.stderr.strip().splitlines()[-15:])
        raise BuildError(
            f"go {arguments[0]} failed for {module.parent.name.strip('.')}. It needs the Go module proxy (or a filled "
            f"module cache), 3 GiB of memory and 6 GiB of disk. It said:\n{last}"
        )
    return run.stdout


def _packages(module: Path, tool: str) -> list[str]:
    """The Go packages that the recipe's ``tool`` lines name."""
    text = (module / "go.mod").read_text()
    return sorted(set(re.findall(rf"^(?:tool\s+|\t)({re.escape(_MODULES[tool])}\S*)$", text, re.MULTILINE)))


def _module_version(source: Path, module: str) -> str:
    found = re.search(rf"^\s*{re.escape(module)} v(\S+)", (source / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{source / 'go.mod'} does not require {module}")
    return found[1]


def _link_flags(source: Path, tool: str) -> str:
    """Strip symbols, and stamp versions: without them the API server calls itself v0.0.0, and helm renders for 1.20."""
    stamps: dict[str, str] = {}
    if tool == "kubernetes":
        version = _module_version(source, _MODULES[tool])
        major, minor, _ = version.split(".")
        parts = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
        stamps = {f"{_VERSION_PACKAGE}.{key}": value for key, value in parts.items()}
    elif tool == "helm":
        _, minor, _ = _module_version(source, "k8s.io/client-go").split(".")
        packages = ("chartutil", "lint/rules")
        stamps = {f"{_MODULES[tool]}/pkg/{package}.k8sVersionMinor": minor for package in packages}
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in stamps.items())])


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        for wanted in sys.argv[1:] or DEFAULT:
            ensure(wanted)
    except BuildError as error:
        sys.exit(f"error: {error}")
