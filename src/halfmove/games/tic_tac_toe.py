"""Tic-tac-toe: three in a row. The shortest example of a game."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array, pytree
from halfmove.games.board import symmetries, turned

LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)
MARKS = ".xo"


@pytree
class State:
    """A board and who won."""

    board: Array  # [9] i8: 0 empty, 1 player 0, 2 player 1
    winner: Array  # [] i8: 0 nobody, 1 or 2
    earned: Array  # [] bool: whether the last move won


@dataclass(frozen=True)
class TicTacToe(Game):
    """Two players, nine squares, three in a row wins."""

    name: ClassVar[str] = "tic_tac_toe"

    @property
    def actions(self) -> int:
        return 9

    def init(self, key: Array) -> State:
        return State(jnp.zeros(9, jnp.int8), jnp.int8(0), jnp.zeros((), bool))

    def step(self, key: Array, state: State, action: Array) -> State:
        mark = (1 + self.to_play(state)).astype(jnp.int8)
        chosen = self.legal(state) & (jnp.arange(9) == action)
        board = jnp.where(chosen, mark, state.board)
        won = jnp.any(chosen) & jnp.any(jnp.all(board[LINES] == mark, axis=1))
        return State(board, winner=jnp.where(won, mark, state.winner), earned=won)

    def legal(self, state: State) -> Array:
        return (state.board == 0) & ~self.terminated(state)

    def to_play(self, state: State) -> Array:
        return jnp.sum(state.board > 0, dtype=jnp.int32) % 2

    def reward(self, state: State) -> Array:
        sign = jnp.where(state.winner == 1, 1.0, -1.0)
        return jnp.where(state.earned, jnp.stack([sign, -sign]), 0.0)

    def terminated(self, state: State) -> Array:
        return (state.winner > 0) | jnp.all(state.board > 0)

    def observe(self, state: State) -> Array:
        me = 1 + self.to_play(state)
        board = state.board.reshape(3, 3)
        return jnp.stack([board == me, board == 3 - me], axis=-1).astype(jnp.float32)

    def action_planes(self, action: Array) -> Array:
        return (jnp.arange(9) == action).reshape(3, 3, 1).astype(jnp.float32)

    def action_maps(self) -> np.ndarray:
        return symmetries(3)

    def turn(self, observation: Array, s: Array) -> Array:
        return turned(observation, symmetries(3), s)

    def show(self, state: State) -> str:
        marks = self.position(state)
        return "\n".join(" ".join(marks[row : row + 3]) for row in (0, 3, 6))

    def position(self, state: State) -> str:
        return "".join(MARKS[mark] for mark in np.asarray(state.board))

    def parse_position(self, text: str) -> State:
        if len(text) != 9 or set(text) - set(MARKS):
            raise ValueError(f"a position of tic-tac-toe is nine of {MARKS!r}, not {text!r}")
        board = np.array([MARKS.index(mark) for mark in text], np.int8)
        counts = (board == 1).sum() - (board == 2).sum()
        if counts not in (0, 1):
            raise ValueError(f"{text!r} has too many of one mark; x moves first")
        won = [mark for mark in (1, 2) if (board[LINES] == mark).all(1).any()]
        if won and (len(won) > 1 or won[0] != (1 if counts else 2)):
            raise ValueError(f"{text!r} goes on after three in a row")
        return State(jnp.asarray(board), jnp.int8(won[0] if won else 0), jnp.zeros((), bool))


GAMES: dict[str, Any] = {"tic_tac_toe": TicTacToe}
