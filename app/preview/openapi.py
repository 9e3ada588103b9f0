"""How ``/openapi.json`` describes the preview, with examples that are answers of this very code.

``docs/generate_openapi.py`` writes ``openapi_examples.json``; a test compares it with what is answered today.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

from app.preview.errors import STATUS, Code
from app.preview.schema import Error, PreviewOptions, PreviewReport
from app.preview.wanted import ACCEPTED, MEDIA_TYPES, Include, Output

EXAMPLES_FILE: Final = "openapi_examples.json"
_JSON: Final = MEDIA_TYPES[Output.JSON]
_TYPES: Final = tuple(dict.fromkeys((*MEDIA_TYPES.values(), *(name.partition(";")[0] for name in ACCEPTED))))


def preview_description() -> dict[str, Any]:
    """Arguments of the route ``POST /preview``."""
    texts: dict[str, Any] = {kind: {"schema": {"type": "string"}} for kind in _TYPES if kind != _JSON}
    return {
        "responses": {
            200: {
                "model": PreviewReport,
                "description": "What becomes of the manifests, as `output` or `Accept` asks for it.",
                "content": texts,
            },
            **_errors(),
        },
        "openapi_extra": {
            "requestBody": {
                "required": True,
                "description": "YAML or JSON: any number of documents, Lists, AdmissionReviews; of any Content-Type.",
                "content": {kind: {"schema": {"type": "string"}} for kind in ("application/yaml", _JSON)},
            },
            "parameters": _PARAMETERS,
        },
    }


def with_examples(document: dict[str, Any]) -> dict[str, Any]:
    """The description with its examples; put in last, since FastAPI leaves out every null of them."""
    preview = document.get("paths", {}).get("/preview", {}).get("post")
    if preview is not None:
        examples = json.loads(resources.files("app.preview").joinpath(EXAMPLES_FILE).read_text(encoding="utf-8"))
        for kind, some in examples["requests"].items():
            preview["requestBody"]["content"][kind]["examples"] = some
        for kind, some in examples["answers"].items():
            preview["responses"]["200"]["content"][kind]["examples"] = some
        for code, example in examples["errors"].items():
            content = preview["responses"][str(STATUS[Code(code)])]["content"][_JSON]
            content.setdefault("examples", {})[code] = example
    return document


def options_description() -> dict[str, Any]:
    """Arguments of the route ``GET /preview/options``."""
    return {"responses": {200: {"model": PreviewOptions, "description": "Backends and settings."}}}


def _errors() -> dict[int | str, Any]:
    codes: dict[int, list[str]] = {}
    for code, status in STATUS.items():
        codes.setdefault(status, []).append(f"`{code.value}`")
    return {status: {"model": Error, "description": ", ".join(words)} for status, words in sorted(codes.items())}


def _parameter(name: str, description: str, schema: dict[str, Any], *, many: bool = False) -> dict[str, Any]:
    kind = {"type": "array", "items": schema} if many else schema
    return {"name": name, "in": "query", "required": False, "description": description, "schema": kind}


_PARAMETERS: Final = [
    _parameter("output", "What to answer; wins over `Accept`.", {"type": "string", "enum": list(Output)}),
    _parameter(
        "include", "Renderings that come with `output=json`.", {"type": "string", "enum": list(Include)}, many=True
    ),
    _parameter("keepGoing", "Answer `yaml` and `patch` although something is refused.", {"type": "boolean"}),
    _parameter("backend", "A driver profile by name, in place of the server's own.", {"type": "string"}),
    _parameter(
        "set", "`KEY=VALUE`: a setting of the translation for this preview; see /preview/options.", {"type": "string"},
        many=True,
    ),
]  # fmt: skip
