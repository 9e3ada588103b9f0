"""Writes a value as YAML in a style drawn by hypothesis: what people's manifests look like, all at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Draw = st.DrawFn
_COMMENTS = st.sampled_from(["", "", "", " # why", " # {not: yaml}"])
_LINES = st.sampled_from(["", "", "", "# a line\n", "\n", "# two\n\n"])

_MOSTLY = st.sampled_from([True, True, True, False])


def write(draw: Draw, value: Any, *, anchors: bool = False) -> str:
    """A mapping as one block document.

    Args:
        draw: of the composite strategy.
        value: what the document says.
        anchors: collections that are there twice may be written as an anchor and aliases.
    """
    return _Writer(draw, anchors=anchors).block(value, 0)


@dataclass
class _Writer:
    draw: Draw
    anchors: bool
    anchored: list[Any] = field(default_factory=list)
    """Values with an anchor; it is named after their place here."""

    def block(self, value: Any, indent: int) -> str:
        """The members of a collection, each on its lines."""
        pad = " " * indent
        if isinstance(value, dict):
            return "".join(
                f"{self._comment_line(pad)}{pad}{self._scalar(key)}:{self._member(one, indent)}"
                for key, one in value.items()
            )
        return "".join(f"{self._comment_line(pad)}{pad}-{self._item(one, indent)}" for one in value)

    def _comment_line(self, pad: str) -> str:
        line = self.draw(_LINES)
        return f"{pad}{line}" if line.startswith("#") else line

    def _member(self, value: Any, indent: int) -> str:
        if isinstance(value, str) and "\n" in value and self.draw(st.booleans()):
            return self._literal(value, indent + self.draw(st.sampled_from([1, 2, 4])))
        if not isinstance(value, dict | list) or not value:
            return f" {self._flow(value)}{self.draw(_COMMENTS)}\n"
        if alias := self._alias(value):
            return f" {alias}{self.draw(_COMMENTS)}\n"
        # An anchor holds for what is written behind it, and a value is never an alias inside of itself.
        if self.draw(_MOSTLY):
            step = self.draw(st.sampled_from([2, 4])) if isinstance(value, dict) else self.draw(st.sampled_from([0, 2]))
            anchor, comment = self._anchor(), self.draw(_COMMENTS)
            text = f"{anchor}{comment}\n{self.block(value, indent + step)}"
        else:
            text = f"{self._anchor()} {self._flow(value)}{self.draw(_COMMENTS)}\n"
        self._named(text, value)
        return text

    def _item(self, value: Any, indent: int) -> str:
        if isinstance(value, dict | list) and value and self.draw(_MOSTLY):
            lines = self.block(value, indent + 2)
            if lines.lstrip(" ").startswith(("#", "\n")):
                return f"\n{lines}"
            return " " + lines.lstrip(" ")
        return f" {self._flow(value)}{self.draw(_COMMENTS)}\n"

    def _literal(self, value: str, indent: int) -> str:
        ending = "-" if not value.endswith("\n") else "+" if value.endswith("\n\n") else ""
        lines = value.removesuffix("\n").split("\n")
        body = "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in lines)
        return f" |{ending}{self.draw(_COMMENTS)}\n{body}"

    def _alias(self, value: Any) -> str:
        for number, one in enumerate(self.anchored):
            if json.dumps(one) == json.dumps(value) and self.draw(_MOSTLY):  # 1 is no true
                return f"*a{number}"
        return ""

    def _anchor(self) -> str:
        if not self.anchors or not self.draw(_MOSTLY):
            return ""
        self.anchored.append(None)  # its own name is known before what stands inside has names
        return f" &a{len(self.anchored) - 1}"

    def _named(self, text: str, value: Any) -> None:
        if text.startswith(" &a"):
            self.anchored[int(text[3:].split(maxsplit=1)[0])] = value

    def _flow(self, value: Any) -> str:
        space = self.draw(st.sampled_from(["", " "]))
        if isinstance(value, dict):
            inner = f",{self.draw(st.sampled_from([' ', '  ']))}".join(
                f"{self._scalar(key)}: {self._flow(one)}" for key, one in value.items()
            )
            return f"{{{space}{inner}{space}}}"
        if isinstance(value, list):
            return f"[{space}{', '.join(self._flow(one) for one in value)}{space}]"
        return self._scalar(value)

    def _scalar(self, value: Any) -> str:
        if isinstance(value, str) and value.isalpha() and value not in ("yes", "on") and self.draw(st.booleans()):
            return value
        if isinstance(value, str) and "'" not in value and value.isprintable() and self.draw(st.booleans()):
            return f"'{value}'"
        return json.dumps(value)
