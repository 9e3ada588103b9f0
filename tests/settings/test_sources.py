"""Flags beat the environment, which beats the file, which beats the defaults; and every spelling is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import SettingsError, load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text("server: {port: 1, opsPort: 1, drainSeconds: 1}\nnodeName: deny\n")
    return path


def test_the_first_source_that_has_a_value_wins(file: Path) -> None:
    environment = {"HAMI_DRA_SERVER__PORT": "2", "HAMI_DRA_SERVER__OPS_PORT": "2"}
    settings = load_settings(file, {"server": {"port": 3, "opsPort": None}}, environment)
    server = settings.server
    assert (server.port, server.ops_port, server.drain_seconds, server.ops_host) == (3, 2, 1, "::")
    assert settings.node_name == "deny"


def test_a_flag_that_was_not_given_is_none_and_changes_nothing(file: Path) -> None:
    settings = load_settings(file, {"server": {"tls": {"certFile": None, "keyFile": None}}, "cluster": None}, {})
    assert settings == load_settings(file, {}, {})


def test_variables_hold_words_json_and_null() -> None:
    environment = {
        "HAMI_DRA_SCHEDULERS__CONVERT": '["volcano", "kai"]',
        "HAMI_DRA_MIG_ALIASES": '{"1g.5gb": "1g.6gb"}',
        "HAMI_DRA_BINDINGS__NVIDIA__MIG": "null",
        "HAMI_DRA_CLUSTER__STANDALONE": "true",
        "HAMI_DRA_DEFAULT_GPU_NUM": "2",
        "HAMI_DRA_OPTIONS__TOLERATIONS": '[{"key": "gpu", "operator": "Exists"}]',
        "OTHER": "x",
    }
    settings = load_settings(environment=environment)
    assert settings.schedulers.convert == ("volcano", "kai")
    assert settings.mig_aliases == {"1g.5gb": "1g.6gb"}
    assert settings.bindings.nvidia.mig is None
    assert settings.cluster.standalone is True
    assert settings.default_gpu_num == 2
    assert settings.options.tolerations[0].key == "gpu"


def test_variables_that_kubernetes_makes_for_services_are_no_settings() -> None:
    environment = {
        "HAMI_DRA_WEBHOOK_SERVICE_HOST": "10.0.0.1",
        "HAMI_DRA_WEBHOOK_SERVICE_PORT": "443",
        "HAMI_DRA_WEBHOOK_SERVICE_PORT_HTTPS": "443",
        "HAMI_DRA_WEBHOOK_PORT": "tcp://10.0.0.1:443",
        "HAMI_DRA_WEBHOOK_PORT_443_TCP": "tcp://10.0.0.1:443",
        "HAMI_DRA_WEBHOOK_PORT_443_TCP_PROTO": "tcp",
        "HAMI_DRA_WEBHOOK_PORT_443_TCP_ADDR": "10.0.0.1",
    }
    assert load_settings(environment=environment) == load_settings(environment={})


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    empty = tmp_path / "settings.yaml"
    empty.write_text("# nothing yet\n")
    assert load_settings(empty, {}, {}) == load_settings(environment={})


def test_a_site_can_bring_its_own_driver_profile(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'name = "gpu.mine.io"\ndriver = "gpu.mine.io"\ntitle = "mine"\ndeviceClass = "gpu.mine.io"\n'
        'sharing = "exclusive"\nprivileged = "allow"\n'
    )
    overrides = {
        "driverProfiles": [str(profile)],
        "bindings": {"nvidia": {"driver": "gpu.mine.io", "mig": "gpu.nvidia.com"}},
    }
    settings = load_settings(None, overrides, {})
    assert settings.policy.card_profile.title == "mine"


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = load_settings(environment={})
    with pytest.raises(ValueError, match="frozen"):
        settings.server.port = 1  # type: ignore[misc]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read: .*No such file"):
        load_settings(tmp_path / "nowhere.yaml", {}, {})
