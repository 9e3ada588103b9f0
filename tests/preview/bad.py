"""Inputs that cannot be read, and what is said of them at every door: command line, endpoint, page."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Final

GOOD: Final = b"""\
apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  containers:
  - {name: main, image: example.org/app:1, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000}}}
"""
"""Seven lines with its separator."""


@dataclass(frozen=True)
class Bad:
    """One input with something that cannot be read."""

    name: str
    text: bytes
    code: str
    line: int | None
    column: int | None
    hint: str
    """A part of it."""
    converted: int = 0
    """Other pods of the input, which are reported all the same."""


def _between(text: bytes) -> bytes:
    return GOOD + b"---\n" + text + b"---\n" + GOOD


_LAUGHS: Final = b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)
)

BAD: Final = [
    Bad("tab", _between(b"a:\n\tb: 1\n"), "tab", 9, 1, "blanks only", 2),
    Bad("wrong indentation", _between(b"a:\n  - b\n c: 1\n"), "yaml-syntax", 10, 2, "indent", 2),
    Bad("double key", _between(b"a: 1\nb: 2\na: 3\n"), "duplicate-key", 10, 1, "remove one", 2),
    Bad(
        "Helm template", _between(b"kind: Pod\nname: {{ .Release.Name }}-x\n"), "template-not-rendered", 9, 7, "helm", 2
    ),
    Bad(
        "Helm key", _between(b"kind: Pod\nlabels:\n  {{ .Values.key }}: x\n"), "template-not-rendered", 10, 3, "helm", 2
    ),
    Bad(
        "Jinja block",
        _between(b"kind: Pod\n{% if x %}\nname: x\n{% endif %}\n"),
        "template-not-rendered",
        9,
        1,
        "helm",
        2,
    ),
    Bad(
        "no manifest in a List",
        _between(b"apiVersion: v1\nkind: List\nitems:\n- kind: Foo\n"),
        "not-a-manifest",
        11,
        3,
        "apiVersion and kind",
        2,
    ),
    Bad("open quote", GOOD + b"---\na: 'open\n", "yaml-syntax", 9, 1, "a quote is not closed", 1),
    Bad("broken JSON", GOOD + b'---\n{\n "a": 1\n "b": 2}\n', "json-syntax", 10, 2, "commas", 1),
    Bad("no manifest", _between(b"a: 1\n"), "not-a-manifest", 8, 1, "apiVersion and kind", 2),
    Bad("unknown anchor", _between(b"a: *nobody\n"), "unknown-anchor", 8, 4, "&nobody", 2),
    Bad("deep nesting", _between(b"a: " + b"[" * 300 + b"]" * 300 + b"\n"), "nested-too-deep", 8, 203, "", 2),
    Bad("deep JSON", GOOD + b"---\n" + b'{"a":' * 100_000, "nested-too-deep", 8, None, "", 1),
    Bad("billion laughs", _between(_LAUGHS), "aliases-expand-too-far", 15, None, "", 2),
    Bad("many documents", b"a: 1\n---\n" * 1001, "too-many-documents", None, None, "split"),
    Bad("binary", b"\x7fELF\x02\x01\x01\x00" * 100, "binary", None, None, "YAML or JSON"),
    Bad("gzip", gzip.compress(GOOD, mtime=0), "binary", None, None, "unpack"),
    Bad("UTF-16", GOOD.decode().encode("utf-16"), "not-utf8", None, None, "UTF-8"),
    Bad("Latin-1", GOOD + b"# caf\xe9\n", "not-utf8", 7, 6, "UTF-8"),
]

HOSTILE: Final = {
    "open brackets": "a: " + "[" * 3_000_000,
    "open json brackets": '{"a":' + "[" * 3_000_000,
    "open json objects": '{"a":' * 1_000_000,
    "dashes": "- " * 3_000_000,
    "question marks": "? " * 3_000_000,
    "billion laughs": "a0: &a0 [x, x, x]\n"
    + "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(30)),
    "one long text, often": f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 10_000)}]\n",
    "merged laughs": "a0: &a0 {k: [x, x, x, x]}\n"
    + "".join(f"a{i + 1}: &a{i + 1} {{m: *a{i}, n: *a{i}}}\n" for i in range(60)),
    "braces": "{{" * 1_000_000,
    "quotes": "'" * 3_000_001,
    "braces in many lines": "{{ x\n" * 500_000,
}
"""Texts made to cost a reader much: time, memory, or stack."""
