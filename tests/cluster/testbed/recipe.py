"""Writes the Go recipe (``go.mod``, ``go.sum``) that builds one Kubernetes version.

``python tests/cluster/testbed/recipe.py 1.37.2`` makes ``recipes/kubernetes-1.37.2``. The recipes are checked
in, so this runs only when a version is added.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

RECIPES = Path(__file__).parent / "recipes"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


def go_mod(version: str, kubernetes: Mapping[str, list[dict[str, object]]], go: str) -> str:
    """The text of ``go.mod`` for ``version``; ``kubernetes`` is its own ``go.mod`` as ``go mod edit -json`` prints it.

    Kubernetes' ``go.mod`` points its staging modules at folders of its own repository, and Go ignores
    replacements of dependencies: the published ``v0.X.Y`` of each is named here instead.
    """
    staging = f"v0.{version.removeprefix('1.')}"
    replaced = sorted(str(entry["Old"]["Path"]) for entry in kubernetes["Replace"])  # type: ignore[index]
    required = [
        f"{entry['Path']} {entry['Version']}" for entry in kubernetes["Require"] if entry["Path"] not in replaced
    ]
    lines = ["module testbed/kubernetes", "", f"go {go}", "", "tool ("]
    lines += [f"\tk8s.io/kubernetes/cmd/{component}" for component in COMPONENTS]
    lines += [")", "", "replace ("]
    lines += [f"\t{path} => {path} {staging}" for path in replaced]
    lines += [")", "", "require (", f"\tk8s.io/kubernetes v{version}"]
    lines += [f"\t{line} // indirect" for line in required]
    return "\n".join([*lines, ")", ""])


def write_recipe(version: str) -> Path:
    """Resolve ``version`` and write its recipe; returns the folder.

    Raises:
        subprocess.CalledProcessError: when Go cannot resolve it (no such version, no network).
    """

    def go(*arguments: str) -> str:
        return subprocess.run(["go", *arguments], cwd=scratch, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        module = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
        kubernetes = json.loads(go("mod", "edit", "-json", module["GoMod"]))
        (scratch / "go.mod").write_text(go_mod(version, kubernetes, kubernetes["Go"]))
        go("mod", "tidy")
        folder = RECIPES / f"kubernetes-{version}"
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("go.mod", "go.sum"):
            (folder / file).write_text((scratch / file).read_text())
    return folder


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        if not re.fullmatch(r"1\.\d+\.\d+", wanted):
            sys.exit(f"{wanted!r} is not a Kubernetes version; write it as 1.37.2")
        print(write_recipe(wanted))  # noqa: T201
