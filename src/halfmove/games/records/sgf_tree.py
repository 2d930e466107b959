"""SGF as a text: nodes and their properties, without knowing a game.

FF[4], https://www.red-bean.com/sgf/sgf4.html. Of variations only the first is kept.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from halfmove.games.records.reading import where
from halfmove.games.records.record import RecordError

SPACE = re.compile(r"\s*")
NAME = re.compile(r"[A-Za-z]+")
VALUE = re.compile(r"\[((?:[^\\\]]|\\.)*)\]", re.DOTALL)
ESCAPED = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)


@dataclass(frozen=True)
class Node:
    """The properties of one node, their values unescaped."""

    properties: Mapping[str, list[str]]
    at: int  # where it begins in the text

    def first(self, name: str, default: str = "") -> str:
        """The first value of a property."""
        return self.properties.get(name, [default])[0]


def write_node(properties: Iterable[tuple[str, Iterable[str]]]) -> str:
    """One node; a property without values is left out."""
    parts = []
    for name, values in properties:
        escaped = "".join(f"[{escape(value)}]" for value in values)
        parts.append(name + escaped if escaped else "")
    return ";" + "".join(parts)


def escape(text: str) -> str:
    """A text as a value holds it."""
    return text.replace("\\", "\\\\").replace("]", "\\]")


def _unescape(text: str) -> str:
    """A line break behind a backslash is none; any other character there stands for itself."""
    return ESCAPED.sub(lambda found: "" if found[1][0] in "\r\n" else found[1], text)


def parse(text: str) -> list[list[Node]]:
    """The main line of every game in a text; RecordError says where it is damaged."""
    lines: list[list[Node]] = []
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        raise RecordError("the text holds no game: an SGF file begins with (;")
    while at < len(text):
        if text[at] != "(":
            raise RecordError(f"{where(text, at)}: expected ( of a game, got {text[at]!r}")
        line, at = _tree(text, at)
        lines.append(line)
        at = _skip(text, at)
    return lines


def _skip(text: str, at: int) -> int:
    return SPACE.match(text, at).end()  # type: ignore[union-attr]


def _tree(text: str, at: int) -> tuple[list[Node], int]:
    """The first variations of the tree that begins at `at`, and where it ends."""
    begins, line = at, []
    main = True  # whether we are still on the first variations
    depth = 0
    while True:
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark == "(":
            depth += 1
            at += 1
        elif mark == ")":
            depth -= 1
            main = False
            at += 1
            if depth == 0:
                break
        elif mark == ";":
            node, at = _node(text, at)
            if main:
                line.append(node)
        elif mark:
            raise RecordError(f"{where(text, at)}: expected ; or ( or ), got {mark!r}")
        else:
            raise RecordError(
                f"{where(text, at)}: the text ends inside the game that begins at "
                f"{where(text, begins)}"
            )
    if not line:
        raise RecordError(f"{where(text, begins)}: a game without a node")
    return line, at


def _node(text: str, at: int) -> tuple[Node, int]:
    begins = at
    properties: dict[str, list[str]] = {}
    at = _skip(text, at + 1)
    while name := NAME.match(text, at):
        at = _skip(text, name.end())
        values = []
        while text[at : at + 1] == "[":
            value = VALUE.match(text, at)
            if value is None:
                raise RecordError(f"{where(text, at)}: the value of {name[0]} has no end (])")
            values.append(_unescape(value[1]))
            at = _skip(text, value.end())
        if not values:
            raise RecordError(f"{where(text, at)}: {name[0]} has no value, as in {name[0]}[...]")
        # Before FF[4] a name was written out, and its capital letters counted.
        short = "".join(letter for letter in name[0] if letter.isupper()) or name[0].upper()
        properties.setdefault(short, []).extend(values)
    return Node(properties, begins), at
