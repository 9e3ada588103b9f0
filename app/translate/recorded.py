"""From a converted pod back to the templates that it was converted with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.translate.containers import GROUPS, items, mapping
from app.translate.decision import Template
from app.translate.facts import Facts
from app.translate.marks import read_originals
from app.translate.policy import Policy
from app.translate.selection import ANNOTATIONS
from app.translate.translate import translate


def recorded_templates(pod: Mapping[str, Any], facts: Facts, policy: Policy) -> tuple[Template, ...]:
    """The templates that the recorded originals lead to now; none for a pod that carries no record.

    Facts or settings may have changed since the pod was converted. The names carry the content, so a template whose
    name the pod does not use is not the one it was converted with.
    """
    originals = read_originals(pod)
    if originals is None:
        return ()
    metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
    annotations = mapping(metadata.get("annotations"))
    # Only what templates depend on: the asks and the annotations that choose cards.
    asking: dict[str, Any] = {"schedulerName": policy.settings.schedulers.legacy}
    for group in GROUPS:
        asking[group] = [
            {
                "name": mapping(raw).get("name"),
                "restartPolicy": mapping(raw).get("restartPolicy"),
                "resources": {"limits": dict(originals.containers.get(str(mapping(raw).get("name")), {}))},
            }
            for raw in items(spec.get(group))
        ]
    chosen = {name: annotations[name] for name in ANNOTATIONS if name in annotations}
    return translate({"metadata": {"annotations": chosen}, "spec": asking}, facts, policy).templates
