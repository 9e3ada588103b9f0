"""Builds HTML of which every text and attribute is escaped, because nothing else can be put in."""

from __future__ import annotations

from html import escape
from typing import Final

_VOID: Final = frozenset({"meta"})


class Html(str):
    """Markup that was built here. Any other text is escaped when it is put into an element."""

    __slots__ = ()


Content = str | Html | None
"""Text, markup, or nothing."""


def tag(name: str, /, *content: Content, **attributes: str) -> Html:
    """An element: ``tag("td", "1 < 2", cls="number")``.

    Args:
        name: of the element.
        content: what is in it, one after the other; None is left out.
        attributes: ``cls`` stands for ``class``, an underscore for a hyphen; empty ones are left out.
    """
    given = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(*content)}</{name}>")


def join(*content: Content) -> Html:
    """Content one after the other."""
    return Html("".join(one if isinstance(one, Html) else escape(one) for one in content if one is not None))


def document(title: str, style: str, *body: Content) -> str:
    """A whole page that needs nothing but itself: no script, no outside resource.

    Args:
        style: CSS of the program's own, never of a cluster.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"
