"""A forced win and a forced block, with no knowledge but the rules."""

import functools

import jax
import numpy as np
import pytest

from halfmove.search import names, planner
from halfmove.search.planners import TREELESS
from tests.search.models import LINES, TicTacToe, compiled

Board = tuple[int, ...]  # 1 the player to move, -1 the other
N, EACH = 400, 24


def won(board: Board, player: int) -> bool:
    return any(all(board[i] == player for i in line) for line in LINES.tolist())


def moved(board: Board, square: int) -> Board:
    return tuple(-(1 if i == square else x) for i, x in enumerate(board))


def empty(board: Board) -> list[int]:
    return [i for i, x in enumerate(board) if x == 0]


@functools.cache
def solved(board: Board) -> int:
    """1, 0 or -1: the result with best play, for the player to move."""
    if won(board, -1):
        return -1
    return max((-solved(moved(board, s)) for s in empty(board)), default=0)


@functools.cache
def reachable() -> list[Board]:
    """Every position of an unfinished game, in a fixed order."""
    seen, stack = set(), [(0,) * 9]
    while stack:
        board = stack.pop()
        if board in seen or won(board, -1) or not empty(board):
            continue
        seen.add(board)
        stack += [moved(board, s) for s in empty(board)]
    return sorted(seen)


def wins(board: Board, player: int) -> list[int]:
    return [
        s for s in empty(board)
        if won(tuple(player if i == s else x for i, x in enumerate(board)), player)
    ]  # fmt: skip


def best_moves(board: Board) -> list[int]:
    return [s for s in empty(board) if -solved(moved(board, s)) == solved(board)]


def positions() -> tuple[np.ndarray, list[list[int]]]:
    """Boards and the squares that must be played: half wins, half only defences."""
    forced = [b for b in reachable() if len(empty(b)) > 2 and len(best_moves(b)) == 1]
    attack = [(b, wins(b, 1)) for b in forced if wins(b, 1)]
    block = [(b, wins(b, -1)) for b in forced if wins(b, -1) and not wins(b, 1)]
    rng = np.random.default_rng(0)
    chosen = [kind[i] for kind in (attack, block)
              for i in rng.choice(len(kind), EACH, replace=False)]  # fmt: skip
    return np.array([b for b, _ in chosen], np.int32), [squares for _, squares in chosen]


OPTIONS = {
    "alphazero": {"temperature": 0.0},
    "muzero": {"temperature": 0.0},
    "trpo": {"temperature": 0.0},
    "mpo": {"temperature": 0.0},
    # Drawn often enough that no square is left out.
    "gumbel_replacement": {"considered": 100},
    # A sharp π' hardly ever samples a reply it has not tried, and overlooks a threat.
    "gumbel_stochastic": {"c_visit": 5.0, "c_scale": 0.1},
}


@pytest.mark.parametrize("name", [n for n in names() if n != "prior" and n not in TREELESS])
def test_forced_wins_and_blocks_are_found(name):
    boards, answers = positions()
    search = compiled(planner(name, simulations=N, **OPTIONS.get(name, {})), TicTacToe())
    for seed in range(2):
        plan = search(jax.random.key(seed), None, boards)
        for game, squares in enumerate(answers):
            kind = "win" if game < EACH else "block"
            assert int(plan.action[game]) in squares, f"{kind} {boards[game]}, seed {seed}"
            assert np.argmax(plan.policy[game]) in squares, f"{kind} {boards[game]}, seed {seed}"


def test_a_win_at_hand_is_worth_one():
    boards, answers = positions()
    search = compiled(planner("full_gumbel", simulations=N), TicTacToe())
    plan = search(jax.random.key(3), None, boards)
    for game in range(EACH):
        for square in answers[game]:
            if plan.stats.visits[game, square] > 0:
                assert plan.stats.q[game, square] == 1.0
