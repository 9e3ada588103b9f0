"""Nothing that a manifest, a file name or a cluster says commands the terminal that shows it."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from app.cli import app
from app.preview.explain import print_explanation
from app.preview.printable import printable
from tests.preview.inputs import container, pod, shown, workload

EVIL = "\x1b[2J\x1b]0;x\x07\x9b31m\x7f\u202egpj.\u2066\n\tend"
GPU = "nvidia.com/gpu"


def commands(text: str, *, allowed: str = "\n") -> set[str]:
    """What a terminal would obey in a text."""
    kinds = {one: (unicodedata.category(one), unicodedata.bidirectional(one)) for one in set(text) - set(allowed)}
    turning = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    return {one for one, (category, direction) in kinds.items() if category == "Cc" or direction in turning}


def test_control_sequences_are_spelled_and_all_else_stays() -> None:
    assert printable("\x00\x1b[0m\x7f\x85\u202e\u2066") == r"\x00\x1b[0m\x7f\x85\u202e\u2066"
    assert printable("a\tb\r\nc") == r"a\tb\r\nc"
    assert printable("a\nb\r", lines=True) == "a\nb\\r"
    assert printable("\udcff") == r"\udcff"
    for text in ("grüße, 世界 \U0001f469\u200d\U0001f680 שלום \\x1b\xa0", ""):
        assert printable(text) == text
    everything = "".join(map(chr, range(0x3000)))
    assert commands(everything)
    assert commands(printable(everything)) == set()


def hostile() -> str:
    """Pods that are converted with warnings, denied, invalid, stay, and carry the sequences wherever text may be."""
    annotations = {"hami.io/gpu-scheduler-policy": EVIL, "nvidia.com/use-gputype": EVIL}
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": EVIL}]
    objects = [
        pod(EVIL, metadata={"generateName": EVIL, "namespace": EVIL, "annotations": annotations}),
        pod(EVIL, spec={"containers": [container(EVIL, {GPU: 99}), container(EVIL, env=env)]}),
        pod(EVIL, spec={"containers": [container(EVIL, {GPU: EVIL})], "schedulerName": EVIL}),
        {**workload(EVIL, f"{EVIL}/v1"), "metadata": {"name": EVIL, "annotations": annotations}},
        {"kind": EVIL},
    ]
    return "---\n".join(yaml.safe_dump(one) for one in objects) + f"---\n{{{{ {EVIL!r}\n---\na: [*x\x9b\u202e]\n"


@pytest.mark.parametrize("output", ["explain", "json", "yaml", "diff", "patch"])
def test_no_preview_commands_the_terminal(output: str, tmp_path: Path) -> None:
    file = tmp_path / "\x1b[2J\u202e.yaml"
    file.write_text(hostile())
    for given in ("-", str(file)):
        result = CliRunner().invoke(app, ["preview", "--keep-going", "-o", output, given], input=hostile())
        assert result.exit_code == 3
        assert commands(result.stderr) == set()
        words = {line.partition(":")[0] for line in result.stderr.splitlines()}
        assert words <= {"error", "denied", "invalid", "warning", "note"}, "no line is forged"
        if output == "explain":
            assert commands(result.stdout) == set()
            assert r"\x1b[2J" in result.stdout


def test_what_programs_read_keeps_every_byte() -> None:
    text = "# \u202e\u2066\n" + yaml.safe_dump(pod("p"), allow_unicode=True)
    result = CliRunner().invoke(app, ["preview", "-o", "yaml", "-"], input=text)
    assert "# \u202e\u2066\n" in result.stdout
    result = CliRunner().invoke(app, ["preview", "-o", "diff", "-"], input=text.replace("spec:", "spec: # \u202e"))
    assert "spec: # \u202e\n" in result.stdout


def test_the_explanation_of_the_endpoint_is_the_same() -> None:
    text = io.StringIO()
    print_explanation(shown(hostile()), Console(file=text, width=160, no_color=True, highlight=False))
    assert commands(text.getvalue()) == set()


@pytest.mark.parametrize("option", [["--set", f"{EVIL}=1"], ["--backend", EVIL], ["--slices", "-"]])
def test_errors_about_options_do_not_either(option: list[str]) -> None:
    result = CliRunner().invoke(app, ["preview", *option, "-"], input="a: [*x\x9b\u202e]\n")
    assert result.exit_code in (2, 3)
    assert commands(result.stderr) == set()
