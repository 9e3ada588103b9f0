"""What a request wants: the output, by ``?output=`` or ``Accept``, and other options. All mistakes are said at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from app.preview.errors import Code, RequestError, shape
from app.preview.options import OptionsError, with_options
from app.settings.keys import did_you_mean
from app.translate import Policy

Word = TypeVar("Word", bound=StrEnum)


class Output(StrEnum):
    """What an answer holds."""

    JSON = "json"
    """The report, and renderings where they are asked for."""
    REPORT = "report"
    """The report as YAML."""
    YAML = "yaml"
    """The converted manifests."""
    DIFF = "diff"
    PATCH = "patch"
    EXPLAIN = "explain"


class Include(StrEnum):
    """Renderings that come with the JSON report."""

    YAML = "yaml"
    DIFF = "diff"
    SIDES = "sides"
    """Each item before and after, for a page."""


MEDIA_TYPES: Final[Mapping[Output, str]] = {
    Output.JSON: "application/json",
    Output.REPORT: "application/yaml",
    Output.YAML: "application/yaml",
    Output.DIFF: "text/x-diff",
    Output.PATCH: "application/json",
    Output.EXPLAIN: "text/plain",
}
"""Of the answer."""
ACCEPTED: Final[Mapping[str, Output]] = {
    "application/json": Output.JSON,
    "application/yaml": Output.REPORT,
    "application/yaml;as=manifests": Output.YAML,
    "text/plain": Output.EXPLAIN,
    "text/x-diff": Output.DIFF,
    "text/x-patch": Output.DIFF,
    "application/json-patch+json": Output.PATCH,
}
"""By ``Accept``; a range (``text/*``) takes the first that it covers. ``as`` is Kubernetes' own word there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request without its body."""

    output: Output = Output.JSON
    media_type: str = MEDIA_TYPES[Output.JSON]
    include: frozenset[Include] = frozenset()
    keep_going: bool = False
    policy: Policy | None = None
    """None = the server's own."""
    gzip: bool = False
    """The client takes gzip, which makes a tenth of a report."""


def wanted(query: Sequence[tuple[str, str]], headers: Mapping[str, str], policy: Policy) -> Wanted:
    """What a request wants.

    Args:
        query: names and values, in their order.
        headers: by their names in lower case.
        policy: the server's own.

    Raises:
        RequestError: ``invalid-option`` with every mistake, or ``not-acceptable``.
    """
    if len(query) > MAX_OPTIONS or any(len(name) > MAX_OPTION_CHARACTERS for name, _ in query):
        # This is looked at by the process that answers reviews, so there must not be much of it.
        message = f"more than {MAX_OPTIONS} options, or one of more than {MAX_OPTION_CHARACTERS} characters"
        raise RequestError(Code.INVALID_OPTION, message)
    problems: list[dict[str, Any]] = []
    for name in dict.fromkeys(name for name, _ in query):
        if name not in _OPTIONS:
            problems.append(_problem(name, f"there is no option {name!r}", did_you_mean(name, _OPTIONS)))
        elif name not in _REPEATABLE and sum(name == other for other, _ in query) > 1:
            problems.append(_problem(name, f"{name} is given more than once", "leave one of them"))
    values = dict(query)
    output = _word("output", values.get("output"), Output, problems)
    include = {_word("include", value, Include, problems) for name, value in query if name == "include"}
    keep_going = _word("keepGoing", values.get("keepGoing"), _Switch, problems)
    changed = policy
    try:
        changed = with_options(policy, values.get("backend"), [value for name, value in query if name == "set"])
    except OptionsError as error:
        problems += [_problem(f"{one.option}={one.key}", f"{one.key}: {one.message}") for one in error.problems]
    _refuse(problems)
    output, media_type = negotiate(headers.get("accept")) if output is None else (output, MEDIA_TYPES[output])
    if include and output is not Output.JSON:
        _refuse([_problem("include", f"include comes with output=json, not with output={output}")])
    return Wanted(
        output,
        media_type,
        frozenset(one for one in include if one is not None),
        keep_going is _Switch.TRUE,
        None if changed is policy else changed,
        "gzip" in headers.get("accept-encoding", ""),
    )


def negotiate(accept: str | None) -> tuple[Output, str]:
    """The output that an ``Accept`` header asks for, and the media type of the answer.

    Raises:
        RequestError: ``not-acceptable``.
    """
    best: tuple[float, Output, str] | None = None
    for part in (accept or "*/*").split(","):
        media_range, quality = _range(part)
        found = next((name for name in ACCEPTED if _covers(media_range, name)), None)
        if found is not None and quality > (0.0 if best is None else best[0]):
            best = (quality, ACCEPTED[found], found.partition(";")[0])
    if best is None:
        hint = f"accept one of {', '.join(ACCEPTED)}, or say output={'|'.join(Output)}"
        raise RequestError(
            Code.NOT_ACCEPTABLE, f"there is no answer as {str(accept)[:200]!r}", path="Accept", hint=hint
        )
    return best[1], best[2]


class _Switch(StrEnum):
    TRUE = "true"
    FALSE = "false"


MAX_OPTIONS: Final = 50
"""Of one request; more than there are settings to set."""
MAX_OPTION_CHARACTERS: Final = 80
_OPTIONS: Final = dict.fromkeys(("output", "include", "keepGoing", "backend", "set"))
_REPEATABLE: Final = ("include", "set")


def _word(name: str, value: str | None, words: type[Word], problems: list[dict[str, Any]]) -> Word | None:
    """A word of a list; None where none is given, or a wrong one."""
    if value is None:
        return None
    if value in list(words):
        return words(value)
    hint = did_you_mean(value[:MAX_OPTION_CHARACTERS], dict.fromkeys(words))
    problems.append(_problem(name, f"{name} is {value[:MAX_OPTION_CHARACTERS]!r}, which is none of its words", hint))
    return None


def _problem(path: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return shape(Code.INVALID_OPTION, message, path=path, hint=hint)


def _refuse(problems: Sequence[Mapping[str, Any]]) -> None:
    if len(problems) == 1:
        (one,) = problems
        raise RequestError(Code.INVALID_OPTION, one["message"], path=one["path"], hint=one["hint"])
    if problems:
        message = f"{len(problems)} options cannot be used: {'; '.join(one['message'] for one in problems)}"
        raise RequestError(Code.INVALID_OPTION, message, causes=problems)


def _range(part: str) -> tuple[str, float]:
    """``application/yaml; as=manifests; q=0.5`` → ``application/yaml;as=manifests`` and 0.5."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = 1.0
    kept = []
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key == "q":
            quality = _quality(value)
        elif key == "as":
            kept.append(parameter)
    return ";".join((name, *kept)), quality


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0


def _covers(media_range: str, name: str) -> bool:
    kind, _, rest = media_range.partition("/")
    return media_range in {name, "*/*"} or (rest == "*" and name.startswith(f"{kind}/"))
