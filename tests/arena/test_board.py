"""The colours of a board, against squares that were counted by hand."""

import io

import jax
import pytest
from rich.console import Console

from halfmove import games
from halfmove.arena.board import changed, coloured, show, squares

SHOGI = """\
white's hand: P
  9  8  7
  l  n +p  a
  . +B  .  b
  K  .  s  c
black's hand: -
move 7, black to play"""
GO = """\
   A B C
 3 . X . 3
 2 .(O)X 2
 1 . . . 1
   A B C
black (X) to play; captured: 0 X, 0 O"""


def marks(text):
    """The marks of a board by its rows."""
    found = squares(text)
    rows = 1 + max((row for row, _ in found), default=-1)
    return [
        "".join(found[place][0] for place in sorted(found) if place[0] == r) for r in range(rows)
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (SHOGI, ["ln+p", ".+B.", "K.s"]),
        (GO, [".X.", ".OX", "..."]),
        ("4 c e g\n3 . . .\n  a b c\nwhite to move", ["ceg", "..."]),
        (". o x\nx . .\no x x", [".ox", "x..", "oxx"]),
        ("x o\n. .\n1 2", ["xo", ".."]),
        ("nothing of the kind", []),
        ("", []),
    ],
)
def test_squares_are_told_from_labels(text, rows):
    assert marks(text) == rows


@pytest.mark.parametrize("name", ["connect_four", "go", "hex", "othello", "tic_tac_toe"])
def test_games_have_their_squares(name):
    game = games.make(name)
    found = squares(game.show(game.init(jax.random.key(0))))
    sides = {"connect_four": 42, "go": 81, "hex": 121, "othello": 64, "tic_tac_toe": 9}
    assert len(found) == sides[name]


@pytest.mark.parametrize(
    ("before", "now", "places"),
    [
        ("x . .\n. . .", "x o .\n. . .", [(0, 1)]),  # a new mark
        ("2 . P\n1 R k", "2 . P\n1 . R", [(1, 1)]),  # a capture: where the piece is now
        ("X O -\n- - -", "X X X\n- - -", [(0, 2)]),  # discs that turn over
        (". .\n. .", ". .\n. .", []),  # a pass
        ("", "x .\n. .", []),
    ],
)
def test_where_the_last_move_was(before, now, places):
    assert changed(squares(before), squares(now)) == places


def spans(text):
    return {(text.plain[span.start : span.end], str(span.style)) for span in text.spans}


def test_pieces_the_last_move_and_a_hint_have_their_colours():
    found = coloured("x o .\n. . .", "x . .\n. . .", ["x o .\nx . ."])
    assert found.plain == "x o .\n. . ."
    assert {("x", "bold cyan"), ("o", "bold yellow"), ("o", "reverse")} <= spans(found)
    assert (".", "bold green reverse") in spans(found)
    assert {str(s.style) for s in coloured(GO).spans if GO[s.start] == "O"} == {"bold yellow"}


def test_plain_text_where_nobody_can_see_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for terminal, silent in ((True, ""), (False, ""), (True, "1")):
        monkeypatch.setenv("NO_COLOR", silent)
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, color_system="standard")
        show(console, GO, GO.replace("(O)", " . "))
        plain = not terminal or silent
        assert (out.getvalue() == GO + "\n") is bool(plain)
        assert ("\x1b[" in out.getvalue()) is not bool(plain)
