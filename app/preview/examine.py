"""Translates every pod that an input leads to, with the very function that the webhook calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.inventory import Inventory
from app.preview.advice import about_workload, outside_containers
from app.preview.documents import Document, Source
from app.preview.errors import Code, ManifestError, fault_of
from app.preview.explanation import explain
from app.preview.inputs import Track, untracked
from app.preview.kinds import Path
from app.preview.matches import Matcher
from app.preview.patched import patched
from app.preview.positions import place
from app.preview.report import Item, Outcome, Preview
from app.preview.surroundings import Surroundings, about_object
from app.preview.workloads import FoundPod, find_pods, manifests, rewritable, with_pod
from app.translate import Facts, Note, Policy, Reason, translate, translate_request
from app.translate.containers import mapping

_WHAT_A_MANIFEST_IS = "every manifest has apiVersion and kind"
_WHAT_A_FAULT_IS = "please report it with what is odd in this manifest; it says nothing about the others"


def preview(
    sources: Iterable[Source],
    facts: Facts,
    policy: Policy,
    *,
    own_namespace: str | None = None,
    track: Track = untracked,
    inventory: Inventory | None = None,
    name_nodes: bool = True,
    nearby: Iterable[Mapping[str, Any]] = (),
) -> Preview:
    """What becomes of every document of an input.

    Args:
        sources: what :func:`app.preview.documents.read` gives.
        facts: of the cluster; LimitRanges of the input count besides its own.
        policy: settings and driver profiles.
        own_namespace: the webhook's own namespace, where it is known.
        track: shows progress.
        inventory: the devices of the cluster; None = unknown.
        name_nodes: tell on which nodes devices match, not only on how many.
        nearby: LimitRanges and ResourceQuotas of the cluster.
    """
    result = Preview(list(sources))
    surroundings = Surroundings(policy, own_namespace)
    surroundings.read_cluster(nearby)
    matcher = None if inventory is None else Matcher(inventory, name_nodes)
    documents = [(source, document) for source in result.sources for document in source.documents]
    examiner = _Examiner(facts, policy, surroundings, matcher)
    for _, document in documents:
        examiner.read(document)
    for source, document in track(documents, "translating"):
        result.items += examiner.document(source, document)
    return result


@dataclass(frozen=True, slots=True)
class _Examiner:
    facts: Facts
    policy: Policy
    surroundings: Surroundings
    matcher: Matcher | None
    faults: dict[int, ManifestError] = field(default_factory=dict)
    """Of ours, by the identity of the document that met them."""

    def read(self, document: Document) -> None:
        """Takes note of what a document says about pods of others."""
        try:
            found = [manifest for _, manifest in manifests(document.value)]
            self.surroundings.read(found)
            if self.matcher is not None:
                self.matcher.read(found)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - one document must not take the others with it
            self.faults[id(document)] = _fault(error, document, ())

    def document(self, source: Source, document: Document) -> Iterator[Item]:
        """What becomes of everything in a document, whatever happens."""
        error = document.error or self.faults.get(id(document))
        if error is not None:
            yield Item(source, document, Outcome.INVALID, error=error)
            return
        for path, manifest in manifests(document.value):
            problem = _no_manifest(manifest)
            if problem is not None:
                error = _error(Code.NOT_A_MANIFEST, problem, document, path, _WHAT_A_MANIFEST_IS)
                yield Item(source, document, Outcome.INVALID, path=path, error=error)
                continue
            try:
                yield from [*self._manifest(source, document, path, manifest)]
            except MemoryError:
                raise
            except Exception as fault:  # noqa: BLE001 - as above
                yield Item(source, document, Outcome.INVALID, manifest, path, error=_fault(fault, document, path))

    def _manifest(self, source: Source, document: Document, path: Path, manifest: Mapping[str, Any]) -> Iterator[Item]:
        found = find_pods(manifest)
        general = (*about_object(manifest, self.policy, self.facts), *outside_containers(manifest, found, self.policy))
        for one in found:
            item = Item(source, document, Outcome.UNTOUCHED, manifest, path, one, pod=one.pod)
            self._pod(item, one)
            if self.matcher is not None:
                item.matches = self.matcher.matches(item.decision, item.pod, item.namespace)
            item.object_warnings, general = item.object_warnings + general, ()  # those about the object are said once
            yield item
        if not found:
            reasons: tuple[Note, ...] = (
                Note(Reason.NO_LEGACY_KEYS, "the object leads to no pod that the preview knows"),
            )
            if document.request is not None:  # the review of a subresource has an object of its own
                reasons = translate_request(document.request, self.facts, self.policy).reasons
            yield Item(source, document, Outcome.UNTOUCHED, manifest, path, reasons=reasons, object_warnings=general)

    def _pod(self, item: Item, found: FoundPod) -> None:
        request = item.document.request
        creates = request is None or request.operation == "CREATE"
        left_out = self.surroundings.left_out(item.namespace, creates=creates)
        if left_out is not None:
            item.reasons = (left_out,)
            return
        facts = self.surroundings.facts(item.namespace, self.facts)
        if request is None:
            decision = translate(found.pod, facts, self.policy)
        else:
            decision = translate_request(request, facts, self.policy)
        invalid = decision.reason is Reason.INVALID_REQUEST
        item.decision = decision
        item.explanation = tuple(explain(decision, found.pod, self.policy))
        item.outcome = Outcome.INVALID if invalid else Outcome(decision.outcome.value)
        item.pod_warnings = decision.warnings
        if decision.claims:
            item.pod_warnings += self.surroundings.quotas(item.namespace)
        if item.outcome is not Outcome.UNTOUCHED or decision.reason is not Reason.NO_LEGACY_KEYS:
            item.object_warnings = tuple(about_workload(item.manifest, found))
        if item.outcome in (Outcome.INVALID, Outcome.DENIED):
            item.pod = None
        elif decision.patch:
            item.pod = patched(found.pod, decision.patch)
            if rewritable(item.manifest):
                item.changed = with_pod(item.manifest, found, mapping(item.pod))


def _error(code: Code, message: str, document: Document, path: Path, hint: str) -> ManifestError:
    line, column = place(document, path) or (document.line + 1, 1)
    return ManifestError(code, message, document.index, line=line, column=column, hint=hint)


def _fault(error: Exception, document: Document, path: Path) -> ManifestError:
    return _error(
        Code.INTERNAL_ERROR, f"a fault of hami-dra-webhook: {fault_of(error)}", document, path, _WHAT_A_FAULT_IS
    )


def _no_manifest(value: Any) -> str | None:
    """Why a value is no manifest; None when it is one."""
    if not isinstance(value, dict):
        return f"not a manifest but {'a list' if isinstance(value, list) else 'a single value'}"
    missing = [field for field in ("apiVersion", "kind") if not isinstance(value.get(field), str) or not value[field]]
    return f"not a manifest: {' and '.join(missing)} missing" if missing else None
