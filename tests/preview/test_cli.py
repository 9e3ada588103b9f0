"""The command line of the preview."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from app import cli
from tests.preview.inputs import container, pod, workload

DENIED = pod("denied", spec={"containers": [container(limits={"nvidia.com/gpu": 99})]})
INVALID = pod("invalid", spec={"containers": [container(limits={"nvidia.com/gpu": "0.5"})]})
BROKEN = "a: [\n"


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in ("preview", *arguments)], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(pod()))
    (tmp_path / "denied.yml").write_text(yaml.safe_dump_all([pod(), DENIED]))
    (tmp_path / "invalid.json").write_bytes(orjson.dumps(INVALID))
    (tmp_path / "broken.yaml").write_text(f"{yaml.safe_dump(pod())}---\n{BROKEN}")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "notes.txt").write_text("not read")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "more.yaml").write_text(yaml.safe_dump(workload()))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "code"),
    [("good.yaml", 0), ("deeper", 0), ("denied.yml", 1), ("invalid.json", 1), ("list.yaml", 1), ("broken.yaml", 3)],
)
@pytest.mark.parametrize("output", ["yaml", "json", "patch", "diff", "explain"])
def test_exit_codes_tell_fine_from_refused_from_unreadable(folder: Path, file: str, code: int, output: str) -> None:
    result = run(folder / file, "-o", output)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("output", ["yaml", "patch"])
@pytest.mark.parametrize("file", ["denied.yml", "invalid.json", "broken.yaml", "list.yaml"])
def test_half_a_result_is_not_printed_unless_it_is_asked_for(folder: Path, file: str, output: str) -> None:
    quiet = run(folder / file, "-o", output)
    assert quiet.stdout == ""
    assert "see --keep-going" in quiet.stderr
    going = run(folder / file, "-o", output, "--keep-going")
    assert going.stdout
    assert going.exit_code == quiet.exit_code
    assert "--keep-going" not in going.stderr


def test_json_and_explain_report_the_other_documents(folder: Path) -> None:
    report = orjson.loads(run(folder / "broken.yaml", "-o", "json").stdout)
    assert [item["outcome"] for item in report["items"]] == ["converted", "invalid"]
    assert "converted  Pod/p" in run(folder / "broken.yaml").stdout


def test_refusals_stand_on_stderr_as_compilers_print_them(folder: Path) -> None:
    file = folder / "broken.yaml"
    line = len(file.read_text().splitlines()) + 1
    assert f"error: {file}:{line}:1: did not find expected node content" in run(file, "-o", "json").stderr
    denied, invalid = folder / "denied.yml", folder / "invalid.json"
    assert f"denied: {denied}:24:9: Pod/denied: nvidia.com/gpu is 99" in run(denied, "-o", "yaml").stderr
    assert f'invalid: {invalid}: Pod/invalid: nvidia.com/gpu is "0.5"' in run(invalid, "-o", "yaml").stderr
    assert "denied: stdin:24:9: Pod/denied: " in run("-", "-o", "patch", stdin=denied.read_text()).stderr


def test_warnings_and_notes_go_to_stderr(tmp_path: Path) -> None:
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "r"},
        "spec": {"headGroupSpec": {"template": {"spec": {"containers": [container()]}}}},
    }
    trial = pod(metadata={"generateName": "trial-", "annotations": {"hami.io/gpu-scheduler-policy": "spread"}})
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump_all([cluster, trial]))
    result = run(file, "-o", "yaml")
    assert result.exit_code == 0
    said = result.stderr.splitlines()
    assert said == [
        (
            f"note: {file}:7:5: RayCluster/r spec.headGroupSpec.template: the object stays as it is: "
            "its operator reads it, the webhook converts its pods (S71)"
        ),
        f'warning: {file}:21:5: Pod/trial-: hami.io/gpu-scheduler-policy: "spread" has no effect with DRA',
        f"note: {file}:22:3: Pod/trial-: has a generateName, so kubectl create must be used, not apply",
    ]


def test_warnings_stand_where_the_pod_or_the_object_has_what_they_are_about() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: w
    annotations:
      nvidia.com/use-gputype: A100
  spec:
    template:
      metadata:
        annotations:
          hami.io/gpu-scheduler-policy: spread
      spec:
        containers:
        - {name: main, resources: {limits: {nvidia.com/gpu: 1}}}
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: q}
  spec:
    hard: {requests.nvidia.com/gpu: 1}
"""
    told = [line.split(" ")[1] for line in run("-", "-o", "yaml", stdin=text).stderr.splitlines()]
    assert told == ["stdin:14:11:", "stdin:9:7:", "stdin:22:12:"]
    as_json = orjson.dumps(yaml.safe_load(text))
    told = [line.split(" ")[1] for line in run("-", "-o", "yaml", stdin=as_json).stderr.splitlines()]
    assert told == ["stdin:"] * 3


