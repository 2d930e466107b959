"""Symmetries of a batch: position, policy, mask and moves turn together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.learn.augment import turned
from halfmove.learn.targets import Targets
from halfmove.learn.update import Batch


def one_batch(game, n, unroll):
    """Positions after random moves, the move to come as the policy."""
    step = jax.jit(game.step)
    draw = np.random.default_rng(0)
    states, moves = [], []
    for _ in range(n):
        state = game.init(jax.random.key(0))
        for _ in range(3):
            legal = np.flatnonzero(np.asarray(game.legal(state)))
            state = step(jax.random.key(0), state, jnp.int32(draw.choice(legal)))
        line = draw.choice(np.flatnonzero(np.asarray(game.legal(state))), unroll + 1, replace=False)
        states.append(state)
        moves.append(line)
    moves = jnp.asarray(np.array(moves), jnp.int32)
    state = jax.tree.map(lambda *x: jnp.stack(x), *states)
    blank = jnp.zeros((n, unroll + 1))
    targets = Targets(
        played=moves, policy=jax.nn.one_hot(moves, game.actions), policy_mask=blank,
        value=blank, value_mask=blank, reward=blank, reward_mask=blank, weight=jnp.ones(n),
        legal=jax.vmap(game.legal)(state),
    )  # fmt: skip
    return state, Batch(jax.vmap(game.observe)(state), targets)


@pytest.mark.parametrize("name", ["tic_tac_toe", "hex size=4", "connect_four", "go size=4"])
def test_what_is_turned_is_a_position_of_the_same_game(name):
    game = games.read(name)
    maps = np.asarray(game.action_maps())
    _, batch = one_batch(game, 48, 1)
    other = jax.jit(lambda key, batch: turned(key, game, batch))(jax.random.key(0), batch)
    used = set()
    for i in range(48):
        # Which symmetry was drawn is read off the observation alone.
        sames = [
            s for s in range(len(maps))
            if np.array_equal(game.turn(batch.observation[i], jnp.int32(s)), other.observation[i])
        ]  # fmt: skip
        assert sames
        a, b = batch.targets, other.targets
        fits = [
            s for s in sames
            if all(
                np.array_equal(np.asarray(x)[i][..., :], np.asarray(y)[i][..., maps[s]])
                for x, y in ((a.policy, b.policy), (a.legal, b.legal))
            )
            and np.array_equal(maps[s][np.asarray(a.played[i])], b.played[i])
        ]  # fmt: skip
        assert fits
        used |= set(fits)
    assert used == set(range(len(maps)))


def test_a_game_without_symmetries_is_left_alone():
    game = games.read("chess")
    assert len(game.action_maps()) == 1
    batch = Batch(jnp.zeros((1, 8, 8, 3)), None)
    assert turned(jax.random.key(0), game, batch) is batch
