"""Random claims as people and the translation write them, over the devices of the fixtures."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from app.translate import Facts, Policy, TranslationSettings, translate
from tests.cluster.testbed.objects import pod

JSON = Any
HAMI: Final = "hami-core-gpu.project-hami.io"
NVIDIA: Final = "gpu.nvidia.com"
CLASSES: Final = (HAMI, HAMI, NVIDIA, NVIDIA, "mig.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com")
_BINDINGS: Final[Sequence[JSON]] = (
    {},
    {"bindings": {"nvidia": {"driver": NVIDIA}}},
    {"bindings": {"nvidia": {"driver": "gpu.nvidia.com-memory"}}},
)
_MEMORY: Final = (
    "0", "1", "1Mi", "1500Ki", "1.5Gi", "8000M", "1e9", "4864Mi", "4865Mi", "9856Mi", "10Gi", "16106127359", "15Gi",
    "16106127361", "15361Mi", "20Gi", "24Gi", "24577Mi", "40Gi", "45Gi", "46068Mi", "46069Mi", "81559Mi", "81560Mi",
    "80Gi", "81921Mi",
)  # fmt: skip
"""Amounts at and around the sizes of the fixtures, in every spelling."""
_CORES: Final = ("0", "1", "25", "26", "30", "50", "51", "100", "101", "0.5", "99500m", "-1")
_PROFILES: Final = ("1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "2g.20gb", "nosuch")
_PRODUCTS: Final = ("Tesla T4", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA L40S", "NVIDIA A10", "nosuch")
_CONSTRAINED: Final = (
    f"{HAMI}/uuid", f"{NVIDIA}/uuid", f"{HAMI}/productName", f"{NVIDIA}/parentUUID", f"{NVIDIA}/profile",
    "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode",
)  # fmt: skip
"""Attributes of constraints: unique, equal, and in between."""


class RandomClaims:
    """Makes claims, the same for the same seed.

    Args:
        seed: of the random numbers.
        facts: of the machines.
    """

    def __init__(self, seed: int, facts: Facts) -> None:
        self._random = Random(seed)  # noqa: S311 - the same claims every time
        self._facts = facts
        self._uuids = sorted(facts.uuids)
        self._policies = [Policy(TranslationSettings.model_validate(settings)) for settings in _BINDINGS]

    def spec(self) -> JSON:
        """A claim with one request; a third of them is what the translation writes."""
        made = self._translated() if self._random.random() < 0.35 else None
        if made is not None:
            return made
        if self._random.random() < 0.15:
            alternatives = [{"name": f"a{i}", **self.exactly()} for i in range(self._random.randint(2, 4))]
            return {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}
        devices: JSON = {"requests": [{"name": "gpu", "exactly": self.exactly()}]}
        if self._random.random() < 0.15:
            devices["constraints"] = [self._random.choice((
                {"requests": ["gpu"], "distinctAttribute": f"{self._driver()}/uuid"},
                {"matchAttribute": f"{self._driver()}/productName"},
            ))]  # fmt: skip
        return {"devices": devices}

    def several(self) -> JSON:
        """A claim with up to four requests of one driver, of any mode, with alternatives and constraints."""
        roll = self._random
        if roll.random() < 0.15:
            return self.spec()
        classes = roll.choice(((HAMI,), (HAMI,), (NVIDIA,), (NVIDIA, "mig.nvidia.com")))
        requests: list[JSON] = []
        for index in range(roll.choice((1, 1, 1, 2, 2, 3))):
            if roll.random() < 0.25:
                alternatives = [{"name": f"a{i}", **self._modest(classes)} for i in range(roll.randint(2, 3))]
                requests.append({"name": f"r{index}", "firstAvailable": alternatives})
            else:
                request = self._modest(classes)
                if roll.random() < 0.07:
                    request = {**request, "allocationMode": "All"}
                    del request["count"]
                requests.append({"name": f"r{index}", "exactly": request})
        devices: JSON = {"requests": requests}
        constraints = []
        for kind, share in (("matchAttribute", 0.15), ("distinctAttribute", 0.25)):
            if roll.random() < share:
                scope = {"requests": [requests[0]["name"]]} if roll.random() < 0.3 else {}
                constraints.append({**scope, kind: roll.choice(_CONSTRAINED)})
        return {"devices": {**devices, **({"constraints": constraints} if constraints else {})}}

    def _modest(self, classes: Sequence[str]) -> JSON:
        """A request that mostly finds something."""
        roll = self._random
        if roll.random() < 0.06:
            return self.exactly()
        device_class = roll.choice(classes)
        request: JSON = {
            "deviceClassName": device_class,
            "allocationMode": "ExactCount",
            "count": roll.choice((1, 1, 2)),
        }
        if roll.random() < 0.2:
            request["selectors"] = [{"cel": {"expression": self._selector(device_class)}}]
        if device_class == HAMI and roll.random() < 0.8:
            amounts = {"memory": roll.choice(("1Gi", "4000Mi", "7Gi", "8Gi")), "cores": roll.choice(("0", "25", "50"))}
            request["capacity"] = {"requests": amounts}
        return request

    def exactly(self) -> JSON:
        """A request, or one alternative of a request."""
        roll = self._random
        device_class = roll.choice(CLASSES)
        request: JSON = {
            "deviceClassName": device_class,
            "allocationMode": "ExactCount",
            "count": roll.choice((1, 1, 1, 2, 3, 4, 8)),
        }
        selectors = [self._selector(device_class) for _ in range(roll.choice((0, 0, 1, 1, 1, 2, 3)))]
        if selectors:
            request["selectors"] = [{"cel": {"expression": one}} for one in selectors]
        capacity = {}
        if roll.random() < 0.6:
            capacity["memory"] = roll.choice(_MEMORY)
        if roll.random() < (0.6 if device_class == HAMI else 0.1):
            capacity["cores"] = roll.choice(_CORES)
        if roll.random() < 0.04:
            capacity[roll.choice(("nosuch", f"{HAMI}/memory", "multiprocessors"))] = "1"
        if capacity:
            request["capacity"] = {"requests": capacity}
        if roll.random() < 0.3:
            request["tolerations"] = [roll.choice((
                {"operator": "Exists"},
                {"key": "example.org/broken", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "example.org/broken", "operator": "Equal", "value": "fan", "effect": "NoExecute"},
                {"key": "example.org/broken", "operator": "Equal", "value": "else"},
                {"key": "example.org/other", "operator": "Exists"},
            ))]  # fmt: skip
        return request

    def _driver(self) -> str:
        return self._random.choice((HAMI, NVIDIA))

    def _selector(self, device_class: str) -> str:
        """An expression over attributes of each type; one in six is what a careless author writes."""
        roll = self._random
        driver = HAMI if device_class == HAMI else NVIDIA
        own, capacity = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
        common = 'device.attributes["resource.kubernetes.io"]'
        uuids = ", ".join(f'"{one}"' for one in roll.sample(self._uuids, roll.randint(1, 12)))
        amount, product = roll.choice(_MEMORY), roll.choice(_PRODUCTS)
        guarded = roll.choice((
            f'"uuid" in {own} && {own}.uuid in [{uuids}]',
            f'!("uuid" in {own} && {own}.uuid in [{uuids}])',
            f'"parentUUID" in {own} && {own}.parentUUID in [{uuids}]',
            f'"productName" in {own} && {own}.productName == "{product}"',
            f'["a100", "t4"].exists(t, ("NVIDIA-" + {own}.productName).lowerAscii().contains(t))',
            f'{own}.?profile.orValue("none") == "{roll.choice(_PROFILES)}"',
            f'has({own}.profile) && {own}.profile.matches("^[12]g")',
            f"has({own}.minor) ? {own}.minor < {roll.randint(0, 8)} : true",
            f'!has({own}.minor) || {own}.minor == "{roll.randint(0, 3)}"',
            f'"numaNode" in {common} && {common}.numaNode == {roll.randint(0, 1)}',
            f'!("pcieRoot" in {common}) || {common}["pcieRoot"].endsWith("0")',
            f'has({own}.cudaComputeCapability) && {own}.cudaComputeCapability.isGreaterThan(semver("8.0.0"))',
            f'has({own}.driverVersion) && {own}.driverVersion.compareTo(semver("580.126.{roll.randint(8, 21)}")) >= 0',
            f"has({own}.cudaComputeCapability) && {own}.cudaComputeCapability.major() in [7, 9]",
            f'{capacity}.memory.compareTo(quantity("{amount}")) >= 0',
            f'"memory" in {capacity} && {capacity}.memory.isLessThan(quantity("{amount}"))',
            f'{capacity}.memory == quantity("{amount}") || {capacity}.memory.compareTo(quantity("20Gi")) > 0',
            f'{capacity}.memory.sub(quantity("1Gi")).isGreaterThan(quantity("{amount}"))',
            f'"multiprocessors" in {capacity} && {capacity}.multiprocessors.asInteger() >= 28',
            "device.allowMultipleAllocations",
            "!device.allowMultipleAllocations",
            f'"{self._driver()}" in device.attributes',
            '!("x" in device.attributes["example.org"]) && !("example.org" in device.attributes)',
            f'device.attributes.exists(domain, domain == "{roll.choice(("resource.kubernetes.io", "example.org"))}")',
            f'cel.bind(own, device.attributes["{driver}"], own.type in ["gpu", "mig"] && has(own.uuid))',
            f'sets.contains(["gpu", "hami-gpu"], [{own}.type])',
            f'device.attributes[device.driver]["type"].size() == {roll.randint(3, 4)}',
            "true",
        ))  # fmt: skip
        careless = roll.choice((
            f'{own}.profile == "1g.5gb"',
            f"{own}.minor < 2",
            f"sign({capacity}.multiprocessors) > 0",
            f"{own}.productName",
            f'{common}.numaNode == 0 && {own}.uuid != ""',
            f'{own}.productName == "{product}" || {own}.nosuch == "x"',
        ))  # fmt: skip
        return careless if roll.random() < 1 / 6 else guarded

    def _translated(self) -> JSON:
        """The claim of a random legacy pod; None where none is claimed."""
        roll = self._random
        limits: dict[str, JSON] = {"nvidia.com/gpu": roll.choice((1, 1, 1, 2, 4))}
        if roll.random() < 0.6:
            limits["nvidia.com/gpumem"] = roll.choice((1000, 8000, 15360, 15361, 24576, 46068, 46069, 81559, 81920))
        elif roll.random() < 0.5:
            limits["nvidia.com/gpumem-percentage"] = roll.choice((1, 30, 50, 100))
        if roll.random() < 0.4:
            limits["nvidia.com/gpucores"] = roll.choice((0, 25, 30, 100))
        if roll.random() < 0.2:
            limits = {f"nvidia.com/mig-{roll.choice(_PROFILES[:5])}".replace("+", "."): roll.choice((1, 2))}
        annotations = {}
        if roll.random() < 0.3:
            annotations["nvidia.com/use-gputype"] = roll.choice(("A100", "T4,L40S", "A10", "H100", "Tesla"))
        if roll.random() < 0.2:
            annotations["nvidia.com/nouse-gpuuuid"] = ",".join(roll.sample(self._uuids, 5))
        if roll.random() < 0.1:
            annotations["nvidia.com/vgpu-mode"] = "mig"
        decision = translate(pod("p", limits, annotations=annotations), self._facts, roll.choice(self._policies))
        return decision.templates[0].spec if decision.templates else None
