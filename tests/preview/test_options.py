"""Other settings for one preview: what they change, and what is said of those that cannot be."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from app import cli
from app.preview.options import OptionsError, backends, settings, with_options
from app.settings import Settings
from app.translate import Policy, TranslationSettings
from tests.preview.bad import GOOD


def problems(*assignments: str, backend: str | None = None) -> list[tuple[str, str]]:
    with pytest.raises(OptionsError) as raised:
        with_options(Policy(), backend, assignments)
    return [(one.key, one.message) for one in raised.value.problems]


def test_settings_are_spelled_as_in_the_settings_file() -> None:
    changed = with_options(
        Policy(), None, ["defaultGPUNum=2", "schedulers.convert=[volcano]", "bindings.nvidia.mig=null", "nodeName=deny"]
    ).settings
    assert (changed.default_gpu_num, changed.schedulers.convert, changed.node_name) == (2, ("volcano",), "deny")
    assert changed.bindings.nvidia.mig is None
    assert changed.bindings.nvidia.driver == "hami-core-gpu.project-hami.io"


def test_a_backend_is_a_profile_with_all_that_it_serves() -> None:
    bindings = with_options(Policy(), "gpu.nvidia.com-shares", []).settings.bindings.nvidia
    assert (bindings.driver, bindings.mig, bindings.shared) == ("gpu.nvidia.com-shares",) * 3
    other = with_options(Policy(), "gpu.nvidia.com", ["bindings.nvidia.mig=null"]).settings.bindings.nvidia
    assert (other.driver, other.mig) == ("gpu.nvidia.com", None)


def test_the_rest_of_the_settings_holds() -> None:
    site = Policy(
        TranslationSettings.model_validate({"memoryFactor": 3, "resourceNames": {"count": "example.org/gpu"}})
    )
    changed = with_options(site, None, ["defaultMemory=4000"])
    assert (changed.settings.memory_factor, changed.settings.default_memory) == (3, 4000)
    assert changed.settings.resource_names.count == "example.org/gpu"
    assert with_options(site, None, []) is site


def test_all_problems_are_said_at_once() -> None:
    found = dict(problems("nodeNam=deny", "server.port=1", "defaultCores=101", "x", "wholeGpu=[", backend="nvidia"))
    assert set(found) == {"nodeNam", "server.port", "defaultCores", "x", "wholeGpu", "nvidia"}
    assert 'did you mean "nodeName"?' in found["nodeNam"]
    assert "a setting of the server" in found["server.port"]
    assert found["defaultCores"] == "should be less than or equal to 100; read 101"
    assert "KEY=VALUE" in found["x"]
    assert "not YAML" in found["wholeGpu"]
    assert "there is no such backend" in found["nvidia"]


def test_settings_that_contradict_the_profiles_are_refused() -> None:
    assert problems("nvidia.count=share") == [("nvidia.count", "share needs bindings.nvidia.shared")]
    ((key, message),) = problems("bindings.nvidia.driver=mine")
    assert (key, message.startswith("no driver profile is named 'mine'; there are: ")) == (
        "bindings.nvidia.driver",
        True,
    )


@pytest.mark.parametrize("key", ["server.tls.keyFile", "driverProfiles", "cluster.kubeconfig", "preview.maxSeconds"])
def test_nothing_that_reads_a_file_or_serves_can_be_set(key: str) -> None:
    assert problems(f"{key}=/etc/passwd")[0][1].startswith("is a setting of the server")


def test_values_of_any_length_are_bounded() -> None:
    assert "more than 500 characters" in problems("nodeName=" + "x" * 10_000)[0][1]


def test_what_can_be_chosen_is_what_the_policy_says() -> None:
    policy = Settings(preview={"enabled": False}, default_cores=30).policy  # type: ignore[arg-type]
    assert [one["name"] for one in backends(policy) if one["current"]] == ["hami-core-gpu.project-hami.io"]
    for one in backends(policy):
        assert with_options(policy, one["name"], []).settings.bindings.nvidia.driver == one["name"]
    (cores,) = [one for one in settings(policy) if one["key"] == "defaultCores"]
    assert (cores["type"], cores["value"], cores["default"], cores["maximum"]) == ("integer", 30, 0, 100)
    (driver,) = [one for one in settings(policy) if one["key"] == "bindings.nvidia.driver"]
    assert (driver["type"], "gpu.nvidia.com" in driver["choices"]) == ("choice", True)


def test_the_command_line_takes_the_same_options() -> None:
    arguments = ["preview", "-", "-o", "yaml", "--backend", "gpu.nvidia.com-memory", "--set", "memoryFactor=2"]
    result = CliRunner().invoke(cli.app, arguments, input=GOOD)
    assert "deviceClassName: gpu.nvidia.com" in result.stdout
    assert "memory: 16000Mi" in result.stdout
    wrong = CliRunner().invoke(cli.app, ["preview", "-", "--backend", "x", "--set", "nodeNam=deny"], input=GOOD)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "error: --backend x: there is no such backend" in wrong.stderr
    assert "error: --set nodeNam: is not a setting of the translation" in wrong.stderr
