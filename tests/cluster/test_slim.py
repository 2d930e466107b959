"""Positions that were left out come back to the bit."""

import jax
import numpy as np
import pytest

from halfmove import games
from halfmove.cluster.slim import slim, whole
from halfmove.core.game import over
from halfmove.core.types import Step

SMALL = ["tic_tac_toe", "hex size=3", "go size=3", "connect_four"]


@pytest.mark.parametrize(
    "text", [SMALL[0], *(pytest.param(x, marks=pytest.mark.slow) for x in SMALL[1:])]
)
def test_positions_come_back(text):
    """Random games, some of them resigned, across ends of games."""
    game, moves, lanes = games.read(text), 24, 3
    chance = np.random.default_rng(0)
    step = jax.jit(game.step)
    rows = []
    for _ in range(lanes):
        state, row = game.init(jax.random.key(0)), []
        for _ in range(moves):
            action = int(chance.choice(np.flatnonzero(game.legal(state))))
            after = step(jax.random.key(1), state, action)
            last = bool(over(game, after)) or chance.random() < 0.1
            row.append((state, action, last))
            state = game.init(jax.random.key(2)) if last else after
        rows.append(row)

    def column(which):
        made = [jax.tree.map(lambda *x: np.stack(x), *[m[which] for m in row]) for row in rows]
        return jax.tree.map(lambda *x: np.stack(x), *made)

    number = np.zeros((lanes, moves), np.float32)
    steps = Step(
        state=column(0), action=column(1), policy=number, value=number, reward=number,
        discount=number, last=column(2), weight=number,
    )  # fmt: skip
    sent = slim(game, steps)
    assert all(x.shape[:2] == (lanes, 1) for x in jax.tree.leaves(sent.state))
    back = jax.jit(lambda steps: whole(game, steps))(sent)
    jax.tree.map(np.testing.assert_array_equal, back.state, steps.state)


def test_with_chance_all_positions_travel():
    class Dice:
        chance = True

    steps = object()
    assert slim(Dice(), steps) is steps
    assert whole(Dice(), steps) is steps
