"""A network that knows nothing learns tic-tac-toe so that nobody can beat it.

Not by sampling games: its move in every position is known, so that every line the other
side could choose is walked to its end.
"""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove.core.game import timestep
from halfmove.games.tic_tac_toe import State
from halfmove.train import metrics
from halfmove.train.trained import trained
from tests.selfplay.solver import after, winner


def run(path, *arguments):
    """Runs `halfmove train` as a person would, in code that is as fast but compiled sooner."""
    flags = [x for x in os.environ.get("XLA_FLAGS", "").split() if "optimization_level" not in x]
    plain = {**os.environ, "XLA_FLAGS": " ".join(flags)}
    command = [sys.executable, "-m", "halfmove.cli", "train", *arguments, "--folder", str(path)]
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def learned(path, *arguments):
    """The network that such a run ended with."""
    run(path, *arguments)
    return trained(path)


@functools.cache
def boards():
    """Every position in which somebody is to move."""
    found, waiting = set(), [(0,) * 9]
    while waiting:
        board = waiting.pop()
        if board in found or winner(board) or 0 not in board:
            continue
        found.add(board)
        waiting += [after(board, s) for s in range(9) if not board[s]]
    return sorted(found)


def lines_lost(moves):
    """How many positions in which the player has lost it can be brought to, on either side."""
    choice = dict(zip(boards(), map(int, moves), strict=True))
    lost = set()
    for side in (1, 2):
        seen, waiting = set(), [(0,) * 9]
        while waiting:
            board = waiting.pop()
            if board in seen:
                continue
            seen.add(board)
            if winner(board):
                lost |= {board} if winner(board) != side else set()
            elif 0 in board:
                mine = 1 + sum(x > 0 for x in board) % 2 == side
                open_squares = [s for s in range(9) if not board[s]]
                waiting += [after(board, s) for s in ([choice[board]] if mine else open_squares)]
    return len(lost)


def assert_unbeaten(net, simulations):
    board = jnp.asarray(boards(), jnp.int8)
    nobody = jnp.zeros(len(board), jnp.int8)
    seen = jax.vmap(functools.partial(timestep, net.game))(State(board, nobody, nobody > 0))
    _, prediction = net.model.root(net.variables, jax.random.key(0), seen)
    raw = np.argmax(np.where(seen.legal, prediction.logits, -np.inf), axis=-1)
    search = net.planner(simulations)
    searched = search(jax.random.key(1), net.model, net.variables, seen).action
    assert lines_lost(raw) == 0
    assert lines_lost(searched) == 0


def test_the_judge_knows_a_loser():
    first_free = [board.index(0) for board in boards()]
    assert len(boards()) == 4520
    assert lines_lost(first_free) > 0


def test_alphazero_cannot_be_beaten(tmp_path):
    """Five eighths of the preset's run are enough."""
    less = ["--iterations", "100", "--learn.optimiser.updates", "770", "--rating.every", "0"]
    assert_unbeaten(learned(tmp_path / "run", "tic_tac_toe", *less), 16)


def test_muzero_learns_to_balance_a_pole(tmp_path):
    """An eighth of the preset's run: from 20 moves to 100 and more."""
    run(tmp_path / "run", "cartpole", "--iterations", "50")
    lines = metrics.read(tmp_path / "run" / "metrics.jsonl")
    returns = [line["games/return"] for line in lines if "games/return" in line]
    assert np.mean(returns[:5]) < 40
    assert np.mean(returns[-5:]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("preset", ["tic_tac_toe", "tic_tac_toe-muzero"])
def test_nobody_is_beaten(tmp_path, preset, seed):
    words = [preset, "--seed", str(seed), "--rating.every", "0"]
    assert_unbeaten(learned(tmp_path / "run", *words), 16)
