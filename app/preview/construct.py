"""Values of a parsed document, as kubectl sends them: JSON, aliases written out, merge keys applied."""

from __future__ import annotations

from typing import Any

from app.preview.errors import Code, ManifestError
from app.preview.hints import RENDER_FIRST
from app.preview.nodes import Kind, Node
from app.preview.scalars import ScalarError, key_text, resolve

_MERGE_TAG = "tag:yaml.org,2002:merge"


def construct(node: Node) -> Any:
    """The value of a node. Each alias gets a value of its own, so that changing one place never changes another.

    Raises:
        ManifestError: for doubled keys and for values that JSON does not have.
    """
    if node.target is not None:
        node = node.target
    kind = node.kind
    if kind is Kind.SCALAR:
        if not node.plain and node.tag is None:
            return node.text
        try:
            return resolve(node.text, node.tag, plain=node.plain)
        except ScalarError as error:
            raise _at(node, Code.NOT_JSON, str(error), "write a number, or text in quotes") from error
    if kind is Kind.SEQUENCE:
        return [construct(item) for item in node.children]
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    members = iter(node.children)
    for key, value in zip(members, members, strict=True):
        if is_merge(key):
            # Later than YAML's own rule: what is merged wins over keys before it, as in kubectl.
            for source in reversed(merge_sources(value)):
                values.update(construct(source))
            continue
        name = key_of(key, node)
        if name in lines:
            message = f"the key {name!r} is there twice, first in line {lines[name] + 1}"
            raise _at(key, Code.DUPLICATE_KEY, message, "remove one of them")
        lines[name] = key.line
        values[name] = construct(value)
    return values


def is_merge(key: Node) -> bool:
    """The key is ``<<``, which merges other mappings into this one."""
    return key.text == "<<" and key.kind is Kind.SCALAR and (key.plain or key.tag == _MERGE_TAG)


def merge_sources(value: Node) -> list[Node]:
    """The mappings that a merge key names; earlier ones win."""
    sources = value.children if value.kind is Kind.SEQUENCE else [value]
    for source in sources:
        if source.resolved.kind is not Kind.MAPPING:
            raise _at(source, Code.MERGE, "<< merges mappings only", "write <<: *name, with the anchor of a mapping")
    return sources


def key_of(key: Node, parent: Node) -> str:
    """The text of a key in JSON."""
    node = key.resolved
    if node.kind is not Kind.SCALAR:
        template = next((one for one in (parent, key) if _opens_template(one)), None)
        if template is not None:
            raise _at(template, Code.TEMPLATE_NOT_RENDERED, "{{ opens a template that is not rendered", RENDER_FIRST)
        raise _at(key, Code.COMPLEX_KEY, "a key must be text", "quote it")
    try:
        name = key_text(resolve(node.text, node.tag, plain=node.plain))
    except ScalarError as error:
        raise _at(key, Code.COMPLEX_KEY, str(error), "quote it") from error
    if name is None:
        raise _at(key, Code.COMPLEX_KEY, "null is no key", "quote it")
    return name


def _opens_template(node: Node) -> bool:
    """Two braces of which the second opens the first key: ``{{ .Values.x }}`` is a mapping in a mapping to YAML."""
    first = node.children[0] if node.flow and node.kind is Kind.MAPPING and node.children else None
    return first is not None and first.flow and first.kind is Kind.MAPPING and first.start == node.start + 1


def _at(node: Node, code: Code, message: str, hint: str) -> ManifestError:
    return ManifestError(code, message, line=node.line + 1, column=node.column + 1, hint=hint)
