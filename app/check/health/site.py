"""The installation that is looked at: where it is, and the settings that it runs with."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.check.health.finding import Finding, State, fail, ok, unknown
from app.check.health.reader import Reader, Unreadable
from app.cluster.listing import CONFIG_MAPS, DEPLOYMENTS, MUTATING_WEBHOOKS
from app.settings import Settings, SettingsError, load_settings

JSON = Any

USUAL_NAMESPACE: Final = "hami-dra-webhook"
"""Where ``docs/install.md`` puts it."""
_CHART: Final = "hami-dra-webhook-"
"""Begins the label ``helm.sh/chart`` of our objects."""


class NotRegisteredError(Exception):
    """There is no MutatingWebhookConfiguration to look at; another check says so."""


@dataclass(frozen=True)
class Site:
    """One installation; its checks read through ``reader``."""

    reader: Reader
    namespace: str
    settings: Settings
    settings_finding: Finding
    """Where the settings come from, and whether they can be used."""
    release: str = "RELEASE"
    """Of helm; a word to replace where it is not known."""
    workload: str = "deployment/NAME"
    """The Deployment, as kubectl takes it."""

    @property
    def webhook_name(self) -> str:
        """Name of the MutatingWebhookConfiguration."""
        return self.settings.server.tls.webhook_configuration

    @property
    def self_signed(self) -> bool:
        """The replicas make their certificates and write the caBundle."""
        tls = self.settings.server.tls
        return tls.mode == "self-signed" or (tls.mode is None and tls.cert_file is None)

    @property
    def helm_upgrade(self) -> str:
        """The command that puts the chart's objects back as they should be."""
        return f"helm upgrade {self.release} charts/hami-dra-webhook --namespace {self.namespace} --reuse-values"

    def compared(self, finding: Finding) -> Finding:
        """What a comparison with the settings proves: no fault where these are only assumed."""
        source = self.settings_finding
        if finding.state is not State.FAIL or source.state is State.OK:
            return finding
        return unknown(f"by the defaults: {finding.found}", source.reason, source.fix)

    async def deployment(self) -> JSON | None:
        """The Deployment of the replicas; None where there is none.

        Raises:
            Unreadable: Deployments cannot be listed.
        """
        return await find_deployment(self.reader, self.namespace)

    async def webhooks(self) -> list[JSON]:
        """The entries of the MutatingWebhookConfiguration.

        Raises:
            NotRegisteredError: there is none.
            Unreadable: it cannot be read.
        """
        configuration = await self.reader.get(MUTATING_WEBHOOKS, self.webhook_name)
        entries: list[JSON] = (configuration or {}).get("webhooks") or []
        if not entries:
            raise NotRegisteredError
        return entries

    async def converting(self) -> JSON:
        """The entry that is asked about new pods.

        Raises:
            NotRegisteredError: there is none.
            Unreadable: the configuration cannot be read.
        """
        found = next((one for one in await self.webhooks() if is_asked_about_pods(one, "CREATE")), None)
        if found is None:
            raise NotRegisteredError
        return found


def is_asked_about_pods(webhook: JSON, operation: str) -> bool:
    """Whether a webhook's rules cover an operation on pods."""
    return any(
        {"*", operation} & set(rule.get("operations") or ())
        and {"*", ""} & set(rule.get("apiGroups") or ())
        and {"*", "v1"} & set(rule.get("apiVersions") or ())
        and {"*", "*/*", "pods", "pods/*"} & set(rule.get("resources") or ())
        for rule in webhook.get("rules") or ()
    )


async def find_site(reader: Reader, namespace: str | None, given: Settings | None, source: str) -> Site:
    """Find the installation, and the settings that it runs with.

    Args:
        reader: asks the cluster.
        namespace: of the installation; None = where the webhook configuration leads, else the usual one.
        given: settings of a file that the caller named; None = those of the installation.
        source: what the given settings are called.
    """
    if namespace is None:
        namespace = await _namespace_of_service(reader, given or Settings()) or USUAL_NAMESPACE
    release, workload = "RELEASE", "deployment/NAME"
    try:
        deployment = await find_deployment(reader, namespace)
    except Unreadable as error:
        deployment, why = None, f"Deployments in {namespace} cannot be read: {error}"
    else:
        why = f"there is no Deployment of the chart in {namespace}"
    if deployment is not None:
        release = deployment["metadata"]["labels"].get("app.kubernetes.io/instance", release)
        workload = f"deployment/{deployment['metadata']['name']}"
    if given is not None:
        return Site(reader, namespace, given, ok(source), release, workload)
    if deployment is None:
        return Site(reader, namespace, Settings(), _assumed(why), release)
    settings, finding = await _installed(reader, namespace, deployment)
    return Site(reader, namespace, settings, finding, release, workload)


async def find_deployment(reader: Reader, namespace: str) -> JSON | None:
    """The chart's Deployment in a namespace."""
    for deployment in await reader.list(DEPLOYMENTS, namespace):
        chart = (deployment["metadata"].get("labels") or {}).get("helm.sh/chart", "")
        selected = deployment["spec"]["selector"].get("matchLabels") or {}
        if chart.startswith(_CHART) and selected.get("app.kubernetes.io/component") == "webhook":
            return deployment
    return None


async def _namespace_of_service(reader: Reader, settings: Settings) -> str | None:
    name = settings.server.tls.webhook_configuration
    try:
        configuration = await reader.get(MUTATING_WEBHOOKS, name)
    except Unreadable:
        return None
    for webhook in (configuration or {}).get("webhooks") or ():
        namespace: str | None = (webhook["clientConfig"].get("service") or {}).get("namespace")
        if namespace:
            return namespace
    return None


async def _installed(reader: Reader, namespace: str, deployment: JSON) -> tuple[Settings, Finding]:
    """The settings that the replicas mount."""
    spec = deployment["spec"]["template"]["spec"]
    name = next((one["configMap"]["name"] for one in spec.get("volumes") or () if "configMap" in one), "")
    mounts = spec["containers"][0].get("volumeMounts") or ()
    folder = next((one["mountPath"] for one in mounts if one["name"] == "settings"), "")
    title = f"ConfigMap {namespace}/{name}"
    try:
        config_map = await reader.get(CONFIG_MAPS, name, namespace) if name else None
    except Unreadable as error:
        return Settings(), _assumed(f"{title} cannot be read: {error}")
    data = (config_map or {}).get("data") or {}
    if "config.yaml" not in data:
        return Settings(), fail(f"{title} holds no config.yaml", "new replicas cannot start", "helm upgrade writes it")
    try:
        return _loaded(data, folder), ok(title)
    except SettingsError as error:
        return Settings(), fail(
            f"{title} cannot be used",
            f"new replicas do not start: {'; '.join(error.problems)}",
            "correct the values, then helm upgrade",
        )


def _loaded(files: dict[str, str], folder: str) -> Settings:
    """Settings of a ConfigMap, with the driver profiles in it."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in files.items():
            (Path(scratch) / name).write_text(text.replace(f"{folder}/", f"{scratch}/"), encoding="utf-8")
        try:
            return load_settings(Path(scratch) / "config.yaml", environment={})
        except SettingsError as error:
            raise SettingsError([problem.replace(f"{scratch}/", f"{folder}/") for problem in error.problems]) from error


def _assumed(why: str) -> Finding:
    return unknown("the defaults are assumed", why, "give the settings of the installation with --config")