def test_standard_input_is_read_by_default_and_as_a_dash() -> None:
    text = yaml.safe_dump(pod())
    assert run("-o", "yaml", stdin=text).stdout == run("-", "-o", "yaml", stdin=text).stdout != ""
    assert "error: stdin:2:1: " in run("-o", "json", stdin="a: 1\na: 1\n").stderr


def test_directories_are_read_as_kubectl_reads_them(folder: Path) -> None:
    files = [item["source"]["file"] for item in orjson.loads(run(folder, "-o", "json").stdout)["items"]]
    assert list(dict.fromkeys(files)) == [
        str(folder / name) for name in ("broken.yaml", "denied.yml", "good.yaml", "invalid.json", "list.yaml")
    ]
    deeper = orjson.loads(run(folder, "-R", "-o", "json").stdout)["items"]
    assert str(folder / "deeper" / "more.yaml") in [item["source"]["file"] for item in deeper]


@pytest.mark.parametrize("file", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_a_kustomization_is_left_to_kustomize(tmp_path: Path, file: str) -> None:
    """Its other files are patches and parts, which are no manifests or, worse, look like some."""
    base, overlay = tmp_path / "base", tmp_path / "my overlay"
    for folder in (base, overlay):
        folder.mkdir()
        (folder / "deployment.yaml").write_text(yaml.safe_dump(workload()))
    (overlay / file).write_text("resources: [../base]\npatches: [{path: deployment.yaml}]\n")
    said = (
        f"error: {overlay}: a kustomization: only kustomize can put its patches and bases together "
        f"(let it do that: kubectl kustomize '{overlay}' | hami-dra-webhook preview -)"
    )
    for given in (overlay, overlay / file):
        result = run(given, "-o", "yaml")
        assert (result.exit_code, result.stdout) == (3, "")
        assert said in result.stderr.splitlines()
    both = run(tmp_path, "-R", "-o", "json")
    assert both.exit_code == 3
    assert [item["outcome"] for item in orjson.loads(both.stdout)["items"]] == ["converted", "invalid"]
    assert said in both.stderr.splitlines()


@pytest.mark.parametrize("output", ["yaml", "json", "patch", "diff", "explain"])
def test_a_file_may_have_a_name_that_is_no_text(tmp_path: Path, output: str) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.yaml")
    file.write_text(yaml.safe_dump_all([pod(), INVALID]))
    result = run("--keep-going", "-o", output, tmp_path)
    assert (result.exit_code, r"caf\udce9.yaml" in result.output or r"caf\351.yaml" in result.output) == (1, True)


def test_a_link_that_leads_back_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod()))
    (tmp_path / "again").symlink_to(tmp_path)
    assert orjson.loads(run(tmp_path, "-R", "-o", "json").stdout)["summary"]["converted"] == 1


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    missing = run(tmp_path / "nowhere.yaml", "-o", "json")
    assert missing.exit_code == 3
    assert f"error: {tmp_path / 'nowhere.yaml'}: cannot be opened: No such file or directory" in missing.stderr
    empty = run(tmp_path, "-o", "json")
    assert (empty.exit_code, "no .yaml, .yml, .json file in it" in empty.stderr) == (3, True)
    assert orjson.loads(empty.stdout)["summary"]["invalid"] == 1


def test_a_file_of_50_mib_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    with file.open("wb") as handle:
        handle.truncate(50 << 20)
    result = run(file, "-o", "json")
    assert (result.exit_code, "more than 7 MiB" in result.stderr) == (3, True)


