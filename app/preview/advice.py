"""Warnings that only a look at the whole object can give (S70, S71)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.preview.kinds import GROUPS, Path
from app.preview.workloads import LISTS, FoundPod, at, dotted, group_of, queued
from app.translate import Note, Policy, Reason
from app.translate.advice import KUEUE_LABEL, POLICY_ANNOTATIONS
from app.translate.containers import mapping
from app.translate.keys import classify
from app.translate.selection import ANNOTATIONS

_KNOWN = (*ANNOTATIONS, *POLICY_ANNOTATIONS)


def about_workload(manifest: Mapping[str, Any], found: FoundPod) -> list[Note]:
    """Annotations and labels above a pod template that act on pods, or on somebody who counts them."""
    if not found.path:
        return []
    warnings: list[Note] = []
    carried = mapping(mapping(found.pod.get("metadata")).get("annotations"))
    for length in range(len(found.path)):
        above = found.path[:length]
        metadata = mapping(mapping(at(manifest, above)).get("metadata"))
        owner = f"the {manifest.get('kind')}" if not above else dotted(above)
        for name in _KNOWN:
            if name in mapping(metadata.get("annotations")) and name not in carried:
                text = f"{name}: an annotation on {owner} has no effect, move it to {_template(found.path)}"
                path = dotted((*above, "metadata", "annotations", name))
                warnings.append(Note(Reason.ANNOTATION_ON_WORKLOAD, text, path))
    if queued(manifest):
        text = f"{KUEUE_LABEL}: kueue counts the keys of the template, which stays; only its pods convert"
        job: Path = () if manifest.get("kind") == "Job" else ("spec", "jobTemplate")
        warnings.append(Note(Reason.KUEUE, text, dotted((*job, "metadata", "labels", KUEUE_LABEL))))
    return warnings


def outside_containers(manifest: Mapping[str, Any], found: Iterable[FoundPod], policy: Policy) -> list[Note]:
    """Resources with legacy keys that are no container's, so that no pod asks for them (S71).

    Those of the found pods themselves are not meant: the API server refuses such a pod (S6).
    """
    rules = GROUPS.get(group_of(manifest))
    single = frozenset(field for field, _ in rules.single) if rules is not None else frozenset[str]()
    pod_level = {(*one.path, "spec", "resources") for one in found}
    warnings = []
    for path, resources in _resources(manifest, (), single):
        if path in pod_level:
            continue
        for part in ("limits", "requests"):
            keys = [key for key in mapping(resources.get(part)) if classify(policy, key) is not None]
            if keys:
                where = dotted((*path, part))
                text = f"resources outside a container ask nothing: {where} holds {', '.join(keys)}"
                warnings.append(Note(Reason.RESOURCES_OUTSIDE_CONTAINER, text, where))
    return warnings


def _template(path: Path) -> str:
    return dotted((*path, "metadata"))


def _resources(value: Any, path: Path, single: frozenset[str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Maps named ``resources`` (``computeResources`` of Tekton) that are in no container."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _resources(item, (*path, index), single)
    if not isinstance(value, dict):
        return
    for field, child in value.items():
        if field in LISTS or field in single or (not path and field in ("metadata", "status")):
            continue
        if field.lower().endswith("resources") and isinstance(child, dict):
            yield (*path, field), child
        yield from _resources(child, (*path, field), single)
