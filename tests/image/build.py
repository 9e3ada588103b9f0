"""Builds the image on a Debian base, without registry and daemon."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cluster.testbed.go import cache_folder

JSON = Any

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/hami-dra-webhook:test"
VERSION, REVISION = "1.2.3", "0123456789abcdef"
_BASE = "localhost/base:bookworm"
_SUITE = "bookworm"
_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"


def base_archive() -> Path:
    """The base's file system as an archive; made once per machine."""
    archive = cache_folder() / f"image-base-{_SUITE}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        scratch = archive.with_name(f".{os.getpid()}-{archive.name}")
        sources = Path("/etc/apt/sources.list.d/debian.sources")
        mirror = [str(sources)] if sources.exists() else []
        subprocess.run(
            ["mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(scratch), *mirror], check=True
        )
        scratch.rename(archive)
    return archive


class Builder:
    """Runs buildah with a storage of its own in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._containers: list[str] = []

    def build(self) -> None:
        """Build the image as the release does, with another base."""
        base = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", base, str(base_archive()), "/")
        self._buildah("commit", "--quiet", "--rm", base, _BASE)
        arguments = {"BASE": _BASE, "VERSION": VERSION, "REVISION": REVISION}
        self._buildah(
            "build",
            *(f"--build-arg={name}={value}" for name, value in arguments.items()),
            *self._secrets(),
            f"--tag={IMAGE}",
            str(ROOT),
        )

    def mount(self) -> Path:
        """The file system of a new container."""
        container = self._buildah("from", "--pull-never", IMAGE)
        self._containers.append(container)
        return Path(self._buildah("mount", container))

    def inspect(self) -> JSON:
        """What the image says of itself: user, entry point, labels."""
        return json.loads(self._buildah("inspect", "--type=image", IMAGE))["OCIv1"]["config"]

    def remove(self) -> None:
        """Give the disk back."""
        for container in self._containers:
            self._buildah("umount", container)
            self._buildah("rm", container)
        self._buildah("rmi", "--all", "--force")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _secrets(self) -> list[str]:
        """What pip needs behind a proxy or a mirror, as this machine has it."""
        secrets = []
        authorities = os.environ.get("PIP_CERT") or ssl.get_default_verify_paths().cafile
        if authorities:
            secrets.append(f"--secret=id=ca.crt,src={authorities}")
        index = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
            capture_output=True,
            text=True,
            check=False,
        )
        if index.returncode == 0:
            configuration = self._folder / "pip.conf"
            configuration.write_text(f"[global]\nindex-url = {index.stdout.strip()}\n")
            secrets.append(f"--secret=id=pip.conf,src={configuration}")
        return secrets

    def _buildah(self, *arguments: str) -> str:
        folders = [f"--root={self._folder / 'storage'}", f"--runroot={self._folder / 'run'}", "--storage-driver=vfs"]
        run = subprocess.run(
            ["buildah", *folders, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
        )
        if run.returncode != 0:
            last = "\n".join((run.stdout + run.stderr).splitlines()[-30:])
            raise AssertionError(f"buildah {arguments[0]} failed:\n{last}")
        return run.stdout.strip()
