"""Which certificate is served in which mode, and who writes the caBundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.server.certificates import open_source
from app.server.errors import StartError
from app.server.metrics import Metrics
from app.settings import SettingsError, Tls, load_settings
from certs.files import FileSource
from tests.certs.kit import MemoryApi
from tests.server.process import Certificates

COUNTED = 'hami_dra_webhook_certificate_changes_total{reason="files-changed",what="leaf"} 1.0'


class MountedSecret:
    """A folder as the kubelet mounts a Secret: files through ``..data``, which is exchanged as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._versions = 0
        self.write()
        for name in ("tls.crt", "tls.key"):
            (folder / name).symlink_to(f"..data/{name}")

    def write(self) -> None:
        """Another pair."""
        self._versions += 1
        fresh = self.folder / f"..2026_{self._versions}"
        fresh.mkdir()
        Certificates(fresh).issue("hami-dra-webhook.gpu.svc")
        link = self.folder / "..data_tmp"
        link.symlink_to(fresh.name)
        link.rename(self.folder / "..data")

    def tls(self, mode: str) -> Tls:
        return Tls.model_validate(
            {"mode": mode, "certFile": self.folder / "tls.crt", "keyFile": self.folder / "tls.key"}
        )


@pytest.mark.parametrize("mode", ["cert-manager", "provided"])
async def test_a_mounted_secret_is_served_and_followed_and_the_ca_bundle_is_left_to_others(
    tmp_path: Path, api: MemoryApi, mode: str
) -> None:
    metrics, mounted = Metrics(), MountedSecret(tmp_path)
    source, checks = await open_source(mounted.tls(mode), api, "gpu", metrics)
    assert isinstance(source, FileSource)
    before = source.current()
    mounted.write()
    assert source.check() == source.current() != before
    assert COUNTED in metrics.exposition().decode()
    assert list(checks) == ["certificate"]
    assert api.calls == []


@pytest.mark.parametrize("mode", ["cert-manager", "provided"])
async def test_a_pair_that_does_not_fit_fails_the_start(tmp_path: Path, api: MemoryApi, mode: str) -> None:
    mounted = MountedSecret(tmp_path)
    (tmp_path / "tls.key").unlink()
    (tmp_path / "tls.key").write_text("no key")
    with pytest.raises(StartError, match=r"tls\.key: holds no private key in PEM form"):
        await open_source(mounted.tls(mode), api, "gpu", Metrics())


async def test_without_files_the_ca_is_shared_and_readiness_asks_for_the_ca_bundle(api: MemoryApi) -> None:
    _, checks = await open_source(Tls(), api, "gpu", Metrics())
    assert list(checks) == ["certificate", "caBundle"]
    assert not checks["caBundle"]().ok


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        (
            {"mode": "self-signed", "certFile": "a", "keyFile": "b"},
            "mode self-signed makes its own certificate; leave out certFile and keyFile, or the mode",
        ),
        ({"mode": "cert-manager"}, "mode cert-manager reads files: give certFile and keyFile"),
        ({"mode": "provided"}, "mode provided reads files: give certFile and keyFile"),
    ],
)
def test_a_mode_that_does_not_fit_the_files_is_refused(tls: Mapping[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {"server": {"tls": tls}}, {})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "tls",
    [{"secretName": "No/Name"}, {"caDays": 3}, {"leafHours": 400}, {"extraNames": ["a b"]}, {"clusterDomain": ""}],
)
def test_names_and_lives_that_cannot_be_are_refused(tls: Mapping[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(tls))):
        load_settings(None, {"server": {"tls": tls}}, {})
