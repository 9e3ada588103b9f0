"""Writes the chart's generated parts: ``python docs/generate_chart.py``.

The table of values in its README comes from the comments of ``values.yaml``, and the part of ``values.schema.json``
that describes ``settings`` from the settings tree, so that the chart accepts what the server accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from app.settings import Settings

JSON = Any
KeyPath = tuple[str, ...]

CHART = Path(__file__).parents[1] / "charts" / "hami-dra-webhook"
README, SCHEMA, VALUES = CHART / "README.md", CHART / "values.schema.json", CHART / "values.yaml"
MARKED = re.compile(r"(<!-- values: .*? -->\n).*?(<!-- /values -->)", re.DOTALL)

DECIDED = {
    "driverProfiles": "the value driverProfiles holds their content",
    "cluster.namespace": "the release's",
    "cluster.kubeconfig": "the pod's ServiceAccount",
    "cluster.context": "the pod's ServiceAccount",
    "cluster.standalone": "a chart needs a cluster",
    "server.host": "kubelets and API servers must reach it",
    "server.port": "webhook.port",
    "server.opsHost": "kubelets must reach it",
    "server.opsPort": "webhook.opsPort",
    "server.tls.mode": "certificates.mode",
    "server.tls.certFile": "certificates",
    "server.tls.keyFile": "certificates",
    "server.tls.secretName": "made from the release's name",
    "server.tls.serviceName": "made from the release's name",
    "server.tls.clusterDomain": "certificates.clusterDomain",
    "server.tls.webhookConfiguration": "fixed: one per cluster",
}
"""Settings that the chart decides, and by what."""
_DROPPED = {"title", "default", "format"}
"""Words of a schema that say nothing here; ``format: path`` is pydantic's own."""


def settings_schema() -> JSON:
    """JSON schema of the value ``settings``: the settings tree without what the chart decides."""
    schema = Settings.model_json_schema(by_alias=True)
    return _plain(schema, schema.get("$defs", {}), ())


def _plain(node: JSON, definitions: Mapping[str, JSON], path: KeyPath) -> JSON:
    """``node`` with its references filled in."""
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions, path)
    plain = {key: value for key, value in node.items() if key not in _DROPPED | {"$defs"}}
    if "description" in plain:
        plain["description"] = " ".join(plain["description"].replace("``", "`").split())
    for key in ("anyOf", "items", "additionalProperties"):
        inner = plain.get(key)
        if isinstance(inner, list):
            plain[key] = [_plain(one, definitions, path) for one in inner]
        elif isinstance(inner, dict):
            plain[key] = _plain(inner, definitions, path)
    if "properties" in plain:
        plain["properties"] = {
            key: _plain(value, definitions, (*path, key))
            for key, value in plain["properties"].items()
            if ".".join((*path, key)) not in DECIDED
        }
    return plain


def _require(schema: JSON, values: JSON) -> None:
    """Demand the keys that the chart itself sets, since its templates read them: a null from a user removes a key.

    Keys whose value may be null, and maps of free keys, are left alone.
    """
    properties = schema.get("properties")
    if properties is None or not isinstance(values, dict):
        return
    set_here = [key for key in properties if values.get(key) is not None and not _may_be_null(properties[key])]
    if set_here:
        schema["required"] = set_here
    for key in set_here:
        _require(properties[key], values[key])


def _may_be_null(schema: JSON) -> bool:
    return any(kind.get("type") == "null" for kind in schema.get("anyOf", ()))


def table() -> str:
    """The values as a Markdown table.

    Raises:
        ValueError: a value has no comment.
    """
    text = VALUES.read_text(encoding="utf-8")
    comments = _comments(text.splitlines())
    rows = ["| value | what it is | default |", "| --- | --- | --- |"]
    for path, value in _documented(yaml.safe_load(text), frozenset(comments)):
        if path not in comments:
            raise ValueError(f"values.yaml: {'.'.join(path)} has no comment above it")
        rows.append(f"| `{'.'.join(path)}` | {comments[path]} | `{json.dumps(value)}` |")
    return "\n".join([*rows, ""])


def _documented(node: JSON, commented: frozenset[KeyPath], path: KeyPath = ()) -> Iterator[tuple[KeyPath, JSON]]:
    """Paths and defaults: a map whose keys have comments is many values, one without is a value itself."""
    for key, value in node.items():
        here = (*path, key)
        inside = any(other[: len(here)] == here and other != here for other in commented)
        if isinstance(value, dict) and inside:
            yield from _documented(value, commented, here)
        else:
            yield here, value


def _comments(lines: list[str]) -> dict[KeyPath, str]:
    """The comment right above each key, by the key's path."""
    found: dict[KeyPath, str] = {}
    path: list[str] = []
    comment: list[str] = []
    for line in lines:
        stripped = line.strip()
        key = re.match(r"( *)([A-Za-z_]+):", line)
        if stripped.startswith("# "):
            comment.append(stripped[2:])
            continue
        if key is not None:
            path[len(key[1]) // 2 :] = [key[2]]
            if comment:
                found[tuple(path)] = " ".join(comment)
        comment = []
    return found


def readme() -> str:
    """The chart's README with the current table."""
    return MARKED.sub(lambda match: match[1] + table() + match[2], README.read_text(encoding="utf-8"))


def schema() -> str:
    """The chart's schema with the current settings."""
    whole = json.loads(SCHEMA.read_text(encoding="utf-8"))
    whole["properties"]["settings"] = settings_schema()
    _require(whole, yaml.safe_load(VALUES.read_text(encoding="utf-8")))
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
