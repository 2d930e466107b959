"""A game's symmetries make many positions of one."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.core.types import Array
from halfmove.learn.update import Batch


def turned(key: Array, game: Game, batch: Batch) -> Batch:
    """The batch with every window under a symmetry of its own, drawn at random."""
    maps = np.asarray(game.action_maps())
    count = len(maps)
    if count == 1:
        return batch
    targets = batch.targets
    s = jax.random.randint(key, targets.weight.shape, 0, count)
    # What stood at action a stands at maps[s, a]: at b stands what was at its inverse.
    inverse = jnp.asarray(np.argsort(maps, axis=1))[s]
    policy = jnp.take_along_axis(targets.policy, inverse[:, None], axis=-1)
    legal = targets.legal
    if legal is not None:
        legal = jnp.take_along_axis(legal, inverse, axis=-1)
    played = jnp.asarray(maps)[s[:, None], targets.played]
    owners = targets.owners
    if owners is not None:
        places = jax.vmap(game.turn)(owners.places[..., None], s)[..., 0]
        owners = replace(owners, places=places)
    return Batch(
        jax.vmap(game.turn)(batch.observation, s),
        replace(targets, policy=policy, legal=legal, played=played, owners=owners),
    )
