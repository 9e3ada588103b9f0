"""Checks of the MutatingWebhookConfiguration, which decides what reaches the webhook at all."""

from __future__ import annotations

from typing import Any, Final

from app.check.health.finding import Finding, fail, listed, ok, summed, unknown, warn
from app.check.health.selectors import ConditionError, all_true, selects
from app.check.health.site import Site, is_asked_about_pods
from app.cluster.listing import MUTATING_WEBHOOKS

JSON = Any

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label that every namespace carries."""
_SOME_MIG: Final = "1g.5gb"


async def webhook(site: Site) -> Finding:
    """API servers ask the webhook about new pods and about applied ones, in a way that works."""
    name = site.webhook_name
    configuration = await site.reader.get(MUTATING_WEBHOOKS, name)
    if configuration is None:
        return fail(
            f"MutatingWebhookConfiguration {name} does not exist", "no pod is converted anywhere", site.helm_upgrade
        )
    webhooks = configuration.get("webhooks") or []
    creating = [one for one in webhooks if is_asked_about_pods(one, "CREATE")]
    updating = [one for one in webhooks if is_asked_about_pods(one, "UPDATE")]
    if not creating:
        return fail(f"{name} is not asked about new pods", "no pod is converted anywhere", site.helm_upgrade)
    problems = [problem for one in creating for problem in _of_entry(site, one)]
    if not updating:
        reason = "applying the manifest of a converted pod again is refused by the API server (S60)"
        problems.append(warn(f"{name} is not asked about updates of pods", reason, site.helm_upgrade))
    return summed(f"{name}: {listed([one['name'] for one in webhooks])}", problems)


def _of_entry(site: Site, entry: JSON) -> list[Finding]:
    problems = []
    if entry.get("failurePolicy") == "Ignore":
        problems.append(
            warn(
                f"{entry['name']} has failurePolicy Ignore",
                "while no replica answers, pods are admitted unconverted and wait for devices for ever",
                f"{site.helm_upgrade} --set webhook.failurePolicy=Fail",
            )
        )
    if entry.get("reinvocationPolicy") != "IfNeeded":
        problems.append(
            warn(
                f"{entry['name']} has reinvocationPolicy {entry.get('reinvocationPolicy', 'Never')}",
                "containers and keys that another webhook adds afterwards stay unconverted (S5)",
                site.helm_upgrade,
            )
        )
    patience, call = entry.get("timeoutSeconds", 10), site.settings.cluster.request_timeout_seconds
    if patience <= call:
        problems.append(
            warn(
                f"{entry['name']} has timeoutSeconds {patience}",
                f"one call of the webhook may take {call:g} s, so a slow API server ends in a refusal without words",
                f"{site.helm_upgrade} --set webhook.timeoutSeconds=5",
            )
        )
    return problems


async def opt_in_label(site: Site) -> Finding:
    """Namespaces that opt in as the settings say are those that API servers ask about (S2)."""
    entry = await site.converting()
    opt_in = site.settings.opt_in
    text = f"{opt_in.label}={opt_in.value}"
    selector = entry.get("namespaceSelector")
    if not selects(selector, {opt_in.label: opt_in.value, NAMESPACE_NAME: "some-namespace"}):
        return fail(
            f"{entry['name']} is not asked about namespaces with {text}",
            "the settings call these opted in, and their pods stay unconverted without a word",
            site.helm_upgrade,
        )
    if selects(selector, {NAMESPACE_NAME: "some-namespace"}):
        return warn(
            f"{entry['name']} is also asked about namespaces without {text}",
            "pods are converted, or refused, in namespaces that did not opt in",
            site.helm_upgrade,
        )
    return ok(text)


async def match_conditions(site: Site) -> Finding:
    """Pods with each configured resource name reach the webhook (S1)."""
    entry = await site.converting()
    policy = site.settings.policy
    conditions = entry.get("matchConditions") or ()
    names = [*policy.keys, policy.settings.resource_names.mig_prefix + _SOME_MIG]
    try:
        missed = [name for name in names if not all_true(conditions, _asking(name))]
    except ConditionError as error:
        return unknown(f"the matchConditions of {entry['name']} cannot be evaluated here", str(error))
    if missed:
        return fail(
            f"{entry['name']} is not asked about pods with {listed(missed, shown=len(missed))}",
            "its matchConditions say otherwise than settings.resourceNames, and such pods stay unconverted",
            site.helm_upgrade,
        )
    return ok(f"pods with {policy.settings.resource_names.count} and {len(names) - 1} more names reach the webhook")


def _asking(name: str) -> JSON:
    """The least pod that asks for a resource."""
    container = {"name": "main", "image": "none", "resources": {"limits": {name: "1"}, "requests": {name: "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "legacy", "namespace": "some-namespace"},
        "spec": {"containers": [container]},
    }


async def later_webhooks(site: Site) -> Finding:
    """No webhook changes pods after ours (S5); API servers ask in the order of the configurations' names."""
    later = [
        one["metadata"]["name"]
        for one in await site.reader.list(MUTATING_WEBHOOKS)
        if one["metadata"]["name"] > site.webhook_name
        and any(is_asked_about_pods(entry, "CREATE") for entry in one.get("webhooks") or ())
    ]
    if later:
        return warn(
            f"{listed(sorted(later))} sorted after {site.webhook_name}",
            "what these put into a pod is seen only when they change it, in a second round",
            "rename them, so that they sort before; or make sure that they add no containers and no resources",
        )
    return ok(f"no webhook on pods is sorted after {site.webhook_name}")
