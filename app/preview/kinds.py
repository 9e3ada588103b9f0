"""Where kinds keep their pods, as data: the built-in kinds, and what a plain search of custom kinds cannot know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Path = tuple[str | int, ...]

BUILT_IN: Final[dict[tuple[str, str], Path]] = {
    ("", "Pod"): (),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""API group and kind of the kinds that Kubernetes' own controllers turn into pods → path of the pod template."""

PATTERNS: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "kyverno.io",
        "policies.kyverno.io",
        "templates.gatekeeper.sh",
        "constraints.gatekeeper.sh",
        "mutations.gatekeeper.sh",
    }
)
"""API groups whose objects hold patterns of pods, never pods."""


@dataclass(frozen=True, slots=True)
class Group:
    """What one API group's operator does beside copying a pod template."""

    single: tuple[tuple[str, str], ...] = ()
    """Field that holds one container without a list around it → name of that container in the pod."""
    container: str | None = None
    """Name of a container that has none."""
    scheduler: str | None = None
    """Scheduler of pods when the object names none."""
    metadata: bool = False
    """Labels and annotations of the object reach its pods."""
    pod_metadata: str | None = None
    """Field whose labels and annotations reach the pods below; those of a template win."""
    not_pod: frozenset[str] = frozenset()
    """Fields beside the containers that are the operator's own."""


_KSERVE_MODELS = (
    "model", "huggingface", "lightgbm", "mlflow", "onnx", "paddle", "pmml", "pytorch", "sklearn", "tensorflow",
    "triton", "xgboost",
)  # fmt: skip
_KSERVE_OWN = (
    "annotations", "autoScaling", "batcher", "builtInAdapter", "canaryTrafficPercent", "containerConcurrency",
    "deploymentStrategy", "disabled", "grpcDataEndpoint", "grpcEndpoint", "httpDataEndpoint", "labels", "logger",
    "maxReplicas", "minReplicas", "multiModel", "protocolVersions", "replicas", "resources", "scaleMetric",
    "scaleMetricType", "scaleTarget", "storageHelper", "supportedModelFormats", "supportedUris", "timeout",
    "workerSpec",
)  # fmt: skip
_ARGO_OWN = (
    "archiveLocation", "daemon", "executor", "failFast", "inputs", "memoize", "metadata", "metrics", "name", "outputs",
    "parallelism", "plugin", "podSpecPatch", "retryStrategy", "synchronization", "timeout",
)  # fmt: skip

GROUPS: Final[dict[str, Group]] = {
    # pkg/apis/serving/v1beta1: a component is a PodSpec with the fields of ComponentExtensionSpec and one model.
    # Annotations and labels are merged: runtime < InferenceService < component.
    "serving.kserve.io": Group(
        single=tuple((field, "kserve-container") for field in _KSERVE_MODELS),
        container="kserve-container",
        metadata=True,
        not_pod=frozenset(_KSERVE_OWN),
    ),
    # Knative names a revision's only container so when the manifest does not.
    "serving.knative.dev": Group(container="user-container"),
    # A step of a workflow is one container, which the controller names main; addMetadata in its workflowpod.go.
    "argoproj.io": Group(
        single=(("container", "main"), ("script", "main")), pod_metadata="podMetadata", not_pod=frozenset(_ARGO_OWN)
    ),
    # The job webhook of Volcano fills in its own scheduler.
    "batch.volcano.sh": Group(scheduler="volcano"),
}
"""By API group."""
