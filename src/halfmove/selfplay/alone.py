"""Games of one player, to see what a planner earns in them."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from halfmove.core.game import Game, over, timestep
from halfmove.core.types import Array, Model
from halfmove.search.memory import new_memory, plan_with
from halfmove.selfplay.play import where

LIMIT = 2000  # moves of a game


class Earned(NamedTuple):
    """What came of B games."""

    points: Array  # [B] f32
    moves: Array  # [B] i32
    simulations: Array  # [] f32, all of them
    depth: Array  # [] f32, the moves in all of them


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def alone(
    game: Game, planner: Any, model: Model, games: int, limit: int, variables: Any, key: Array
) -> Earned:
    """Plays so many games at once, by the planner's own moves; give one without noise."""
    begin_key, key = jax.random.split(key)
    state = jax.vmap(game.init)(jax.random.split(begin_key, games))
    ended = jax.vmap(functools.partial(over, game))

    def more(carry: Any) -> Array:
        _, turn, state, *_ = carry
        return (turn < limit) & ~jnp.all(ended(state))

    def body(carry: Any) -> Any:
        key, turn, state, memory, told = carry
        key, search_key, step_key = jax.random.split(key, 3)
        on = ~ended(state)
        seen = jax.vmap(functools.partial(timestep, game))(state)
        plan = plan_with(memory, planner, search_key, model, variables, seen)
        after = jax.vmap(game.step)(jax.random.split(step_key, games), state, plan.action)
        simulations = jnp.where(on, jnp.sum(plan.stats.visits, axis=-1), 0)
        depth = jnp.zeros(games) if plan.depth is None else plan.depth
        told = Earned(
            told.points + jnp.where(on, jax.vmap(game.reward)(after)[:, 0], 0.0),
            told.moves + on,
            told.simulations + jnp.sum(simulations),
            told.depth + jnp.sum(simulations * depth),
        )
        return key, turn + 1, where(on, after, state), plan.memory, told

    nothing = Earned(jnp.zeros(games), jnp.zeros(games, jnp.int32), jnp.zeros(()), jnp.zeros(()))
    memory = new_memory(planner, model, variables, games)
    begin = (key, jnp.int32(0), state, memory, nothing)
    return Earned(*jax.lax.while_loop(more, body, begin)[4])
