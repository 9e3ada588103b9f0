"""What the page gets beside the report: each item before and after, and where it stands in the input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.preview.converted import convert
from app.preview.sides import sides
from tests.preview.inputs import pod, shown, template, workload

WORKLOADS = sorted((Path(__file__).parents[2] / "examples" / "workloads").glob("*.yaml"))
LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: s}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - name: c
      image: example.org/a:1
      resources:
        limits:
          nvidia.com/gpu: 1
          nvidia.com/gpumem: 16Gi
"""


def of(text: str) -> list[dict[str, Any]]:
    """The sides of an input."""
    preview = shown(text)
    return sides(preview, convert(preview))


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_document_alone_is_its_text_and_what_the_command_line_prints(path: Path) -> None:
    text = path.read_text()
    preview = shown(text)
    converted = convert(preview)
    (side,) = sides(preview, converted)
    assert (side["subject"], side["before"]) == ("object", text)
    if side["after"] is None:
        assert converted.yaml() == text
    else:
        assert f"{side['templates']}---\n{side['after']}" == converted.yaml()


def test_documents_are_kept_apart() -> None:
    first, second = yaml.safe_dump(pod("a")), yaml.safe_dump(pod("b", spec={"containers": []}))
    one, other = of(f"# first\n{first}---\n{second}")
    assert (one["before"], other["before"]) == (f"# first\n{first}", second)
    assert (one["line"], other["line"], other["after"]) == (2, first.count("\n") + 3, None)


def test_items_of_a_list_are_written_each_on_its_own() -> None:
    service, refused = of(LIST)
    assert service["before"] == "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n"
    assert [service["line"], service["lastLine"]] == [4, 6]
    assert [refused["line"], refused["lastLine"], refused["after"]] == [7, 17, None]


def test_what_cannot_be_read_is_shown_as_it_is() -> None:
    text = "kind: Pod\nmetadata:\n\tname: x\n"
    (side,) = of(text)
    assert (side["line"], side["after"], side["before"]) == (1, None, text)


def test_json_is_written_as_yaml() -> None:
    (side,) = of(json.dumps(pod()))
    assert yaml.safe_load(side["before"]) == pod()
    assert "resourceClaims" in yaml.safe_load(side["after"])["spec"]


class Counted(str):
    """A text that counts the characters that are looked through or copied."""

    __slots__ = ("looked_at",)
    looked_at: int

    def count(self, sub: str, start: int = 0, end: int | None = None, /) -> int:  # type: ignore[override]
        end = len(self) if end is None else end
        self.looked_at += end - start
        return super().count(sub, start, end)

    def __getitem__(self, part: Any) -> str:
        found = super().__getitem__(part)
        self.looked_at += len(found)
        return found


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_a_long_list_is_not_read_again_for_each_of_its_items(write: Callable[[Any], str]) -> None:
    pods = [pod(f"p-{number}") for number in range(200)]
    preview = shown(write({"apiVersion": "v1", "kind": "List", "items": pods}))
    (source,) = preview.sources
    converted = convert(preview)
    source.text = text = Counted(source.text)
    text.looked_at = 0
    assert len(sides(preview, converted)) == len(pods)
    assert text.looked_at <= 3 * len(text)


def test_many_json_documents_know_their_lines() -> None:
    texts = [json.dumps(pod(f"p-{number}"), indent=1) for number in range(3)]
    lines = [texts[0].count("\n") + 1, texts[1].count("\n") + 2]
    found = of(f"\n{texts[0]}\n{texts[1]}\n\n{texts[2]}\n")
    assert [one["line"] for one in found] == [2, 2 + lines[0], 2 + sum(lines)]


def test_what_an_operator_reads_stays_and_its_pods_are_shown() -> None:
    text = yaml.safe_dump(workload("Thing", "example.org/v1"))
    (side,) = of(text)
    assert side["subject"] == "pod"
    assert yaml.safe_load(side["before"])["spec"] == template()["spec"]
    assert "resourceClaims" in yaml.safe_load(side["after"])["spec"]
    assert "kind: ResourceClaimTemplate" in side["templates"]


def test_lines_end_as_in_the_input() -> None:
    (side,) = of(WORKLOADS[0].read_text().replace("\n", "\r\n"))
    assert side["after"].count("\n") == side["after"].count("\r\n")


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_item_that_is_no_manifest_shows_itself_and_not_its_list(form: str) -> None:
    """Else a list of n of them is sent n times."""
    rest = [{"metadata": {"name": f"p{number}"}} for number in range(3)]
    value = {"apiVersion": "v1", "kind": "List", "items": rest}
    text = json.dumps(value) if form == "json" else yaml.safe_dump(value)
    assert [yaml.safe_load(one["before"]) for one in of(text)] == rest
