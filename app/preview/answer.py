"""The answer to one request: pure work on bytes, done in the worker process."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from rich.console import Console

from app.cluster.offers import unpack
from app.inventory import Inventory
from app.preview import emit
from app.preview.converted import Converted, convert
from app.preview.diff import render_diff
from app.preview.documents import read
from app.preview.errors import Code, RequestError
from app.preview.examine import preview
from app.preview.explain import PLAIN_WIDTH, print_explanation
from app.preview.jobs import MAX_ANSWER_BYTES, Known
from app.preview.notes import notes, refusals
from app.preview.render import patches, to_json
from app.preview.report import Preview
from app.preview.sides import sides
from app.preview.wanted import Include, Output, Wanted
from app.translate.facts import ASSUMED_CARD_SIZES_MIB

_COMPRESSION: Final = 1
"""The fastest: more takes longer than the network saves."""
HALF: Final = "nothing is printed, since half of it applied is worse than none"


def answer(body: bytes, asked: Wanted, known: Known) -> tuple[bytes, str | None]:
    """What becomes of the manifests in a body, as it was asked for, and the fault of ours that a document met.

    Raises:
        RequestError: ``refused``, ``answer-too-large``.
    """
    facts = replace(known.facts, assumed_card_sizes_mib=ASSUMED_CARD_SIZES_MIB)
    result = preview(
        [read(body)],
        facts,
        asked.policy or known.policy,
        own_namespace=known.own_namespace,
        inventory=inventory(known.offers),
        name_nodes=False,  # whoever reaches the port may ask
    )
    content = _RENDER[asked.output](result, asked)
    if asked.gzip:
        content = gzip.compress(content, _COMPRESSION, mtime=0)
    if len(content) > MAX_ANSWER_BYTES:
        message = f"the answer has more than {MAX_ANSWER_BYTES >> 20} MiB"
        raise RequestError(Code.ANSWER_TOO_LARGE, message, hint="split the input, or ask for fewer renderings")
    return content, result.fault


@lru_cache(maxsize=1)
def inventory(offers: bytes | None) -> Inventory | None:
    """What the cluster offers; None while it is unknown."""
    return None if offers is None else unpack(offers)


def _json(result: Preview, asked: Wanted) -> bytes:
    report = result.report()
    if asked.include:
        report["renderings"] = _renderings(result, asked)
    return to_json(report)


def _renderings(result: Preview, asked: Wanted) -> dict[str, Any]:
    converted = convert(result)
    made: dict[str, Any] = {}
    if Include.YAML in asked.include:
        made["yaml"] = None if _refused(result, asked) else converted.yaml()
    if Include.DIFF in asked.include:
        made["diff"] = render_diff(converted)
    if Include.SIDES in asked.include:
        made["sides"] = sides(result, converted)
    made["notes"] = [*refusals(result), *notes(result, converted)]
    return made


def _report(result: Preview, _asked: Wanted) -> bytes:
    return emit.block(result.report()).encode()


def _yaml(result: Preview, asked: Wanted) -> bytes:
    return _whole(result, asked).yaml().encode()


def _diff(result: Preview, _asked: Wanted) -> bytes:
    return render_diff(convert(result)).encode()


def _patch(result: Preview, asked: Wanted) -> bytes:
    _refuse(result, asked)
    return to_json(patches(result))


def _explain(result: Preview, _asked: Wanted) -> bytes:
    text = io.StringIO()
    print_explanation(result, Console(file=text, width=PLAIN_WIDTH, no_color=True, highlight=False))
    return text.getvalue().encode()


_RENDER: Final = {
    Output.JSON: _json,
    Output.REPORT: _report,
    Output.YAML: _yaml,
    Output.DIFF: _diff,
    Output.PATCH: _patch,
    Output.EXPLAIN: _explain,
}


def _whole(result: Preview, asked: Wanted) -> Converted:
    _refuse(result, asked)
    return convert(result)


def _refused(result: Preview, asked: Wanted) -> bool:
    return bool(result.refused) and not asked.keep_going


def _refuse(result: Preview, asked: Wanted) -> None:
    if _refused(result, asked):
        causes = [reason for item in result.refused for reason in item.reasons_shaped()]
        message = f"{len(result.refused)} of {len(result.items)} would not run: {HALF}"
        raise RequestError(Code.REFUSED, message, hint="see causes; keepGoing=true answers anyhow", causes=causes)
