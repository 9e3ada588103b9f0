"""The template store of a server without a cluster: ``serve --standalone``."""

from __future__ import annotations

from collections import OrderedDict

from app.cluster.compare import same
from app.cluster.observer import NO_OBSERVER, StoreObserver
from app.cluster.store import TemplateNameTaken
from app.translate import Template


class MemoryTemplateStore:
    """Remembers templates instead of writing them.

    Args:
        limit: templates to remember; the least recently used one is forgotten beyond that, so that a server which
            people play with for months does not grow.
    """

    def __init__(self, *, limit: int = 10_000, observer: StoreObserver = NO_OBSERVER) -> None:
        self.templates: OrderedDict[tuple[str, str], Template] = OrderedDict()
        """By namespace and name, least recently used first."""
        self._limit = limit
        self._observer = observer

    async def ensure(self, namespace: str, template: Template, *, dry_run: bool = False) -> None:
        """See :meth:`app.cluster.store.TemplateStore.ensure`.

        Raises:
            TemplateNameTaken: the name belongs to other content.
        """
        key = (namespace, template.name)
        existing = self.templates.get(key)
        if existing is not None:
            if not same(existing.spec, template.spec):
                self._observer.failed(TemplateNameTaken.reason)
                raise TemplateNameTaken(template.name)
            self.templates.move_to_end(key)
            self._observer.reused()
        elif not dry_run:
            self.templates[key] = template
            self._observer.created()
            if len(self.templates) > self._limit:
                self.templates.popitem(last=False)
