"""Tic-tac-toe as a model without knowledge, and positions with one right move."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, Edge, Prediction

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
Board = tuple[int, ...]  # 9 squares: 1 the player to move, -1 the other, 0 empty


class TicTacToe:
    """Known rules, a uniform prior and a value of 0 everywhere. Nodes are boards [B, 9]."""

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        over = _won(-timestep) | jnp.all(timestep != 0, axis=-1)
        return timestep, _ignorant(timestep, over)

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        board = node.at[jnp.arange(action.shape[0]), action].set(1)
        won = _won(board)
        over = won | jnp.all(board != 0, axis=-1)
        edge = Edge(reward=won.astype(jnp.float32), discount=jnp.where(over, 0.0, -1.0))
        return -board, edge, _ignorant(-board, over)


def _won(board: Array) -> Array:
    return jnp.any(jnp.sum(board[:, jnp.asarray(LINES)], axis=-1) == 3, axis=-1)


def _ignorant(board: Array, over: Array) -> Prediction:
    legal = (board == 0) & ~over[:, None]
    return Prediction(jnp.zeros(board.shape), jnp.zeros(board.shape[0]), legal)


@functools.cache
def solve(board: Board) -> tuple[int, Board]:
    """(result for the player to move, result of every square; -2 where occupied).

    Exact, by trying everything.
    """
    if any(sum(board[i] for i in line) == -3 for line in LINES):
        return -1, (-2,) * 9
    if 0 not in board:
        return 0, (-2,) * 9
    results = tuple(-2 if board[a] else -solve(after(board, a))[0] for a in range(9))
    return max(results), results


def after(board: Board, action: int) -> Board:
    """The board after a move, as the other player sees it."""
    return tuple(-1 if a == action else -x for a, x in enumerate(board))


def puzzles(rng: np.random.Generator, each: int) -> tuple[np.ndarray, np.ndarray]:
    """(boards [2 * each, 9], the one right move of each).

    First half: one move wins at once and no other wins at all. Second half:
    every move but one loses, and nothing wins.
    """
    wins, blocks = _all_puzzles()
    chosen = [
        found[i] for found in (wins, blocks) for i in rng.choice(len(found), each, replace=False)
    ]
    boards = np.asarray([board for board, _ in chosen], np.int8)
    return boards, np.asarray([move for _, move in chosen])


@functools.cache
def _all_puzzles() -> tuple[list[tuple[Board, int]], list[tuple[Board, int]]]:
    wins, blocks = [], []
    for board in _reachable():
        result, results = solve(board)
        best = [a for a in range(9) if results[a] == result]
        others = [r for a, r in enumerate(results) if r > -2 and a not in best]
        # A single legal move is no puzzle.
        if len(best) != 1 or not others:
            continue
        if result == 1 and solve(after(board, best[0]))[1] == (-2,) * 9:
            wins.append((board, best[0]))
        elif result == 0 and max(others) == -1:
            blocks.append((board, best[0]))
    return wins, blocks


def _reachable() -> list[Board]:
    """Every position in which somebody is to move, from the empty board on."""
    start: Board = (0,) * 9
    found, waiting = {start}, [start]
    while waiting:
        board = waiting.pop()
        for a, result in enumerate(solve(board)[1]):
            below = after(board, a)
            if result > -2 and below not in found:
                found.add(below)
                waiting.append(below)
    return sorted(b for b in found if max(solve(b)[1]) > -2)


def drawing(board: np.ndarray) -> str:
    """X is to move."""
    marks = {0: ".", 1: "X", -1: "O"}
    rows = (" ".join(marks[int(x)] for x in board[i : i + 3]) for i in (0, 3, 6))
    return "\n".join(f"  {3 - i} {row}" for i, row in enumerate(rows)) + "\n    a b c"


def name(action: int) -> str:
    """a3 is the top left square, c1 the bottom right."""
    return "abc"[action % 3] + str(3 - action // 3)
