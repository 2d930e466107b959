"""Tic-tac-toe solved in plain Python, and the player that follows from it."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
Board = tuple[int, ...]  # 0 empty, 1 who moves first, 2 the other


def winner(board: Board) -> int:
    """1 or 2; 0: nobody yet."""
    return next((board[a] for a, b, c in LINES if board[a] and board[a] == board[b] == board[c]), 0)


def after(board: Board, square: int) -> Board:
    mark = 1 + sum(x > 0 for x in board) % 2
    return (*board[:square], mark, *board[square + 1 :])


@functools.cache
def value(board: Board) -> int:
    """1, 0 or -1 with best play, for the player to move."""
    if winner(board):
        return -1
    return max((-value(after(board, s)) for s in range(9) if not board[s]), default=0)


@functools.cache
def table() -> np.ndarray:
    """[3^9, 9] bool: the best moves of every position, its squares read as digits of base 3."""
    best = np.zeros((3**9, 9), bool)
    seen, waiting = set(), [(0,) * 9]
    while waiting:
        board = waiting.pop()
        if board in seen or winner(board):
            continue
        seen.add(board)
        below = {s: after(board, s) for s in range(9) if not board[s]}
        best[number(board), [s for s in below if -value(below[s]) == value(board)]] = True
        waiting += below.values()
    return best


def number(board: Board) -> int:
    return sum(mark * 3**square for square, mark in enumerate(board))


@dataclass(frozen=True)
class Perfect:
    """One of the best moves, by lot. Its variables are `table()`."""

    def __call__(self, key, variables, timestep):
        digits = 3 ** np.arange(9)
        best = variables[timestep.state.board.astype(jnp.int32) @ digits]
        return jax.random.categorical(key, jnp.where(best, 0.0, -1e9))
