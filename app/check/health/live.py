"""The proof: a pod as users write it comes back converted, in a dry run."""

from __future__ import annotations

from typing import Any, Final

from app.check.health.finding import Finding, fail, ok, unknown
from app.check.health.namespaces import served_namespaces
from app.check.health.reader import Unreadable
from app.check.health.site import NotRegisteredError, Site
from app.cluster.api import ApiError
from app.cluster.listing import PODS
from app.settings import Settings
from app.translate.decision import CONVERTED_LABEL
from app.translate.selection import NOT_UUID

JSON = Any

_USUAL_SUFFIX: Final = '.dra-webhook.hami.io"'
"""Ends the names of our entries where the configuration cannot be read."""
_NOBODYS_CARD: Final = "GPU-00000000-0000-0000-0000-000000000000"


async def live_test(site: Site) -> Finding:
    """The API server asks a replica about a legacy pod, and the answer is a converted one; nothing is stored."""
    served = await served_namespaces(site)
    if not served:
        return unknown("no namespace to try it in", "none opted in", "opt a namespace in, and run this check again")
    namespace = served[0]
    found = f"a dry run in namespace {namespace}"
    try:
        answer = await site.reader.ask(PODS, legacy_pod(site.settings), namespace)
    except ApiError as error:
        if await _is_ours(site, error):
            return fail(f"{found} was refused", error.message, "docs/recovery.md says what each refusal means")
        return unknown(f"{found} was refused", error.message, "try it in another namespace: docs/check.md#live-test")
    converted = (answer["metadata"].get("labels") or {}).get(CONVERTED_LABEL) == "true"
    if converted and answer["spec"].get("resourceClaims"):
        return ok(f"{found} came back with a claim")
    return site.compared(
        fail(
            f"{found} came back unconverted",
            "the API server does not call the webhook, or it left the pod alone",
            "look at the other lines; the log of the replicas has a line for each pod that they were asked about",
        )
    )


async def _is_ours(site: Site, error: ApiError) -> bool:
    """Whether our webhook refused or gave no answer: API servers quote the name of the entry."""
    try:
        names = [entry["name"] for entry in await site.webhooks()]
    except (NotRegisteredError, Unreadable):
        return _USUAL_SUFFIX in error.message
    return any(f'webhook "{name}"' in error.message for name in names)


def legacy_pod(settings: Settings) -> JSON:
    """What ``helm test`` tries too (a test compares them).

    As strict as the ``restricted`` Pod Security Standard, which may hold for every namespace. With ``wholeGpu: native``
    whole cards alone are Kubernetes' own business; a card to avoid, which nobody has, makes it ours.
    """
    metadata: JSON = {"name": "legacy"}
    if settings.whole_gpu == "native":
        metadata["annotations"] = {NOT_UUID: _NOBODYS_CARD}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"limits": {settings.resource_names.count: "1"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec: JSON = {
        "containers": [container],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    if settings.schedulers.legacy:
        spec["schedulerName"] = settings.schedulers.legacy
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
