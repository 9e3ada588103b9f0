"""Small clusters with and without each hazard: code, objects, devices, and what is found."""

from __future__ import annotations

from typing import Any

from tests.scan.clusters import (
    CORES,
    GPU,
    HAMI,
    MEMORY,
    READY,
    SHARE,
    cards,
    config_map,
    container,
    controller,
    device_class,
    node,
    pod,
    webhook,
)


def bounds(name: str, **limit: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    spec = {"limits": [{"type": "Container", **limit}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec}


def quota(name: str, hard: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


def nvidia(**settings: object) -> dict[str, Any]:
    lines = ["nvidia:", *(f"  {name}: {value}" for name, value in settings.items())]
    return config_map(device_config="\n".join(lines))


def nodes_file(entries: str) -> dict[str, Any]:
    return config_map("hami-device-plugin", config=f'{{"nodeconfig": [{entries}]}}')


CASES: list[tuple[str, tuple[Any, ...], tuple[Any, ...], list[tuple[str, str]]]] = [
    (
        "cards-offered-twice",
        (),
        (device_class(), cards(4), node(gpu="40")),
        [("Node/gpu-1", f"{GPU}: 40, 4 devices of {HAMI}")],
    ),
    ("cards-offered-twice", (), (device_class(), cards(4), node(gpu="0")), []),
    ("cards-offered-twice", (), (device_class(), cards(4, on="other"), node(gpu="40")), []),
    ("cards-offered-twice", (), (device_class(), cards(4), node(**{MEMORY: "40960"})), []),
    ("nodes-without-dra", (), (*READY, node("old", gpu="8")), [("Node/old", f"{GPU}: 8")]),
    ("nodes-without-dra", (), (*READY, node("cpu")), []),
    (
        "device-class-missing",
        (pod("p", SHARE),),
        (cards(4),),
        [(f"DeviceClass/{HAMI}", "of HAMi k8s-dra-driver")],
    ),
    ("device-class-missing", (pod("p"),), (), []),
    ("device-class-missing", (pod("p", SHARE, schedulerName="volcano"),), (node(),), []),
    (
        "no-devices",
        (pod("p", SHARE),),
        (device_class(),),
        [(f"driver {HAMI}", "no ResourceSlice holds a device of it")],
    ),
    ("no-devices", (pod("p", SHARE),), READY, []),
    ("no-devices", (pod("p", SHARE, schedulerName="volcano"),), (node(),), []),
    (
        "class-claims-legacy-name",
        (),
        (device_class(extended=GPU), device_class("other", extended="example.com/fpga")),
        [(f"DeviceClass/{HAMI}", f"extendedResourceName: {GPU}")],
    ),
    (
        "limit-range-refuses",
        (bounds("b", max={GPU: "2", "cpu": "8"}, min={CORES: "10"}),),
        READY,
        [("team/LimitRange/b", f"max {GPU}: 2, min {CORES}: 10")],
    ),
    ("limit-range-refuses", (bounds("b", max={"cpu": "8", f"{GPU}.shared": "1"}),), READY, []),
    ("limit-range-refuses", (bounds("b", default={GPU: "1"}),), READY, []),
    (
        "limit-range-gives-devices",
        (bounds("b", default={GPU: "1"}),),
        READY,
        [("team/LimitRange/b", f"default {GPU}: 1")],
    ),
    (
        "quota-stops-counting",
        (quota("q", {"requests.nvidia.com/gpu": "4", "limits.nvidia.com/gpumem": "16k", "pods": "9"}),),
        READY,
        [
            ("team/ResourceQuota/q", f"requests.{GPU}: 4 → {HAMI}.deviceclass.resource.k8s.io/devices: 4"),
            ("team/ResourceQuota/q", f"limits.{MEMORY}: 16k → nothing counts memory or cores of claims"),
        ],
    ),
    (
        "quota-stops-counting",
        (quota("q", {"requests.nvidia.com/gpu": "4", "limits.nvidia.com/gpu": "4"}),),
        (device_class(extended=GPU), cards(4), node()),
        [
            (
                "team/ResourceQuota/q",
                f"requests.{GPU}: 4 → goes on counting, since a DeviceClass has this extendedResourceName",
            ),
            ("team/ResourceQuota/q", f"limits.{GPU}: 4 → never counted anything"),
        ],
    ),
    (
        "quota-stops-counting",
        (quota("q", {"requests.nvidia.com/mig-1g.5gb": "2", "requests.nvidia.com/gpu.shared": "2"}),),
        READY,
        [
            (
                "team/ResourceQuota/q",
                "requests.nvidia.com/mig-1g.5gb: 2 → mig.nvidia.com.deviceclass.resource.k8s.io/devices: 2",
            ),
            ("team/ResourceQuota/q", "requests.nvidia.com/gpu.shared: 2 → stays and counts"),
        ],
    ),
    ("quota-stops-counting", (quota("q", {"requests.cpu": "4"}),), READY, []),
    (
        "quota-never-counted",
        (quota("q", {"requests.nvidia.com/gpucore": "100"}),),
        READY,
        [
            (
                "team/ResourceQuota/q",
                (
                    "requests.nvidia.com/gpucore never counted anything: nvidia.com/gpucore is no key, "
                    "did you mean nvidia.com/gpucores?"
                ),
            )
        ],
    ),
    (
        "hami-webhook",
        (webhook("hami-webhook", "vgpu.hami.io"),),
        READY,
        [("MutatingWebhookConfiguration/hami-webhook", "")],
    ),
    ("hami-webhook", (webhook("other", "inject.example.org"),), READY, []),
    (
        "hami-scheduler",
        (controller("Deployment", "vgpu", pod_spec={"containers": [container(name="vgpu-scheduler-extender")]}),),
        READY,
        [("team/Deployment/vgpu", "")],
    ),
    (
        "settings-differ",
        (nvidia(resourceCountName="nvidia.com/vgpu", defaultMemory=0, memoryFactor=2),),
        READY,
        [
            (
                "hami/ConfigMap/hami-scheduler-device",
                f"resourceCountName: nvidia.com/vgpu → resourceNames.count: {GPU} here",
            ),
            ("hami/ConfigMap/hami-scheduler-device", "memoryFactor: 2 → memoryFactor: 1 here"),
        ],
    ),
    (
        "additions-differ",
        (nvidia(gpuCorePolicy="force", runtimeClassName='""', overwriteEnv='"true"'),),
        READY,
        [
            ("hami/ConfigMap/hami-scheduler-device", "gpuCorePolicy: force → options.gpuCorePolicy: not set here"),
            ("hami/ConfigMap/hami-scheduler-device", "overwriteEnv: true → options.hideFromOthers: false here"),
        ],
    ),
    ("additions-differ", (nvidia(gpuCorePolicy="default", overwriteEnv="false"),), READY, []),
    ("settings-differ", (nvidia(memoryFactor="null", resourceCountName=""),), READY, []),
    (
        "hami-settings-unreadable",
        (config_map(device_config="nvidia: ["),),
        READY,
        [("hami/ConfigMap/hami-scheduler-device", "device-config.yaml is not YAML")],
    ),
    (
        "hami-settings-unreadable",
        (nvidia(since="2026-02-31"),),
        READY,
        [("hami/ConfigMap/hami-scheduler-device", "device-config.yaml is not YAML")],
    ),
    ("hami-settings-unreadable", (config_map(device_config="# nvidia:", config='{"nodeconfig": null}'),), READY, []),
    (
        "memory-scaling",
        (nvidia(deviceMemoryScaling=1.5), nodes_file('{"name": "gpu-1", "devicememoryscaling": 1.8}')),
        READY,
        [
            ("hami/ConfigMap/hami-scheduler-device", "deviceMemoryScaling: 1.5"),
            ("Node/gpu-1", "deviceMemoryScaling: 1.8"),
        ],
    ),
    ("memory-scaling", (nvidia(deviceMemoryScaling=1),), READY, []),
    ("memory-scaling", (nodes_file('{"name": "m5-cloudinfra-online02", "devicememoryscaling": 1.8}'),), READY, []),
    (
        "core-scaling",
        (nvidia(deviceCoreScaling=2),),
        READY,
        [("hami/ConfigMap/hami-scheduler-device", "deviceCoreScaling: 2")],
    ),
    (
        "cards-hidden",
        (nodes_file('{"name": "gpu-1", "filterdevices": {"uuid": ["GPU-a"], "index": []}}'),),
        READY,
        [("Node/gpu-1", "filterDevices: {'uuid': ['GPU-a'], 'index': []}")],
    ),
    ("cards-hidden", (nodes_file('{"name": "gpu-1", "filterdevices": {"uuid": [], "index": []}}'),), READY, []),
    (
        "cards-cordoned",
        (),
        (
            *READY,
            node("gpu-2", {"hami.io/device-cordon": "GPU-a, GPU-b"}),
            node("gpu-3", {"hami.io/device-cordon": " , "}),
        ),
        [("Node/gpu-2", "GPU-a, GPU-b")],
    ),
    (
        "dynamic-mig",
        (nodes_file('{"name": "gpu-1", "operatingmode": "mig"}'),),
        READY,
        [("Node/gpu-1", "operatingMode: mig")],
    ),
    ("dynamic-mig", (nodes_file('{"name": "gpu-1", "operatingmode": "hami-core"}'),), READY, []),
    (
        "memory-preconfigured",
        (nvidia(preConfiguredDeviceMemory=24000),),
        READY,
        [("hami/ConfigMap/hami-scheduler-device", "preConfiguredDeviceMemory: 24000")],
    ),
    (
        "no-share-cap",
        (nvidia(deviceSplitCount=10),),
        READY,
        [("hami/ConfigMap/hami-scheduler-device", "deviceSplitCount: 10")],
    ),
    (
        "webhook-before",
        (pod("p", SHARE), webhook("istio", "inject.istio.io"), webhook("zzz", "last.example.org")),
        READY,
        [("MutatingWebhookConfiguration/istio", "inject.istio.io")],
    ),
    (
        "webhook-after",
        (pod("p", SHARE), webhook("istio", "inject.istio.io"), webhook("zzz", "last.example.org")),
        READY,
        [("MutatingWebhookConfiguration/zzz", "last.example.org")],
    ),
    ("webhook-before", (pod("p", SHARE), webhook("a", "a.example.org", resources=["services"])), READY, []),
    ("webhook-before", (pod("p", SHARE), webhook("a", "a.example.org", operations=["UPDATE"])), READY, []),
    ("webhook-before", (pod("p"), webhook("a", "a.example.org")), READY, []),
    ("webhook-before", (pod("p", SHARE), webhook("a-release", "convert.dra-webhook.hami.io")), READY, []),
    (
        "sees-cards-unasked",
        (
            pod("all", containers=[container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])]),
            pod(
                "from", containers=[container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {}}}])]
            ),
            pod("void", containers=[container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}])]),
            pod("empty", containers=[container(env=[{"name": "NVIDIA_VISIBLE_DEVICES"}])]),
            pod(
                "plugin",
                containers=[container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])],
                metadata={"namespace": "kube-system"},
            ),
        ),
        READY,
        [("team/Pod/all", "container main: all"), ("team/Pod/from", "container main: set from elsewhere")],
    ),
    (
        "host-devices",
        (
            pod("nvidia", volumes=[{"name": "d", "hostPath": {"path": "/dev/nvidia0"}}]),
            pod("dev", volumes=[{"name": "d", "hostPath": {"path": "/dev/"}}]),
            pod("fuse", volumes=[{"name": "d", "hostPath": {"path": "/dev/fuse"}}, {"name": "e", "emptyDir": {}}]),
        ),
        READY,
        [("team/Pod/dev", "/dev/"), ("team/Pod/nvidia", "/dev/nvidia0")],
    ),
    (
        "scheduler-without-keys",
        (pod("p", schedulerName="hami-scheduler"), pod("q", SHARE, schedulerName="hami-scheduler")),
        READY,
        [("team/Pod/p", "spec.schedulerName")],
    ),
    (
        "node-name",
        (controller("Deployment", "w", SHARE, pod_spec={"nodeName": "gpu-1"}),),
        READY,
        [("team/Deployment/w", "nodeName gpu-1 became a required node affinity; the node's taints now apply")],
    ),
    (
        "no-preemption",
        (pod("p", SHARE, priorityClassName="urgent"), pod("web", priorityClassName="urgent")),
        READY,
        [("team/Pod/p", "priorityClassName: urgent")],
    ),
    (
        "privileged",
        (pod("p", containers=[container(name="a", securityContext={"privileged": True}), container(name="b")]),),
        READY,
        [("team/Pod/p", "container a")],
    ),
    (
        "runtime-class",
        (pod("p", SHARE, runtimeClassName="nvidia"), pod("web", runtimeClassName="gvisor")),
        READY,
        [("team/Pod/p", "runtimeClassName: nvidia")],
    ),
    (
        "autoscaler",
        (
            pod("p", SHARE),
            pod("scaler", containers=[{"name": "c", "image": "example.org/autoscaling/cluster-autoscaler:v1.36.0"}]),
        ),
        READY,
        [("team/Pod/scaler", "")],
    ),
    (
        "autoscaler",
        (
            pod("p", SHARE),
            pod("k", containers=[{"name": "c", "image": "public.ecr.aws/karpenter/controller:1.8.1@sha256:abc"}]),
        ),
        READY,
        [("team/Pod/k", "")],
    ),
    (
        "matches-nothing",
        (pod("p", {GPU: 5}),),
        READY,
        [("team/Pod/p", "container main: gpu-5x-whole-100c-641199522c")],
    ),
    (
        "not-enough",
        (controller("Deployment", "w", {GPU: 1}, replicas=9),),
        READY,
        [(f"DeviceClass/{HAMI}", "9 whole devices asked, 4 free")],
    ),
]
