"""Turns the scanner's words into what went wrong for the person who wrote the file."""

from __future__ import annotations

import re
from typing import Final

from app.preview.errors import Code

_TEMPLATE = re.compile(r"\{\{|\{%|^\s*\{#")
"""What opens an action, a statement or a comment of a template."""
_TEMPLATE_LINES = 200
"""Lines searched for the first of these that does not stand in quotes or a comment."""
_INDENTATION: Final = " \t?-"
"""Blanks, and the signs of lists and keys that stand in each other."""
RENDER_FIRST: Final = "render it first: helm template RELEASE CHART | hami-dra-webhook preview -"

_HINTS: Final = (
    ("mapping values are not allowed", "quote values that hold a colon and a blank, and check the indentation"),
    ("found character that cannot start any token", "quote values that start with @, ` or %"),
    ("did not find expected key", "indent this line like its neighbours, and close quotes and braces before it"),
    ("did not find expected '-' indicator", "items of one list start in one column"),
    ("could not find expected ':'", "a key needs a colon and a blank, and text over several lines needs quotes"),
    ("did not find expected ',' or", "close braces and brackets, and part their items by commas"),
    ("did not find expected node content", "something is missing here, or a brace before it is not closed"),
    ("found unexpected end of stream", "a quote is not closed"),
    ("block sequence entries are not allowed", "start the list on its own line"),
    ("while scanning a block scalar", "| and > stand alone on their line, with an indented text below"),
    ("did not find expected <document start>", "start documents with ---, without %YAML lines and ... before it"),
    ("found unknown escape character", "use single quotes around backslashes"),
)
"""What usually causes a problem of the scanner."""


def holds_template(value: object) -> bool:
    """A value that a renderer would fill in, left as it is by quotes around it."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def hint_for(text: str, problem: str, line: int, column: int) -> tuple[Code, str, str | None, int, int]:
    """Code, message, hint, line and column (from 0) of a syntax error.

    Positions may move to the cause: a template's braces or a tab are often some lines before the place where
    the scanner gives up.
    """
    lines = text.split("\n")
    template = template_line(lines, line)
    if template is not None:
        line, column = template
        message = f"a template that is not rendered: {lines[line][column:].strip()[:60]}"
        return Code.TEMPLATE_NOT_RENDERED, message, RENDER_FIRST, line, column
    here = lines[line] if line < len(lines) else ""
    indentation = here[: len(here) - len(here.lstrip(_INDENTATION))]
    if "\t" in indentation:
        return Code.TAB, "a tab in the indentation", "YAML is indented with blanks only", line, indentation.index("\t")
    if problem == "exceeded maximum nesting depth":  # libyaml looks ahead, so it may stop before our own limit does
        return Code.NESTED_TOO_DEEP, "collections inside each other, too many to read", None, line, column
    for start, hint in _HINTS:
        if problem.startswith(start):
            return Code.YAML_SYNTAX, problem, hint, line, column
    return Code.YAML_SYNTAX, problem, None, line, column


def template_line(lines: list[str], near: int) -> tuple[int, int] | None:
    """Line and column of braces of a template (Helm, Jinja) that YAML cannot mean; None when there are none.

    Args:
        lines: of the document.
        near: the line where the scanner gave up; a template stands there or before.
    """
    for number in range(min(near + 1, len(lines)) - 1, max(-1, near - _TEMPLATE_LINES), -1):
        bare = re.sub(r'"[^"]*"|\'[^\']*\'|(^|\s)#.*', lambda match: " " * len(match[0]), lines[number])
        found = _TEMPLATE.search(bare)
        if found is not None:
            return number, found.end() - 2
    return None
