"""The store of a server without a cluster."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.cluster.memory import MemoryTemplateStore
from app.cluster.store import TemplateNameTaken
from tests.store.kit import Tally, claim_spec, template


async def test_a_template_is_remembered_once(tally: Tally) -> None:
    store = MemoryTemplateStore(observer=tally)
    for _ in range(3):
        await store.ensure("team", template())
    assert list(store.templates) == [("team", template().name)]
    assert tally.counts == {"created": 1, "reused": 2}


async def test_a_name_with_other_content_is_taken(tally: Tally) -> None:
    store = MemoryTemplateStore(observer=tally)
    await store.ensure("team", template())
    await store.ensure("team", template(spec=claim_spec("8000Mi", count=1)))
    with pytest.raises(TemplateNameTaken):
        await store.ensure("team", template(spec=claim_spec("1Gi")))
    await store.ensure("other", template(spec=claim_spec("1Gi")))


async def test_a_dry_run_is_not_remembered() -> None:
    store = MemoryTemplateStore()
    await store.ensure("team", template(), dry_run=True)
    assert not store.templates


async def test_the_least_recently_used_is_forgotten() -> None:
    store = MemoryTemplateStore(limit=2)
    for name in ("a", "b", "a", "c"):
        await store.ensure("team", template(name))
    assert [name for _, name in store.templates] == ["a", "c"]


def test_it_does_not_load_the_kubernetes_client() -> None:
    code = "import sys, app.cluster.memory, app.cluster.store; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
