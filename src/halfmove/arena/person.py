"""A person as a player: sees the board and types moves, one game after the other."""

import io
import os
import stat
import sys

import numpy as np
from rich.console import Console

from halfmove import games
from halfmove.arena.board import show
from halfmove.arena.engines import RESIGN
from halfmove.core.game import Game, State

HELP = "a move, or `resign`; Ctrl-D leaves, and the same command begins this game again"


class Left(Exception):  # noqa: N818
    """The person has gone before the game was over."""


def present() -> None:
    """ValueError if nobody can be asked: input is neither a terminal nor lines from elsewhere."""
    if sys.stdin is None or sys.stdin.closed:
        raise ValueError("a person cannot play: there is no standard input")
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except io.UnsupportedOperation:
        return  # a program that has lines in memory
    if stat.S_ISCHR(kind) and not sys.stdin.isatty():
        raise ValueError(
            "a person cannot play: standard input is neither a terminal nor a pipe or file with "
            "moves, one a line"
        )


def ask(game: Game, before: State | None, state: State, legal: np.ndarray, who: str) -> int:
    """The person's move, or `RESIGN`; Left at the end of the input."""
    look(game, before, state)
    while True:
        print(f"{who}, your move: ", end="", flush=True)
        line = sys.stdin.readline()
        word = line.strip()
        if not line:
            print()
            raise Left
        if word.lower() == "resign":
            return RESIGN
        try:
            action = game.parse_move(state, word)
            if legal[action]:
                return action
            games.play(game, state, word)  # says what would be legal
        except ValueError as error:
            print(f"{error}. Type {HELP}.")


def look(game: Game, before: State | None, state: State) -> None:
    """Shows the board, and the last move on it."""
    print()
    show(Console(), game.show(state), "" if before is None else game.show(before))
    print()
