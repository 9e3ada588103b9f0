"""What the server does when nothing is set; a changed default is a change for every user."""

from __future__ import annotations

import pytest
from pydantic_core import to_jsonable_python

from app.settings import Settings, load_settings
from app.settings.keys import all_settings
from app.settings.sources import dotted

DEFAULTS = {
    "resourceNames.count": "nvidia.com/gpu",
    "resourceNames.memory": "nvidia.com/gpumem",
    "resourceNames.memoryPercentage": "nvidia.com/gpumem-percentage",
    "resourceNames.cores": "nvidia.com/gpucores",
    "resourceNames.priority": "nvidia.com/priority",
    "resourceNames.migPrefix": "nvidia.com/mig-",
    "resourceNames.sharedSuffix": ".shared",
    "nvidia.count": "card",
    "bindings.nvidia.driver": "hami-core-gpu.project-hami.io",
    "bindings.nvidia.mig": "gpu.nvidia.com",
    "bindings.nvidia.shared": None,
    "schedulers.legacy": "hami-scheduler",
    "schedulers.target": "default-scheduler",
    "schedulers.convertDefault": True,
    "schedulers.convert": [],
    "optIn.label": "hami.io/dra-webhook",
    "optIn.value": "enabled",
    "optIn.optOutValue": "disabled",
    "options.runtimeClassName": None,
    "options.gpuCorePolicy": None,
    "options.hideFromOthers": False,
    "options.visibleDevices": None,
    "options.tolerations": [],
    "memoryFactor": 1,
    "defaultMemory": 0,
    "defaultCores": 0,
    "defaultGPUNum": 1,
    "maxMemoryMiB": 4194304,
    "nodeName": "pin",
    "noSharing": "whole-card",
    "exclusiveCores": "keep-memory",
    "numaBind": "warn",
    "wholeGpu": "convert",
    "cardMemoryMiB": [],
    "migAliases": {},
    "schedulerVersion": None,
    "server.host": "::",
    "server.port": 10250,
    "server.opsHost": "::",
    "server.opsPort": 8080,
    "server.drainSeconds": 10.0,
    "server.maxBodyBytes": 7340032,
    "server.tls.mode": None,
    "server.tls.certFile": None,
    "server.tls.keyFile": None,
    "server.tls.secretName": "hami-dra-webhook-ca",
    "server.tls.serviceName": "hami-dra-webhook",
    "server.tls.clusterDomain": "cluster.local",
    "server.tls.extraNames": [],
    "server.tls.webhookConfiguration": "zz-hami-dra-webhook",
    "server.tls.caDays": 365,
    "server.tls.leafHours": 168,
    "server.tls.checkSeconds": 60,
    "server.tls.minVersion": "1.3",
    "cluster.kubeconfig": None,
    "cluster.context": None,
    "cluster.namespace": None,
    "cluster.requestTimeoutSeconds": 2.0,
    "cluster.gracePeriodSeconds": 3600,
    "cluster.standalone": False,
    "driverProfiles": [],
    "logging.level": "info",
    "logging.format": "json",
    "preview.enabled": True,
    "preview.maxSeconds": 5.0,
    "preview.maxMemoryMiB": 320,
}


def value_at(settings: Settings, path: tuple[str | int, ...]) -> object:
    value = to_jsonable_python(settings, by_alias=True)
    for key in path:
        value = value[key]
    return value


def test_every_default_is_the_documented_one() -> None:
    settings = load_settings(environment={})
    assert {dotted(one.path): value_at(settings, one.path) for one in all_settings()} == DEFAULTS


def test_nothing_is_read_from_the_environment_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAMI_DRA_NODE_NAME", "deny")
    monkeypatch.setenv("SERVER", "{}")
    assert Settings() == load_settings(environment={})
