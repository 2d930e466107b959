"""Whose each point will be in the end, and the score that follows: by networks that learned it.

A network with a head for owners (`net.ownership`) says how likely the mover will own a point. The
sum over all points, less komi, is the score to be expected.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.arena.players import Mind
from halfmove.core.game import State
from halfmove.core.types import Array
from halfmove.games.go import Go
from halfmove.models import Rules

ROWS = 16  # positions that are looked at together
STAY = -1  # in place of a move: the position as it is


@dataclass(frozen=True)
class Territory:
    """Of one position, as a player sees it."""

    owners: np.ndarray  # [size, size] f32: 1 the player's, -1 the other's
    lead: float  # of the player, in points, komi counted

    def seen_by(self, other: bool) -> "Territory":
        """As it is, or as the other player sees it."""
        return Territory(-self.owners, -self.lead) if other else self


def says(mind: Mind) -> bool:
    """Whether its network knows of owners."""
    return isinstance(mind.model, Rules) and mind.model.config.ownership


def territories(mind: Mind, state: State, moves: Sequence[int]) -> list[Territory]:
    """The position's own and that after each of the moves, all as black sees them."""
    game = mind.game
    assert isinstance(game, Go)
    asked, found = [STAY, *moves], []
    for at in range(0, len(asked), ROWS):
        rows = np.full(ROWS, STAY, np.int32)
        part = asked[at : at + ROWS]
        rows[: len(part)] = part
        owners = _owners(game, mind.model, mind.variables, state, rows)
        found += [Territory(x, float(x.sum()) - game.komi) for x in np.asarray(owners)[: len(part)]]
    return found


@functools.partial(jax.jit, static_argnums=(0, 1))
def _owners(game: Go, model: Rules, variables: Any, state: State, moves: Array) -> Array:
    """[ROWS, size, size] f32, black's points above 0."""

    def moved(move: Array) -> State:
        after = game.step(jax.random.key(0), state, jnp.maximum(move, 0))
        return jax.tree.map(lambda a, b: jnp.where(move == STAY, a, b), state, after)

    states = jax.vmap(moved)(moves)
    black = jax.vmap(game.to_play)(states) == 0
    expected: Any = jnp.where(black[:, None, None], 1.0, -1.0) * model.owners(variables, states)
    ended = jax.vmap(game.terminated)(states)
    return jnp.where(ended[:, None, None], jax.vmap(game.ownership)(states), expected)