def test_wrong_usage_is_2(tmp_path: Path) -> None:
    assert run("-o", "xml").exit_code == 2
    assert run("--nonsense").exit_code == 2
    config = tmp_path / "config.yaml"
    config.write_text("nodeNam: deny\n")
    result = run("--config", config, stdin="")
    assert result.exit_code == 2
    assert "nodeNam" in result.stderr


def test_settings_and_profiles_are_taken_from_files(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("resourceNames: {count: nvidia.com/vgpu}\n")
    report = orjson.loads(run(folder / "good.yaml", "--config", config, "-o", "json").stdout)
    assert report["items"][0]["pod"]["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 1}
    profile = tmp_path / "profile.toml"
    profile.write_text('name = "mine"\n')
    result = run(folder / "good.yaml", "--driver-profile", profile)
    assert (result.exit_code, str(profile) in result.stderr) == (2, True)


SLICES = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: hami-core-gpu.project-hami.io
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices:
    - name: gpu-0
      allowMultipleAllocations: true
      attributes: {type: {string: hami-gpu}}
      capacity: {memory: {value: 20Gi}, cores: {value: "100"}}
"""


def test_S38_slices_tell_the_sizes_of_the_cards(tmp_path: Path) -> None:
    half = yaml.safe_dump(pod(spec={"containers": [container(limits={"nvidia.com/gpumem-percentage": 50})]}))
    slices = tmp_path / "slices.yaml"
    slices.write_text(SLICES)
    known = run("-", "--slices", slices, "-o", "yaml", stdin=half)
    assert (known.stdout.count("memory: "), "memory: 10Gi" in known.stdout or "memory: 10240Mi" in known.stdout) == (
        1,
        True,
    )
    assert "assumed" not in known.stderr
    unknown = run("-", "-o", "yaml", stdin=half)
    assert "assumed: 15360, 23028" in unknown.stderr


def test_bad_slices_are_said(tmp_path: Path) -> None:
    for text, words in ((BROKEN, "did not find"), (SLICES.replace("  pool:", "  pond:"), "not ResourceSlices")):
        slices = tmp_path / "slices.yaml"
        slices.write_text(text)
        result = run("-", "--slices", slices, stdin="")
        assert (result.exit_code, words in result.stderr) == (3, True), result.stderr


def test_without_a_terminal_nothing_is_coloured(folder: Path) -> None:
    command = [sys.executable, "-m", "app", "preview", str(folder / "good.yaml")]
    result = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "FORCE_COLOR": ""})
    assert b"\x1b" not in result.stdout
    assert b"converted  Pod/p" in result.stdout


def test_it_is_a_plugin_of_kubectl_too() -> None:
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    help_text = subprocess.run(
        ["kubectl-hami_dra", "preview", "--help"], capture_output=True, check=True, text=True, env=environment
    ).stdout
    assert "Usage: kubectl hami-dra preview" in help_text
    version = subprocess.run(
        ["hami-dra-webhook", "version"], capture_output=True, check=True, text=True, env=environment
    )
    assert version.stdout.startswith("hami-dra-webhook 0.")


def test_flags_of_serve_become_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []

    def serve(settings: object) -> int:
        seen.append(settings)
        return 7

    monkeypatch.setattr("app.server.run.serve", serve)
    (tmp_path / "config.yaml").write_text("server: {port: 1, opsPort: 2}\n")
    flags = (
        f"--config {tmp_path}/config.yaml --kubeconfig k --context c --tls-cert a.pem --tls-key b.pem --host h --port 3"
    )
    result = CliRunner().invoke(cli.app, ["serve", *flags.split(), "--ops-host", "o", "--standalone"])
    assert result.exit_code == 7, result.output
    (settings,) = seen
    assert (settings.server.host, settings.server.port) == ("h", 3)
    assert (settings.server.ops_host, settings.server.ops_port) == ("o", 2)
    assert (settings.cluster.kubeconfig, settings.cluster.context) == (Path("k"), "c")
    assert (settings.server.tls.cert_file, settings.server.tls.key_file) == (Path("a.pem"), Path("b.pem"))
    assert settings.cluster.standalone is True
    assert CliRunner().invoke(cli.app, ["serve"]).exit_code == 7
    assert seen[1].cluster.standalone is False
