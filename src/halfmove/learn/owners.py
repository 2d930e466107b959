"""Whose each place of the board was in the end: a target beside the value's.

A game's result is one bit; who owns the places says where it came from. KataGo, Wu 2019, section 4.
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game
from halfmove.learn.targets import Owners
from halfmove.replay import Sample


def owners(game: Game, sample: Sample) -> Owners:
    """The owners as seen by who moves first in each window; unknown where someone resigned."""
    final = sample.final
    assert final is not None, "make the replay with ends=True"
    # No chance: `step` does not look at the key.
    after = jax.vmap(game.step, (None, 0, 0))(jax.random.key(0), final.state, final.action)
    whose: Any = jax.vmap(game.ownership)(after)
    first = jax.tree.map(lambda x: x[:, 0], sample.window.state)
    side = jnp.where(jax.vmap(game.to_play)(first) == 0, 1.0, -1.0)
    known = sample.known & jax.vmap(game.terminated)(after)
    return Owners(side[:, None, None] * whose, known.astype(jnp.float32))
