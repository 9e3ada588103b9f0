"""Finds the pods that an object leads to, and builds them as their controller would create them (S71)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.preview import spark
from app.preview.kinds import BUILT_IN, GROUPS, PATTERNS, Group, Path
from app.translate.advice import KUEUE_LABEL
from app.translate.containers import items, mapping

_CARRIED: Final = ("labels", "annotations")
"""What controllers copy from a template's metadata and the translation reads or writes."""
LISTS: Final = ("containers", "initContainers", "sidecars", "ephemeralContainers")
_NO_GROUP = Group()


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod, or a pod template, inside an object."""

    path: Path
    """Of the Pod or pod template; of the mapping that holds the containers where there is no template around it."""
    pod: Mapping[str, Any]
    """The pod as the webhook would see it."""


def manifests(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The objects of a document with their paths: itself, or the items of a List, also in Lists of Lists.

    Items of a typed list (``PodList``) carry no kind of their own and get the list's.
    """
    kind = mapping(value).get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)):
        yield path, value
        return
    typed = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(value["items"]):
        full = {**typed, **item} if isinstance(item, dict) else item
        yield from manifests(full, (*path, "items", index))


def group_of(manifest: Mapping[str, Any]) -> str:
    """The API group, empty for the core group."""
    version = manifest.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def name_of(manifest: Mapping[str, Any]) -> str:
    """Kind and name, as people write them: ``Deployment/web``."""
    metadata = mapping(manifest.get("metadata"))
    return f"{manifest.get('kind')}/{metadata.get('name') or metadata.get('generateName') or ''}"


def namespace_of(manifest: Mapping[str, Any]) -> str | None:
    """As the object gives it; None = where kubectl applies it."""
    value = mapping(manifest.get("metadata")).get("namespace")
    return value if isinstance(value, str) else None


def rewritable(manifest: Mapping[str, Any]) -> bool:
    """The object itself is converted; custom kinds and queued Jobs are read by their operators and stay (S71)."""
    return (group_of(manifest), manifest.get("kind")) in BUILT_IN and not queued(manifest)


def queued(manifest: Mapping[str, Any]) -> bool:
    """A Job, or a CronJob's Jobs, that Kueue admits by what their template asks."""
    if group_of(manifest) != "batch":
        return False
    job = manifest if manifest.get("kind") == "Job" else mapping(manifest.get("spec")).get("jobTemplate")
    return bool(mapping(mapping(mapping(job).get("metadata")).get("labels")).get(KUEUE_LABEL))


def find_pods(manifest: Mapping[str, Any]) -> list[FoundPod]:
    """All pods and pod templates of an object, in the order of its fields; none for kinds without."""
    group = group_of(manifest)
    path = BUILT_IN.get((group, str(manifest.get("kind"))))
    if path == ():
        return [FoundPod((), manifest)]
    if path is not None:
        template = at(manifest, path)
        has_pod = isinstance(template, dict) and isinstance(template.get("spec"), dict)
        return [FoundPod(path, _from_template(manifest, template, template["spec"]))] if has_pod else []
    if group in PATTERNS:
        return []
    described = spark.described_pods(manifest) if group == spark.GROUP else None
    if described is not None:
        return [FoundPod(one.path, _from_template(manifest, {"metadata": one.metadata}, one.spec)) for one in described]
    rules = GROUPS.get(group, _NO_GROUP)
    found: list[FoundPod] = []
    for field, value in manifest.items():
        if field not in ("metadata", "status"):
            found += _search(manifest, value, (field,), rules, rules.scheduler)
    return found


