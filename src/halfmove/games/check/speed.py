"""How fast random games are played: steps per second of one jitted loop."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game, over
from halfmove.core.types import Array
from halfmove.games.check.play import choose, scramble
from halfmove.games.check.subject import Subject

BATCH = 64
STEPS = 32
REPEAT = 3


def random_loop(game: Game, steps: int, *, observe: bool = False) -> Callable:
    """A function of what `begin` gives: `steps` random legal moves in each of its games.

    Games that are over begin again. With `observe`, every position is observed too.
    """
    view = jax.vmap(game.observe)
    fresh = jax.jit(game.init)(jax.random.key(0))

    def turn(_: Array, carry: Any) -> Any:
        state, mask, word, _seen = carry
        word = jax.vmap(scramble)(word)
        action = jax.vmap(choose)(word, mask)
        keys = keys_of(game.chance, word)
        state = jax.vmap(game.step)(keys, state, action)
        ended = jax.vmap(lambda s: over(game, s))(state)
        state = restarted(ended, fresh, state)
        return state, jax.vmap(game.legal)(state), word, view(state) if observe else None

    return jax.jit(lambda carry: jax.lax.fori_loop(0, steps, turn, carry))


def begin(game: Game, batch: int, *, observe: bool = False) -> Any:
    """What a `random_loop` starts with: first positions, their masks, random words."""
    state = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), batch))
    words = jnp.arange(batch, dtype=jnp.uint32) * 40503
    seen = jax.jit(jax.vmap(game.observe))(state) if observe else None
    return state, jax.jit(jax.vmap(game.legal))(state), words, seen


def keys_of(chance: bool, word: Array) -> Array:
    """Keys of one move in each game; the same key where nothing is drawn from it."""
    key = jax.random.key(0)
    if not chance:
        return jnp.broadcast_to(key, word.shape)
    return jax.vmap(lambda w: jax.random.fold_in(key, w))(word)


def restarted(ended: Array, fresh: Any, state: Any) -> Any:
    """States [B, ...], those that have `ended` [B] replaced by the one state `fresh`."""

    def leaf(first: Array, now: Array) -> Array:
        return jnp.where(ended.reshape(-1, *[1] * (now.ndim - 1)), first, now)

    return jax.tree.map(leaf, fresh, state)


def steps_per_second(game: Game) -> float:
    """Best of some runs at a batch of 64, with choosing the moves and without observing."""
    loop = random_loop(game, STEPS)
    carry = jax.block_until_ready(loop(begin(game, BATCH)))
    best = float("inf")
    for _ in range(REPEAT):
        start = time.perf_counter()
        carry = jax.block_until_ready(loop(carry))
        best = min(best, time.perf_counter() - start)
    return BATCH * STEPS / best


def speed(subject: Subject) -> str:
    """Steps per second; never a failure."""
    subject.steps_per_second = steps_per_second(subject.game)
    return f"{subject.steps_per_second:,.0f} steps a second, {BATCH} games at once"
