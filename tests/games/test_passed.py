"""A board that lies before who moves: turned as `passed` says, it is what the next one sees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from halfmove import games
from halfmove.core.game import over

# Planes of the newest board's own pieces, and of the opponent's.
SIDES = {
    "hex size=5": (slice(0, 1), slice(1, 2)),
    "chess": (slice(0, 6), slice(6, 12)),
    "gardner_chess": (slice(0, 6), slice(6, 12)),
    "shogi": (slice(0, 14), slice(14, 28)),
    "animal_shogi": (slice(0, 5), slice(5, 10)),
    "connect_four": (slice(0, 1), slice(1, 2)),
    "tic_tac_toe": (slice(0, 1), slice(1, 2)),
}


@pytest.mark.parametrize("name", SIDES)
def test_what_stood_there_still_does(name):
    """A move changes few squares: its own, and a piece that is taken."""
    game = games.read(name)
    step, observe = jax.jit(game.step), jax.jit(game.observe)
    own, others = SIDES[name]
    draw = np.random.default_rng(0)
    state, seen = game.init(jax.random.key(0)), 0
    for number in range(60):
        legal = np.flatnonzero(game.legal(state))
        after = step(jax.random.key(number), state, int(draw.choice(legal)))
        before, now = observe(state), observe(after)
        mine, theirs = (jnp.asarray(before[..., x].sum(-1, keepdims=True)) for x in (own, others))
        # Whose pieces these were they are: the mover's are the opponent's now.
        left = np.asarray(game.passed(theirs)) != np.asarray(now[..., own].sum(-1, keepdims=True))
        moved = np.asarray(game.passed(mine)) != np.asarray(now[..., others].sum(-1, keepdims=True))
        assert left.sum() <= 1, number
        assert 1 <= moved.sum() <= 4, number  # four: castling
        seen, state = seen + 1, after
        if over(game, state):
            break
    assert seen >= 5


@pytest.mark.parametrize("name", games.names())
def test_two_turns_are_none(name):
    game = games.make(name)
    planes = jax.random.normal(jax.random.key(0), game.observation_shape)
    np.testing.assert_array_equal(game.passed(game.passed(planes)), planes)
