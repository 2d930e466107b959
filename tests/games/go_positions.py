"""Positions of Go as rows of marks, and moves by row and column."""

import numpy as np

from halfmove.games import make, play

MARKS = np.array(list(".XO"))


def sgf(rows, player="B"):
    rows = rows.split()
    lists = {"X": "", "O": ""}
    for r, row in enumerate(rows):
        for c, mark in enumerate(row):
            if mark != ".":
                lists[mark] += f"[{chr(97 + c)}{chr(97 + r)}]"
    stones = "".join(f"A{name}{at}" for name, at in zip("BW", lists.values(), strict=True) if at)
    return f"(;SZ[{len(rows)}]{stones}PL[{player}])"


def set_up(rows, player="B", **options):
    game = make("go", size=len(rows.split()), engine="xla", **options)
    return game, game.parse_position(sgf(rows, player))


def rows_of(game, state):
    return ["".join(MARKS[row]) for row in game.board(state)]


def at(game, row, column):
    return row * game.size + column


def moves(game, state, *places):
    for place in places:
        state = play(game, state, "pass" if place == "pass" else at(game, *place))
    return state
