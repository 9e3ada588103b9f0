"""In-place resize of converted pods: refused up to Kubernetes 1.36, possible from 1.37 on (section 8)."""

from __future__ import annotations

import pytest

from tests.cluster.since import RESIZE_BESIDE_CLAIMS, holds
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.objects import container, pod

SIZED = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
SHARE = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}


def resize(namespace: Namespace, name: str) -> str:
    """Give container ``plain`` of the pod two CPUs; returns what it has then."""
    spec = {"containers": [{"name": "plain", "resources": {part: {"cpu": "2"} for part in SIZED}}]}
    stored = namespace.api.patch("Pod", name, {"spec": spec}, namespace.name, how="strategic", subresource="resize")
    (cpu,) = (one["resources"]["limits"]["cpu"] for one in stored["spec"]["containers"] if one["name"] == "plain")
    return str(cpu)


@pytest.mark.usefixtures("webhook")
def test_in_place_resize_of_a_converted_pod_works_from_1_37_on(
    control_plane: ControlPlane, namespace: Namespace
) -> None:
    beside = container(name="plain", resources=SIZED)
    namespace.create(pod("converted", containers=[container(SHARE), beside]))
    namespace.create(pod("ordinary", containers=[beside]))
    for name in ("converted", "ordinary"):
        namespace.scheduled(name)
    assert resize(namespace, "ordinary") == "2"
    if holds(control_plane, RESIZE_BESIDE_CLAIMS):
        assert resize(namespace, "converted") == "2"
    else:
        with pytest.raises(ApiError, match="only cpu and memory resources are mutable"):
            resize(namespace, "converted")
