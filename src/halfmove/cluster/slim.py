"""Moves without the positions that follow from them: most of a chunk is positions."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game
from halfmove.core.types import Array, Step


def slim(game: Game, steps: Step) -> Step:
    """Moves [B, T] with the first position of each lane, [B, 1]; with all, if there is chance."""
    if game.chance:
        return steps
    return replace(steps, state=jax.tree.map(lambda x: x[:, :1], steps.state))


def whole(game: Game, steps: Step) -> Step:
    """The moves [B, T] that `slim` was given, to the bit."""
    if game.chance:
        return steps
    key = jax.random.key(0)  # where there is no chance it does not matter
    new = game.init(key)

    def move(state: Any, made: tuple[Array, Array]) -> tuple[Any, Any]:
        action, last = made
        after = game.step(key, state, action)
        return jax.tree.map(lambda a, b: jnp.where(last, a, b), new, after), state

    def lane(state: Any, action: Array, last: Array) -> Any:
        return jax.lax.scan(move, state, (action, last))[1]

    first = jax.tree.map(lambda x: x[:, 0], steps.state)
    return replace(steps, state=jax.vmap(lane)(first, steps.action, steps.last))
