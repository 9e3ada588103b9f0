"""What the page gets beside the report: each item before and after, and where it stands in the input."""

from __future__ import annotations

import json
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
