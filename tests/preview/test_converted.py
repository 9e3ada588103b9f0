"""The converted manifests: ready for kubectl, and as like the input as can be."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.preview import preview, read
from app.preview.converted import convert
from app.preview.diff import TEMPLATES_FILE, render_diff
from app.preview.documents import Source
from app.translate import Facts, Policy
from app.translate.facts import ASSUMED_CARD_SIZES_MIB
from tests.preview.applying import apply
from tests.preview.inputs import container, pod, shown, template, workload

CASES = sorted((Path(__file__).parent.parent / "corpus" / "cases").glob("[0-9]*.yaml"))
MANIFEST = """\
# why we need it
apiVersion: v1
kind: Pod
metadata:
    name: p   # the name
spec:
    containers:
      # the only one
      - name: c
        image: "example.org/app:1"
        command: ['sh', "-c",
          nothing]
        args:
          - |
            # no comment
            run
        resources:
            limits:
                cpu: 1
                nvidia.com/gpu: 1      # one card
                # of which
                nvidia.com/gpumem: 8000
    # and nothing else
"""
ORIGINALS = """'{"containers":{"c":{"nvidia.com/gpu":"1","nvidia.com/gpumem":"8k"}}}'"""


def converted(*texts: str | bytes) -> str:
    return convert(shown(*texts)).yaml()


def documents(text: str) -> list[object]:
    found = read(text).documents
    assert [document.error for document in found] == [None] * len(found)
    return [document.value for document in found]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "---\n---\n# a\n---\n\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name:   s}  # odd   blanks\n\n\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}",
        "apiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: s\r\n",
        "\ufeffapiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
        '{"apiVersion": "v1",\t"kind": "Service", "metadata": {"name": "s"}}{"apiVersion": "v1", "kind": "X"}',
        "apiVersion: v1\nkind: Pod\nmetadata: {name: &n p, labels: {a: *n}}\nspec: {containers: [{name: c}]}\n",
    ],
)
def test_an_input_without_gpu_comes_back_byte_for_byte(text: str) -> None:
    assert converted(text) == text


def test_comments_order_quotes_and_indentation_stay() -> None:
    text = converted(MANIFEST).partition("---\n")[2]
    kept = [line for line in MANIFEST.splitlines() if "nvidia.com" not in line]
    lines = text.splitlines()
    assert [line for line in lines if line in kept] == kept
    added = [line for line in lines if line not in kept]
    assert added == [
        "    labels:",
        '        hami.io/dra-webhook-converted: "true"',
        "    annotations:",
        f"        hami.io/dra-original-resources: {ORIGINALS}",
        "            claims:",
        "              - name: c-gpu",
        "    resourceClaims:",
        "      - name: c-gpu",
        "        resourceClaimTemplateName: gpu-1x-8000mi-0c-c466d722fc",
    ]


def test_windows_line_ends_stay() -> None:
    text = converted(MANIFEST.replace("\n", "\r\n"))
    manifest = text.partition("---\n")[2]
    assert "\n" not in manifest.replace("\r\n", "")
    assert documents(text)[1] == documents(converted(MANIFEST))[1]


def test_templates_come_first_each_once_in_its_namespace_and_without_our_mark() -> None:
    text = converted(
        yaml.safe_dump_all([workload(namespace="a"), workload(namespace="a"), workload(namespace="b"), pod()])
    )
    kinds = [(d["kind"], d["metadata"].get("namespace")) for d in documents(text)]  # type: ignore[index]
    assert kinds[:4] == [
        ("ResourceClaimTemplate", "a"),
        ("ResourceClaimTemplate", "b"),
        ("ResourceClaimTemplate", None),
        ("Deployment", "a"),
    ]
    assert "hami.io/dra-webhook-template" not in text


def test_S71_custom_kinds_and_their_templates_are_left_to_the_webhook() -> None:
    cluster = yaml.safe_dump(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "r"},
            "spec": {"headGroupSpec": {"template": template()}},
        }
    )
    assert converted(cluster) == cluster


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_converting_the_result_again_changes_nothing(case: Path) -> None:
    text = converted(case.read_bytes())
    again = shown(text)
    assert [item.outcome.value for item in again.items if item.changed is not None] == []
    assert convert(again).yaml() == text


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_document_says_what_the_report_says(case: Path) -> None:
    result = shown(case.read_bytes())
    conversion = convert(result)
    assert conversion.afresh == []
    names = [template["metadata"]["name"] for template in conversion.templates]
    assert len(names) == len(set(names))
    found = documents(conversion.yaml())[len(names) :]
    objects = [item.report()["object"] for item in result.items if item.path == ()]
    assert [one for one in found if one["kind"] != "List"] == [
        one for i, one in enumerate(objects) if one not in objects[:i]
    ]  # type: ignore[index]


def test_json_becomes_yaml_where_anything_changes() -> None:
    stream = orjson.dumps(pod()).decode() + orjson.dumps({"apiVersion": "v1", "kind": "X", "a": "x\ny\n"}).decode()
    text = converted(stream)
    found = documents(text)
    assert [one["kind"] for one in found] == ["ResourceClaimTemplate", "Pod", "X"]  # type: ignore[index]
    assert "a: |\n  x\n  y\n" in text
    assert '"kind"' not in text


def test_several_inputs_become_one_stream() -> None:
    text = converted("\ufeff" + MANIFEST, "---\napiVersion: v1\nkind: Service", '{"apiVersion": "v1", "kind": "X"}')
    assert [one["kind"] for one in documents(text)] == ["ResourceClaimTemplate", "Pod", "Service", "X"]  # type: ignore[index]
    assert "---\n---" not in text
    assert "\ufeff" not in text


def test_refused_documents_stay_and_unreadable_ones_leave_a_comment() -> None:
    denied = pod(spec={"containers": [container(limits={"nvidia.com/gpu": 99})]})
    text = converted(f"{yaml.safe_dump(denied)}---\na: [\n---\n{yaml.safe_dump(pod())}")
    assert documents(text)[1] == denied
    assert [one["kind"] for one in documents(text)] == ["ResourceClaimTemplate", "Pod", "Pod"]  # type: ignore[index]
    assert "# left out, cannot be read: line 14, column 1: " in text


def test_a_list_is_converted_in_its_place() -> None:
    items = [pod("a"), {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}, pod("b")]
    text = converted(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    _, found = documents(text)
    assert [one["kind"] for one in found["items"]] == ["Pod", "Service", "Pod"]  # type: ignore[index]
    assert "nvidia.com/gpu:" not in text


def diffed(*sources: Source) -> dict[str, str]:
    result = preview(sources, Facts(assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB), Policy())
    conversion = convert(result)
    texts = {source.name or "stdin.yaml": source.text for source in sources}
    after = apply(render_diff(conversion), texts)
    for source, parts in conversion.sources:
        assert after[source.name or "stdin.yaml"] == "".join(part.new for part in parts)
    return after


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_diff_applies_and_gives_the_converted_file(case: Path) -> None:
    after = diffed(read(case.read_bytes(), case.name))
    assert set(after) - {TEMPLATES_FILE} == {case.name}


def test_a_diff_covers_several_files_and_nothing_that_stays() -> None:
    long = "".join(f"# {n}\n" for n in range(30))
    sources = [read(MANIFEST, "a.yaml"), read(f"{MANIFEST}---\n{long}---\n{MANIFEST}", "b.yaml"), read(long, "c.yaml")]
    diff = render_diff(convert(preview(sources, Facts(), Policy())))
    assert set(diffed(*sources)) == {"a.yaml", "b.yaml", "c.yaml", TEMPLATES_FILE}
    assert "c.yaml" not in diff
    assert "# 15" not in diff
    assert render_diff(convert(preview([read(long)], Facts(), Policy()))) == ""


def test_a_diff_loses_nothing_that_cannot_be_read() -> None:
    template = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.x }}\n"
    diff = render_diff(convert(preview([read(MANIFEST, "a.yaml"), read(template, "t.yaml")], Facts(), Policy())))
    assert "t.yaml" not in diff
    assert "+++ a.yaml" in diff


@given(
    st.lists(
        st.sampled_from([MANIFEST, "# c\n", "a: 1\n", yaml.safe_dump(pod(), default_flow_style=True)]), max_size=5
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_diff_applies(parts: list[str], newline: str, ends: bool) -> None:
    text = "---\n".join(parts).replace("\n", newline)
    diffed(read(text if ends else text.removesuffix(newline)))


def test_a_diff_of_a_json_stream_in_one_line_applies() -> None:
    line = orjson.dumps(pod()).decode()
    diffed(read(f"{line}{line}\n{line}"))
