"""Where on the board an action belongs, for policies that are read off planes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.game import Game
from halfmove.nets import NetConfig

HUGE = 1000  # actions from which policy="auto" prefers planes to a dense layer


def wanted(config: NetConfig, game: Game | None, actions: int) -> np.ndarray | None:
    """The `places` that a network's policy head should use; None: a dense layer."""
    if config.policy == "dense" or (config.policy == "auto" and actions < HUGE):
        return None
    found = places(game) if game is not None and config.kind == "tower" else None
    if found is None and config.policy == "planes":
        raise ValueError(
            'policy="planes" needs kind="tower" and a game whose action planes mark one square '
            'for every action, each square equally often; use policy="dense"'
        )
    return found


@functools.lru_cache(maxsize=16)
def places(game: Game) -> np.ndarray | None:
    """[A] int: each action's index in [H, W, A / (H W)], flattened; None if it has no such place.

    Read off `game.action_planes`: the first plane that marks one square for every action,
    each square equally often (chess: where from; shogi: where to). The actions of a square
    are numbered in their order, so that a plane is one kind of move where a game numbers
    its moves as squares x kinds or kinds x squares.
    """
    height, width = game.observation_shape[:2]
    if game.actions % (height * width):
        return None
    with jax.ensure_compile_time_eval():
        planes = jax.lax.map(game.action_planes, jnp.arange(game.actions), batch_size=256)
        marked = np.asarray(planes).reshape(game.actions, height * width, -1) > 0
    kinds = game.actions // (height * width)
    for plane in range(marked.shape[-1]):
        one = marked[..., plane]
        if (one.sum(1) == 1).all() and (one.sum(0) == kinds).all():
            square = one.argmax(1)
            kind = np.array([np.sum(square[:a] == square[a]) for a in range(game.actions)])
            return square * kinds + kind
    return None
