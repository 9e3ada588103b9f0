"""Files as people write them come back as they wrote them, but for what converts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.preview import read
from app.preview.converted import convert
from app.preview.documents import Source
from app.preview.nodes import Kind, Node
from app.preview.workloads import manifests
from tests.preview.inputs import shown
from tests.preview.styles import write

CHECK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = st.sampled_from(["web", "notebook", "train"])
LIMITS = st.sampled_from(
    [
        {"nvidia.com/gpu": 1},
        {"cpu": 2, "nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000},
        {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "8k", "nvidia.com/gpucores": 30, "memory": "2Gi"},
    ]
)
PLAIN = st.sampled_from([{}, {"cpu": "1"}, {"cpu": 1, "memory": "1Gi"}])
SCRIPTS = st.sampled_from(["echo one\n", "echo one\necho two\n", "a: b\n\n  c\n", "no newline\nat the end"])
_COMMENT = re.compile(r"(?m)(?<!\S)# ?[a-z{].*$")


@st.composite
def containers(draw: st.DrawFn, limits: st.SearchStrategy[Any]) -> dict[str, Any]:
    container: dict[str, Any] = {"name": draw(NAMES), "image": "example.org/app:1"}
    if draw(st.booleans()):
        container["args"] = ["-c", draw(SCRIPTS)]
    if draw(st.booleans()):
        container["env"] = [{"name": "SCRIPT", "value": draw(SCRIPTS)}, {"name": "MODE", "value": "on"}]
    both = draw(limits)
    container["resources"] = {"limits": both, "requests": dict(both)} if draw(st.booleans()) else {"limits": both}
    return {key: container[key] for key in draw(st.permutations(list(container)))}


@st.composite
def objects(draw: st.DrawFn, limits: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A Pod, a Deployment, a ConfigMap with a script, or a List of such."""
    metadata: dict[str, Any] = {"name": draw(NAMES)}
    if draw(st.booleans()):
        metadata["annotations"] = {"example.org/why": draw(SCRIPTS)}
    kind = draw(st.sampled_from(["Pod", "Deployment", "ConfigMap", "List"]))
    if kind == "List":
        return {"apiVersion": "v1", "kind": kind, "items": draw(st.lists(objects(limits), min_size=1, max_size=2))}
    if kind == "ConfigMap":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"run.sh": draw(SCRIPTS)}}
    pod = {"containers": draw(st.lists(containers(limits), min_size=1, max_size=2, unique_by=lambda one: one["name"]))}
    if kind == "Pod":
        return {"metadata": metadata, "apiVersion": "v1", "kind": kind, "spec": pod}
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "replicas": 2, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@st.composite
def files(draw: st.DrawFn, limits: st.SearchStrategy[Any]) -> str:
    """A file of one to three documents, each comment with a number of its own."""
    text = draw(st.sampled_from(["", "---\n", "# head\n", "# head\n---\n"]))
    for number in range(draw(st.integers(1, 3))):
        if number:
            text += draw(st.sampled_from(["---\n", "--- # next\n", "\n---\n\n", "---\n# empty\n---\n"]))
        text += write(draw, draw(objects(limits)), anchors=True)
    text += draw(st.sampled_from(["", "# end\n", "---\n", "\n\n"]))
    numbers = iter(range(10_000))
    return _COMMENT.sub(lambda match: f"{match[0]} {next(numbers)}", text)


@st.composite
def as_saved(draw: st.DrawFn, text: str) -> str:
    """The text as editors save it: blanks at line ends, lines of Windows, a byte order mark, no last newline."""
    lines = text.split("\n")
    if "|" not in text and draw(st.booleans()):  # in a block they would be part of the text
        lines = [f"{line}{draw(st.sampled_from(['', '', ' ', '   ']))}" for line in lines]
    text = "\n".join(lines)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text


def comments(text: str) -> dict[int, str]:
    """Comments by their place."""
    return {match.start(): match[0].rstrip() for match in _COMMENT.finditer(text)}


def conversions(source: Source) -> Iterator[tuple[int, int]]:
    """From where to where a conversion may take something away: the lines with the ``resources`` of containers."""

    def look(node: Node, offset: int) -> Iterator[tuple[int, int]]:
        for key, value in node.pairs if node.kind is Kind.MAPPING else ():
            if key.text == "resources":
                end = source.text.find("\n", offset + value.end)
                yield offset + value.start, len(source.text) if end < 0 else end
        for child in node.children:
            yield from look(child, offset)

    for document in source.documents:
        assert document.root is not None
        yield from look(document.root, document.start)


def objects_in(text: str) -> list[Any]:
    """Every object that a text holds, also inside Lists, as kubectl reads it."""
    found = read(text).documents
    assert [document.error for document in found] == [None] * len(found)
    return [one for document in found for _, one in manifests(document.value)]


@given(files(PLAIN).flatmap(as_saved))
@CHECK
def test_any_file_without_gpu_comes_back_byte_for_byte(text: str) -> None:
    result = shown(text)
    assert [item.outcome for item in result.refused] == []
    assert convert(result).yaml() == text
    assert convert(shown(text.encode())).yaml().encode() == text.encode()


@given(files(LIMITS).flatmap(as_saved))
@CHECK
def test_only_what_converts_changes(text: str) -> None:
    result = shown(text)
    conversion = convert(result)
    assert conversion.afresh == []
    printed = conversion.yaml()
    if not conversion.templates:
        assert printed == text
        return
    ((source, parts),) = conversion.sources
    assert "".join(part.old for part in parts) == text
    after = "".join(part.new for part in parts)
    assert ("\r\n" in after, "\n" in after.replace("\r\n", "")) == ("\r\n" in text, "\r\n" not in text)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert after.endswith("\n") == text.endswith("\n")
    assert objects_in(after) == [item.report()["object"] for item in result.items]
    kept, may_go = iter(comments(after).values()), list(conversions(source))
    for where, comment in comments(text).items():
        if not any(start <= where <= end for start, end in may_go):
            assert comment in kept, f"{comment} is lost, or stands elsewhere"