def with_pod(manifest: Mapping[str, Any], found: FoundPod, pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with another pod in the place of the found one; labels, annotations and spec are carried over."""
    if found.path == ():
        return pod
    template = at(manifest, found.path)
    carried = {field: pod["metadata"][field] for field in _CARRIED if field in pod["metadata"]}
    changed = {**template, "spec": pod["spec"]}
    if carried:
        changed["metadata"] = {**mapping(template.get("metadata")), **carried}
    new: Mapping[str, Any] = put(manifest, [(found.path, changed)])
    return new


def at(value: Any, path: Path) -> Any:
    """What stands at a path; None where nothing does."""
    for part in path:
        if isinstance(part, str):
            value = mapping(value).get(part)
        else:
            value = value[part] if isinstance(value, list) and part < len(value) else None
    return value


def put(value: Any, changes: Iterable[tuple[Path, Any]]) -> Any:
    """A copy with other values at paths that exist; what is not on the way to them is shared with the original."""
    below: dict[str | int, list[tuple[Path, Any]]] = {}
    for path, new in changes:
        if not path:
            return new
        below.setdefault(path[0], []).append((path[1:], new))
    copy: Any = {**value} if isinstance(value, dict) else [*value]
    for part, deeper in below.items():
        copy[part] = put(value[part], deeper)
    return copy


def dotted(path: Path) -> str:
    """A path as people write it: ``spec.tasks[0].template``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").replace("-", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def _search(
    manifest: Mapping[str, Any], value: Any, path: Path, rules: Group, scheduler: str | None
) -> Iterator[FoundPod]:
    """Pods below a value. A ``schedulerName`` on the way down counts for pods that name none."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _search(manifest, item, (*path, index), rules, scheduler)
    if not isinstance(value, dict):
        return
    spec = value.get("spec")
    if isinstance(spec, dict) and _has_containers(spec):
        yield FoundPod(path, _from_template(manifest, value, _named(spec, rules), scheduler))
        return
    inline = _inline(value, rules)
    if inline is not None:
        yield FoundPod(path, _from_template(manifest, _inherited(manifest, path, rules), inline, scheduler))
    own = value.get("schedulerName")
    scheduler = own if isinstance(own, str) and own else scheduler
    for field, child in value.items():
        if field not in LISTS:
            yield from _search(manifest, child, (*path, field), rules, scheduler)


def _has_containers(spec: Mapping[str, Any]) -> bool:
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers or not all(isinstance(one, dict) for one in containers):
        return False
    return any("image" in one or "resources" in one or "name" in one for one in containers)


def _inline(value: Mapping[str, Any], rules: Group) -> dict[str, Any] | None:
    """The pod spec in a mapping that is not a template: its own containers, and containers outside a list."""
    single = [{**value[field], "name": name} for field, name in rules.single if isinstance(value.get(field), dict)]
    if not single and not _has_containers(value):
        return None
    # The resources of such a mapping are its operator's own, not those of a pod.
    spec = {field: part for field, part in value.items() if field not in rules.not_pod and field != "resources"}
    for field, _ in rules.single:
        spec.pop(field, None)
    sidecars = items(spec.pop("sidecars", None)) if single else []
    spec["containers"] = [*single, *items(value.get("containers")), *sidecars]
    return _named(spec, rules)


def _named(spec: dict[str, Any], rules: Group) -> dict[str, Any]:
    if rules.container is None:
        return spec
    containers = [
        {"name": rules.container, **one} if isinstance(one, dict) else one for one in items(spec["containers"])
    ]
    return {**spec, "containers": containers}


def _inherited(manifest: Mapping[str, Any], path: Path, rules: Group) -> dict[str, Any]:
    """Stands for the template around inline containers: labels and annotations beside, above, and the object's."""
    value = mapping(at(manifest, path))
    sources = [mapping(manifest.get("metadata"))] if rules.metadata else []
    if rules.pod_metadata is not None:
        sources += [mapping(mapping(at(manifest, path[:i])).get(rules.pod_metadata)) for i in range(len(path))]
    metadata: dict[str, Any] = {}
    for field in _CARRIED:
        inner = mapping(mapping(value.get("metadata")).get(field)) or mapping(value.get(field))
        carried = {
            key: text for source in (*sources, {field: inner}) for key, text in mapping(source.get(field)).items()
        }
        if carried:
            metadata[field] = carried
    return {"metadata": metadata}


def _from_template(
    manifest: Mapping[str, Any], template: Mapping[str, Any], spec: Mapping[str, Any], scheduler: str | None = None
) -> dict[str, Any]:
    owner = mapping(manifest.get("metadata"))
    metadata: dict[str, Any] = {}
    name = owner.get("name") or str(owner.get("generateName") or "").removesuffix("-")
    if name and manifest.get("kind") == "StatefulSet":
        metadata["name"] = f"{name}-0"
    elif name:
        metadata["generateName"] = f"{name}-"
    if owner.get("namespace") is not None:
        metadata["namespace"] = owner["namespace"]
    metadata.update({f: template["metadata"][f] for f in _CARRIED if f in mapping(template.get("metadata"))})
    if scheduler is not None and not spec.get("schedulerName"):
        spec = {**spec, "schedulerName": scheduler}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
