"""CustomResourceDefinitions of cert-manager and the Prometheus operator, from their Go modules (pinned in ``crds``)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.cluster.testbed.go import environment, find_go

_MODULES = Path(__file__).parent / "crds"
_FILES = {
    "github.com/cert-manager/cert-manager": (
        "deploy/crds/cert-manager.io_certificates.yaml",
        "deploy/crds/cert-manager.io_issuers.yaml",
    ),
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}


def definitions(scratch: Path) -> list[str]:
    """The definitions as YAML texts; ``scratch`` is a folder that Go may write into."""
    module = shutil.copytree(_MODULES, scratch / "crds")
    texts = []
    for name, files in _FILES.items():
        run = subprocess.run(
            [find_go(), "mod", "download", "-json", name],
            cwd=module,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        folder = Path(json.loads(run.stdout)["Dir"])
        texts += [(folder / file).read_text() for file in files]
    return texts
