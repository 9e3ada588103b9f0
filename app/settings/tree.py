"""The settings tree: what the translation reads, and how this process serves it.

Files spell the keys in camelCase as the contract does; ``docs/settings.md`` is generated from this module.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.drivers import load_profiles
from app.translate.policy import Policy
from app.translate.settings import ObjectName, SettingsModel, TranslationSettings

Port = Annotated[int, Field(ge=0, le=65535)]

MEBIBYTE = 1 << 20


class Tls(SettingsModel):
    """The certificate of the webhook listener."""

    mode: Literal["self-signed", "cert-manager", "provided"] | None = None
    """Who makes the certificate: this webhook, which then also writes the caBundle; cert-manager; or somebody else
    (``provided``). null = ``provided`` when files are given, else ``self-signed``."""
    cert_file: Path | None = None
    """PEM file with the certificate, leaf first, then its chain. Read again when it changes."""
    key_file: Path | None = None
    """PEM file with the private key of the certificate, without a passphrase."""
    secret_name: ObjectName = "hami-dra-webhook-ca"  # noqa: S105 - the name of a Secret is no secret
    """Secret with the CA, in the namespace of this installation (``self-signed``)."""
    service_name: ObjectName = "hami-dra-webhook"
    """Service by which API servers reach the webhook; its names stand in the certificate (``self-signed``)."""
    cluster_domain: ObjectName = "cluster.local"
    """Domain of the cluster's Services (``self-signed``)."""
    extra_names: tuple[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.:-]+$")], ...] = ()
    """Further DNS names and IP addresses for the certificate, for a webhook that is called by URL (``self-signed``)."""
    webhook_configuration: ObjectName = "zz-hami-dra-webhook"
    """MutatingWebhookConfiguration whose caBundle is written (``self-signed``)."""
    ca_days: Annotated[int, Field(ge=30, le=3650)] = 365
    """Life of the CA in days; it is replaced after two thirds (``self-signed``)."""
    leaf_hours: Annotated[int, Field(ge=1, le=240)] = 168
    """Life of the served certificate in hours; it is replaced after two thirds (``self-signed``). At most a third of
    the shortest CA, so that no CA ends before its leaves."""
    check_seconds: Annotated[float, Field(ge=0.1, le=600)] = 60
    """Seconds between two looks at clock, Secret and caBundle (``self-signed``)."""
    min_version: Literal["1.2", "1.3"] = "1.3"
    """Oldest TLS version that is spoken. Every API server that serves DRA speaks 1.3."""

    @model_validator(mode="after")
    def _files_fit_the_mode(self) -> Tls:
        if (self.cert_file is None) != (self.key_file is None):
            missing = "certFile" if self.cert_file is None else "keyFile"
            raise ValueError(f"{missing} is missing: a certificate and its key are given together")
        if self.mode == "self-signed" and self.cert_file is not None:
            raise ValueError("mode self-signed makes its own certificate; leave out certFile and keyFile, or the mode")
        if self.mode not in {None, "self-signed"} and self.cert_file is None:
            raise ValueError(f"mode {self.mode} reads files: give certFile and keyFile")
        return self


class Server(SettingsModel):
    """The two listeners and their life."""

    host: str = "::"
    """Address of the webhook listener. ``::`` is every address, of IPv6 and of IPv4."""
    port: Port = 10250
    """Port of the webhook listener (HTTPS); 0 = any free one. 10250 is open to the control plane in most clusters."""
    ops_host: str = "::"
    """Address of the ops listener."""
    ops_port: Port = 8080
    """Port of the ops listener (HTTP: health, metrics); 0 = any free one."""
    drain_seconds: Annotated[float, Field(ge=0, le=300)] = 10
    """Seconds to serve on after SIGTERM, until every API server has learnt that this replica leaves."""
    max_body_bytes: Annotated[int, Field(ge=65536, le=64 * MEBIBYTE)] = 7 * MEBIBYTE
    """Largest review. An object is at most 3 MiB, and an update carries two of them."""
    tls: Tls = Tls()


class Cluster(SettingsModel):
    """How the Kubernetes API is reached, and what is kept there."""

    kubeconfig: Path | None = None
    """Kubeconfig file; null = the service account of the pod."""
    context: str | None = None
    """Context of the kubeconfig; null = its current one."""
    namespace: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Namespace of this installation, for its Lease and its probe; null = that of the pod, else ``default``."""
    request_timeout_seconds: Annotated[float, Field(gt=0, le=10)] = 2
    """Seconds for one API call. An admission waits for it, so it must be well below the webhook's own timeout."""
    grace_period_seconds: Annotated[int, Field(ge=60)] = 3600
    """Seconds that an unused ResourceClaimTemplate of ours is kept."""
    standalone: bool = False
    """Serve without a cluster: templates are kept in memory and nothing is known of the devices."""


class Logging(SettingsModel):
    """What is logged to stdout."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is logged; each review is one line at ``info``."""
    format: Literal["json", "console"] = "json"
    """One JSON object per line, or text for people."""


class Previews(SettingsModel):
    """Previews on the ops listener (``POST /preview`` and the page at ``/``)."""

    enabled: bool = True
    """Answer previews. The command line shows them in any case."""
    max_seconds: Annotated[float, Field(ge=0.5, le=60)] = 5
    """Seconds that one preview may take. It works in a process of its own, so no review waits for it."""
    max_memory_mib: Annotated[int, Field(ge=64, le=16384, alias="maxMemoryMiB")] = 320
    """Memory that one preview may take, in MiB. It counts for the memory limit of the pod."""


class Settings(TranslationSettings, BaseSettings):
    """Everything that can be set. ``Settings()`` is the defaults; :func:`app.settings.load_settings` reads the rest."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )

    server: Server = Server()
    cluster: Cluster = Cluster()
    driver_profiles: tuple[Path, ...] = ()
    """Files with further driver profiles (TOML); one with the name of a built-in profile replaces it."""
    logging: Logging = Logging()
    preview: Previews = Previews()

    @cached_property
    def policy(self) -> Policy:
        """These settings with the driver profiles they name.

        Raises:
            app.drivers.ProfileError: a profile file cannot be used.
            app.translate.policy.PolicyError: the settings name a profile that does not exist or cannot serve.
        """
        return Policy(self, load_profiles(self.driver_profiles))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing is read behind the caller's back: environment and file are sources of ``load_settings`` only."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)
