"""Settings that cannot be used are refused, all of them at once, each with where it was read and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.settings import SettingsError, load_settings


def problems(
    yaml: str = "",
    overrides: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path,
) -> list[str]:
    """Every problem, with the file's name without its folder."""
    file = folder / "settings.yaml"
    file.write_text(yaml)
    with pytest.raises(SettingsError) as caught:
        load_settings(file, overrides or {}, environment or {})
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        (
            "nodeNmae: deny",
            'settings.yaml: nodeNmae: is not a setting; did you mean "nodeName"? Allowed here: resourceNames',
        ),
        ("server: {ops_port: 1}", 'settings.yaml: server.ops_port: is not a setting; did you mean "opsPort"?'),
        ("server: {tls: {cert: x}}", 'settings.yaml: server.tls.cert: is not a setting; did you mean "certFile"?'),
        (
            "options: {tolerations: [{key: a}, {opreator: Exists}]}",
            'settings.yaml: options.tolerations[1].opreator: is not a setting; did you mean "operator"?',
        ),
        ("nodeName: dney", """settings.yaml: nodeName: should be 'pin' or 'deny'; read 'dney', did you mean "deny"?"""),
        ("memoryFactor: 0", "settings.yaml: memoryFactor: should be greater than or equal to 1; read 0"),
        ("server: 7", "settings.yaml: server: should be a valid dictionary or instance of Server; read 7"),
        (
            "schedulers: {convert: volcano}",
            "settings.yaml: schedulers.convert: should be a valid tuple; read 'volcano'",
        ),
        (
            "schedulerVersion: 1.30",
            "schedulerVersion: should be a valid string; read 1.3, which is a number: put the text in quotes",
        ),
        (
            "logging: {level: on}",
            "'info', 'warning' or 'error'; read True, which is a switch: put the text in quotes",
        ),
        (
            "server: {tls: {certFile: a.pem}}",
            "settings.yaml: server.tls: keyFile is missing: a certificate and its key are given together",
        ),
        (
            "resourceNames: {memory: nvidia.com/gpu}",
            "settings.yaml: resourceNames: nvidia.com/gpu is given to more than one resource",
        ),
        (
            "nodeName: pin\nmemoryFactor: 1\nnodeName: deny",
            'line 3: key "nodeName" is given twice; the other one is in line 1',
        ),
        ("server: {port: 1, port: 2}", 'settings.yaml: line 1: key "port" is given twice'),
        ("- a\n- b", "settings.yaml: must be a mapping of settings, such as nodeName: deny; read ['a', 'b']"),
        ("nodeName: [", "settings.yaml: is not YAML: "),
        ("a: 1\n---\nb: 2", "settings.yaml: is not YAML: expected a single document"),
        (
            "bindings: {nvidia: {driver: nope}}",
            "settings.yaml: bindings.nvidia.driver: no driver profile is named 'nope'; there are: gpu.example.com",
        ),
    ],
)
def test_a_problem_says_where_what_was_read_and_what_is_allowed(yaml: str, problem: str, tmp_path: Path) -> None:
    found = problems(yaml, folder=tmp_path)
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("HAMI_DRA_NODENAME", "deny", 'is not a setting; did you mean "HAMI_DRA_NODE_NAME"?'),
        ("HAMI_DRA_SERVER__PROT", "1", 'is not a setting; did you mean "HAMI_DRA_SERVER__PORT"?'),
        ("HAMI_DRA_SERVR__PORT", "1", 'is not a setting; did you mean "HAMI_DRA_SERVER__PORT"?'),
        (
            "HAMI_DRA_SERVER__PORT",
            "many",
            "should be a valid integer, unable to parse string as an integer; read 'many'",
        ),
        (
            "HAMI_DRA_DRIVER_PROFILES",
            "a.toml",
            "must be JSON (Expecting value: line 1 column 1 (char 0)); read 'a.toml'",
        ),
        ("HAMI_DRA_OPTIONS__TOLERATIONS", '[{"kye": "a"}]', '([0].kye): is not a setting; did you mean "key"?'),
    ],
)
def test_a_variable_is_named(name: str, text: str, problem: str, tmp_path: Path) -> None:
    found = problems(environment={name: text}, folder=tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"environment variable {name}")
    assert problem in found[0]


def test_a_flag_is_named(tmp_path: Path) -> None:
    found = problems(overrides={"server": {"port": -1}, "clutser": {}}, folder=tmp_path)
    assert found[0].startswith('command line: clutser: is not a setting; did you mean "cluster"?')
    assert found[1] == "command line: server.port: should be greater than or equal to 0; read -1"


def test_all_problems_of_all_sources_come_at_once(tmp_path: Path) -> None:
    found = problems(
        "nodeName: x\nmemoryFactor: 0\nunknown: 1\n",
        {"server": {"port": 99999}},
        {"HAMI_DRA_UNKNOWN": "1", "HAMI_DRA_DEFAULT_CORES": "101"},
        folder=tmp_path,
    )
    assert len(found) == 6


def test_the_text_of_the_error_lists_them() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {"memoryFactor": 0, "defaultCores": 101}, {})
    assert str(caught.value).splitlines() == [
        "2 problems in the settings:",
        "  - command line: memoryFactor: should be greater than or equal to 1; read 0",
        "  - command line: defaultCores: should be less than or equal to 100; read 101",
    ]


def test_problems_of_driver_profiles_name_the_file_and_the_key(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('name = "x"\nunknown = 1\n')
    found = problems(f"driverProfiles: [{bad}, {tmp_path}/missing.toml]", folder=tmp_path)
    assert any(p.startswith("driverProfiles: bad.toml: unknown: ") for p in found)
    assert any(p.startswith("driverProfiles: missing.toml: cannot be read: ") for p in found)
