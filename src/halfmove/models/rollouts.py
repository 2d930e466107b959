"""Known rules and random playouts: a model that knows nothing, for plain Monte-Carlo tree search.

It takes no parameters (`params` is None). With pUCT it is a fixed opponent to measure a
network by; `selfplay.match.mcts` puts the two together.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.game import Game, State, edge, over
from halfmove.core.types import Array, Edge, Prediction, TimeStep


@dataclass(frozen=True)
class Rollouts:
    """Every legal move is as likely as any other; a position is worth what random play makes of it.

    The value is the mean over `playouts` games at random, as seen by the player to move. Where
    a game was cut short, by its own rule or after `limit` moves of a playout, nothing more
    counts. Without a limit every game must end at some time.
    """

    game: Game
    playouts: int = 1
    limit: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("playouts", self.playouts), ("limit", self.limit)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")

    @property
    def repeats(self) -> bool:
        """Whether the same moves always lead to the same state, if not to the same value."""
        return not self.game.chance

    def root(self, params: Any, key: Array, timestep: TimeStep) -> tuple[State, Prediction]:
        ended = timestep.terminated | timestep.truncated
        return timestep.state, self._predict(key, timestep.state, timestep.legal, ended)

    def step(
        self, params: Any, key: Array, node: State, action: Array
    ) -> tuple[State, Edge, Prediction]:
        chance, key = jax.random.split(key)
        state = _moved(self.game, chance, node, action)
        earned = jax.vmap(functools.partial(edge, self.game))(node, state)
        ended = jax.vmap(functools.partial(over, self.game))(state)
        legal = jax.vmap(self.game.legal)(state)
        return state, earned, self._predict(key, state, legal, ended)

    def _predict(self, key: Array, state: State, legal: Array, ended: Array) -> Prediction:
        games = ended.shape[0]
        many = jax.tree.map(lambda x: jnp.repeat(x, self.playouts, axis=0), (state, ended))
        results = playout(self.game, key, *many, limit=self.limit)
        value = jnp.mean(results.reshape(games, self.playouts), axis=1)
        return Prediction(jnp.zeros(legal.shape), value, legal & ~ended[:, None])


def playout(game: Game, key: Array, state: State, ended: Array, *, limit: int | None) -> Array:
    """[N] f32: what the player to move in each of N states earns if all moves are random.

    `ended` [N] bool: nothing is played there, the result is 0.
    """
    games = ended.shape[0]

    def turn(carry: tuple) -> tuple:
        key, ply, state, going, sign, total = carry
        key, draw, chance = jax.random.split(key, 3)
        action = jax.vmap(choose)(
            jax.random.bits(draw, (games,), jnp.uint32), jax.vmap(game.legal)(state)
        )
        after = _moved(game, chance, state, action)
        earned = jax.vmap(functools.partial(edge, game))(state, after)
        total = total + jnp.where(going, sign * earned.reward, 0.0)
        going = going & ~jax.vmap(functools.partial(over, game))(after)
        return key, ply + 1, after, going, sign * earned.discount, total

    def more(carry: tuple) -> Array:
        _, ply, _, going, _, _ = carry
        return jnp.any(going) if limit is None else jnp.any(going) & (ply < limit)

    # One loop for the whole batch: under `vmap` it would select over every state at every turn.
    start = (key, jnp.int32(0), state, ~ended, jnp.ones(games), jnp.zeros(games))
    return jax.lax.while_loop(more, turn, start)[-1]


def choose(word: Array, legal: Array) -> Array:
    """[] i32, one of the `legal` [A] actions, each as likely, by a random word ([] u32).

    The word's own stream gives every action a number, the greatest legal one is taken: the
    32-bit finaliser of MurmurHash3 on the steps of a Weyl sequence. A generator's draw for
    every action would cost more than most games' rules.
    """
    x = word + jnp.arange(legal.shape[0], dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    x = x ^ (x >> 16)
    return jnp.argmax(jnp.where(legal, x | 1, 0)).astype(jnp.int32)


def _moved(game: Game, key: Array, state: State, action: Array) -> State:
    """The states [N] after `action` [N]; chance is drawn for each on its own."""
    return jax.vmap(game.step)(jax.random.split(key, action.shape[0]), state, action)
