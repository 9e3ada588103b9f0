"""Registers a webhook with the API server, as the chart does, and waits until the API server uses it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Protocol

from app.translate.decision import ORIGINALS_ANNOTATION
from app.translate.settings import OptIn, ResourceNames, Schedulers
from tests.cluster.testbed.api import Api, ApiError
from tests.cluster.testbed.objects import pod
from tests.cluster.testbed.wait import wait_for

JSON = Any
NAME = "zz-hami-dra-webhook"
"""Sorts last: webhooks that inject containers or keys run before (S5)."""
OWN_NAMESPACE = "hami-dra-webhook"
_PROBE_NAMESPACE = "webhook-probe"


def webhook_configuration(url: str, ca_pem: bytes, settings: Mapping[str, JSON]) -> JSON:
    """The MutatingWebhookConfiguration of a webhook at ``url``: opt-in, opt-outs and conditions of S1, S2, S3 and S60.

    Args:
        url: where reviews are posted.
        ca_pem: what signed the webhook's certificate.
        settings: the webhook's settings file; its resource names and opt-in label appear in the selectors.
    """
    opt_in = OptIn.model_validate(settings.get("optIn", {}))
    has_key = _has_legacy_key(ResourceNames.model_validate(settings.get("resourceNames", {})))
    left_out = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [OWN_NAMESPACE, "kube-system", "kube-node-lease"],
    }
    opted_in = {"key": opt_in.label, "operator": "In", "values": [opt_in.value]}
    opted_out = {opt_in.label: opt_in.opt_out_value, "hami.io/webhook": "ignore"}
    common = {
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca_pem).decode()},
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 5,
    }
    create = common | {
        "name": "convert.dra-webhook.hami.io",
        "rules": [_rule("CREATE")],
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "namespaceSelector": {"matchExpressions": [opted_in, left_out]},
        "objectSelector": {
            "matchExpressions": [
                {"key": key, "operator": "NotIn", "values": [value]} for key, value in opted_out.items()
            ]
        },
        "matchConditions": [
            {"name": "has-legacy-key", "expression": has_key},
            {
                "name": "not-a-mirror-pod",
                "expression": f"!({_is_set('object', 'annotations', 'kubernetes.io/config.mirror')})",
            },
            # Says the same as the objectSelector, for installations in which something else rewrites selectors.
            {"name": "not-opted-out", "expression": " && ".join(f"!({_equals(k, v)})" for k, v in opted_out.items())},
        ],
    }
    # No opt-in label here: a namespace that was switched back still holds converted pods.
    update = common | {
        "name": "reapply.dra-webhook.hami.io",
        "rules": [_rule("UPDATE")],
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "namespaceSelector": {"matchExpressions": [left_out]},
        "matchConditions": [
            {"name": "was-converted", "expression": _is_set("oldObject", "annotations", ORIGINALS_ANNOTATION)},
            {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
            {"name": "has-legacy-key", "expression": has_key},
        ],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [create, update],
    }


def _rule(operation: str) -> JSON:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": ["pods"],
        "scope": "Namespaced",
    }


def _has_legacy_key(names: ResourceNames) -> str:
    """CEL: some container or init container has a configured name in limits or requests.

    Every optional field is guarded, since a missing one refuses the pod under ``failurePolicy: Fail``.
    """
    exact = [
        names.count,
        names.memory,
        names.memory_percentage,
        names.cores,
        names.priority,
        names.count + names.shared_suffix,
    ]
    key = f"k in {json.dumps(exact)} || k.startsWith({json.dumps(names.mig_prefix)})"
    one = " || ".join(
        f"has(c.resources.{part}) && c.resources.{part}.exists(k, {key})" for part in ("limits", "requests")
    )
    lists = ("object.spec.containers", "object.spec.initContainers")
    # A list that is written and left empty arrives as null, and "has" is true for it.
    there = {items: f"has({items}) && {items} != null" for items in lists}
    return " || ".join(f"{there[items]} && {items}.exists(c, has(c.resources) && ({one}))" for items in lists)


def _is_set(obj: str, part: str, key: str) -> str:
    """CEL: the object has this label or annotation."""
    return f"has({obj}.metadata.{part}) && {json.dumps(key)} in {obj}.metadata.{part}"


def _equals(label: str, value: str) -> str:
    """CEL: the pod has this label with this value."""
    return f"{_is_set('object', 'labels', label)} && object.metadata.labels[{json.dumps(label)}] == {json.dumps(value)}"


class Registered(Protocol):
    """What is registered: a webhook, by its settings and its configuration."""

    settings: dict[str, JSON]

    def configuration(self) -> JSON:
        """The MutatingWebhookConfiguration that points at it."""


class Registration:
    """The one webhook configuration of a control plane."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._current: Registered | None = None

    def use(self, webhook: Registered | None) -> Registered | None:
        """Have the API server call this webhook, or none; returns the one before. Waits until it is so."""
        before, self._current = self._current, None
        if before is not None:
            self._api.delete("MutatingWebhookConfiguration", NAME)
            wait_for(lambda: self._called(before.settings) is False, "the API server to forget the webhook")
        if webhook is not None:
            self._api.create(webhook.configuration())
            self._current = webhook
            wait_for(lambda: self._called(webhook.settings), "the API server to call the webhook")
        return before

    def _called(self, settings: Mapping[str, JSON]) -> bool | None:
        """Whether a pod reaches the webhook, seen by what it does under any settings: rewrite the scheduler (S4).

        None: the pod is refused by somebody else, as by an API server that still calls a webhook that was killed.
        """
        names = ResourceNames.model_validate(settings.get("resourceNames", {}))
        opt_in = OptIn.model_validate(settings.get("optIn", {}))
        legacy = Schedulers.model_validate(settings.get("schedulers", {})).legacy
        if self._api.find("Namespace", _PROBE_NAMESPACE) is None:
            self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _PROBE_NAMESPACE}})
            wait_for(
                lambda: self._api.find("ServiceAccount", "default", _PROBE_NAMESPACE), "the probe's ServiceAccount"
            )
        self._api.patch("Namespace", _PROBE_NAMESPACE, {"metadata": {"labels": {opt_in.label: opt_in.value}}})
        probe = pod("probe", {names.count: 1}, schedulerName=legacy)
        try:
            answer = self._api.create(probe, _PROBE_NAMESPACE, dry_run=True)
        except ApiError as error:
            if "webhook" not in error.message:
                raise
            return True if "denied the request" in error.message else None
        return bool(answer["spec"]["schedulerName"] != legacy)
