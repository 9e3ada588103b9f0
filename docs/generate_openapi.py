"""Writes the examples of ``/openapi.json`` from those of this repository: ``python docs/generate_openapi.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import yaml

from app.preview.errors import RequestError
from app.preview.jobs import Job, Known
from app.preview.openapi import EXAMPLES_FILE
from app.preview.wanted import Wanted, wanted
from app.preview.work import worked
from app.translate import Facts, Policy

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "app" / "preview" / EXAMPLES_FILE
NOTEBOOK = (ROOT / "examples" / "workloads" / "01-shared-notebook.yaml").read_text(encoding="utf-8")
DENIED = NOTEBOOK.replace("nvidia.com/gpumem: 4000", "nvidia.com/gpumem: 16Gi")
BACKEND = "output=yaml&backend=gpu.nvidia.com-memory"


def examples() -> dict[str, Any]:
    """Requests, answers by media type, and errors by code, as OpenAPI has them."""
    as_list = json.dumps({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(NOTEBOOK)]}, indent=2)
    return {
        "requests": {
            "application/yaml": {"notebook": {"summary": "A Deployment", "value": NOTEBOOK}},
            "application/json": {"list": {"summary": "As `kubectl get -o json` writes them", "value": as_list}},
        },
        "answers": {
            "application/json": {
                "report": _example("The report", "output=json"),
                "renderings": _example("With renderings", "output=json&include=yaml&include=diff"),
                "patch": _example("Patches", "output=patch"),
            },
            "application/yaml": {
                "report": _example("The report", "output=report"),
                "manifests": _example("Converted manifests", "output=yaml"),
                "backend": _example("Manifests for another driver", BACKEND),
            },
            "text/x-diff": {"diff": _example("What changes", "output=diff")},
            "text/plain": {"explain": _example("Which rule decided what", "output=explain")},
        },
        "errors": {
            "invalid-option": _example("A wrong word", "output=ymal"),
            "not-acceptable": _example("No such answer", "", accept="image/png"),
            "refused": _example("Half a result is none", "output=yaml", DENIED),
        },
    }


def _example(summary: str, query: str, body: str = NOTEBOOK, accept: str = "*/*") -> dict[str, Any]:
    """What the server answers to one request."""
    policy = Policy()
    try:
        asked = wanted(parse_qsl(query), {"accept": accept}, policy)
    except RequestError as error:
        return {"summary": f"{summary}: `?{query}`", "value": error.body}
    content = _answered(asked, body, policy)
    return {"summary": f"{summary}: `?{query}`", "value": content}


def _answered(asked: Wanted, body: str, policy: Policy) -> Any:
    head, content = worked(Job(body.encode(), asked), Known(policy, Facts()))
    return json.loads(content) if head["mediaType"] == "application/json" else content.decode()


def text() -> str:
    """The file."""
    return json.dumps(examples(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
