"""Random games of Go, many at once, as plain numpy records."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Games(NamedTuple):
    """[B, T, ...]: what was there before each move, the move, and what came of it."""

    legal: np.ndarray
    action: np.ndarray
    board: np.ndarray  # [B, T, points] 0, 1 black, 2 white, after the move
    over: np.ndarray
    reward: np.ndarray
    lost: np.ndarray


def eyes(own):
    """[points] bool: surrounded by `own` [size, size] on all sides."""
    wide = jnp.pad(own, 1, constant_values=1.0)
    sides = wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]
    return (sum(sides) == 4).reshape(-1)


def weights(game, state, passing, sensible):
    """Logits of a random player: any legal move; a sensible one passes last, and fills no eye."""
    logits = jnp.where(game.legal(state), 0.0, -1e9).at[-1].add(passing)
    if not sensible:
        return logits
    bad = eyes(game.observe(state)[:, :, 0])
    return logits.at[:-1].add(jnp.where(bad, -1e6, 0.0)).at[-1].add(-1e3)


def _move(game, sensible, state, passing, key):
    pick, step = jax.random.split(key)
    action = jax.random.categorical(pick, weights(game, state, passing, sensible))
    after = game.step(step, state, action)
    own, enemy = game.observe(after)[:, :, :2].reshape(-1, 2).T.astype(jnp.int8)
    colour = game.to_play(after).astype(jnp.int8) + 1
    return after, Games(
        legal=game.legal(state),
        action=action,
        board=colour * own + (3 - colour) * enemy,
        over=game.terminated(after),
        reward=game.reward(after),
        lost=jnp.stack([after.known.black_lost, after.known.white_lost]),
    )


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _play(game, key, games, sensible):
    start, rare, turns = jax.random.split(key, 3)
    passing = jnp.where(jax.random.bernoulli(rare, shape=(games,)), -6.0, 0.0)
    move = jax.vmap(functools.partial(_move, game, sensible))

    def turn(states, key):
        return move(states, passing, jax.random.split(key, games))

    states = jax.vmap(game.init)(jax.random.split(start, games))
    keys = jax.random.split(turns, game.rules.max_moves)
    record = jax.lax.scan(turn, states, keys)[1]
    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), record)


def play(game, games, seed, sensible=False) -> Games:
    """That many games to the end."""
    return jax.device_get(_play(game, jax.random.key(seed), games, sensible))
