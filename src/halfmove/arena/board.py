"""A game's board on a terminal, in colours; elsewhere, and where NO_COLOR is set, plain text.

Nothing is known of the game but its text (`Game.show`): rows of marks apart from each other, as
all games here show them. Capitals and `x` are the first player's, small letters, `O` and `W` the
second's. The last move is where two texts differ.
"""

import os
import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

MARK = re.compile(r"[^\s()]+")
PIECE = re.compile(r"\+?[A-Za-z]")
EMPTY = (".", "-")
COLUMNS = ("abcdefghijklmnopqrstuvwxyz", "abcdefghjklmnopqrstuvwxyz")  # Go has no I
FIRST, SECOND, LAST, HINT = "bold cyan", "bold yellow", "reverse", "bold green reverse"

Squares = dict[tuple[int, int], re.Match[str]]  # (row, column) -> the mark there


def show(console: Console, now: str, before: str = "", hints: Sequence[str] = ()) -> None:
    """Prints the board `now`; `before` is the one a move ago, `hints` those after some moves."""
    colours = console.is_terminal and console.color_system and not os.environ.get("NO_COLOR")
    text = coloured(now, before, hints) if colours else Text(now)
    console.print(text, highlight=False, soft_wrap=True)


def coloured(now: str, before: str = "", hints: Sequence[str] = ()) -> Text:
    """The same text with its pieces, the last move and the squares of the hints in colours."""
    text, board = Text(now), squares(now)
    for mark in board.values():
        style = "dim" if mark[0] in EMPTY else FIRST if _is_first(mark[0]) else SECOND
        text.stylize(style, *mark.span())
    for place in changed(squares(before), board):
        text.stylize(LAST, *board[place].span())
    for hint in hints:
        for place in changed(board, squares(hint)):
            if place in board:
                text.stylize(HINT, *board[place].span())
    return text


def squares(text: str) -> Squares:
    """The squares of a board, without the names of its rows and columns.

    A row of the board has nothing but pieces, empty squares and its number. A line of numbers, or
    of letters in the order of the alphabet, names the columns; one letter more than that at the
    end of a row is the row's name.
    """
    found: Squares = {}
    row = columns = start = 0
    for line in text.splitlines(keepends=True):
        marks = list(MARK.finditer(text, start, start + len(line)))
        start += len(line)
        if not marks or not all(_is_plain(mark[0]) for mark in marks):
            continue
        names = "".join(mark[0] for mark in marks).lower()
        places = [mark for mark in marks if not mark[0].isdigit()]
        if not places or any(names in alphabet for alphabet in COLUMNS):
            columns = len(marks)
            continue
        if len(places) == columns + 1 > 1:
            del places[-1]
        found |= {(row, column): mark for column, mark in enumerate(places)}
        row += 1
    return found


def changed(before: Squares, now: Squares) -> list[tuple[int, int]]:
    """The squares to which a move has brought something."""
    found = [
        place
        for place, mark in now.items()
        if mark[0] not in EMPTY and place in before and before[place][0] != mark[0]
    ]
    # What a move turns over is not where it was made.
    return [place for place in found if before[place][0] in EMPTY] or found


def _is_plain(mark: str) -> bool:
    return mark in EMPTY or mark.isdigit() or PIECE.fullmatch(mark) is not None


def _is_first(mark: str) -> bool:
    return mark == "x" or (mark.isupper() and mark not in ("O", "W"))
