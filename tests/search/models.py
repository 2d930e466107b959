"""Small models the search tests share: bandits, tables, a hidden-state net, tic-tac-toe."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.core.types import Array, Edge, Plan, Prediction, pytree


def compiled(planner: Any, model: Any) -> Callable[..., Plan]:
    """(key, params, timestep) -> plan, compiled."""
    return jax.jit(lambda key, params, timestep: planner(key, model, params, timestep))


@pytree
class Arms:
    """A batch of deterministic bandits."""

    logits: Array  # [B, A]
    q: Array  # [B, A], what an arm pays
    value: Array  # [B], what the model thinks of the root
    legal: Array  # [B, A] bool


def arms(logits: Any, q: Any, *, value: Any = 0.0, legal: Any = True) -> Arms:
    logits = jnp.asarray(logits, jnp.float32)
    return Arms(
        logits=logits,
        q=jnp.asarray(q, jnp.float32),
        value=jnp.broadcast_to(jnp.asarray(value, jnp.float32), logits.shape[:1]),
        legal=jnp.broadcast_to(jnp.asarray(legal, bool), logits.shape),
    )


@dataclass(frozen=True)
class Bandit:
    """Pulling an arm pays q at once and ends the game; the node is the bandit's number."""

    def root(self, params: Arms, key: Array, timestep: Any) -> tuple[Array, Prediction]:
        games = jnp.arange(params.logits.shape[0])
        return games, Prediction(params.logits, params.value, params.legal)

    def step(
        self, params: Arms, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        zero = jnp.zeros(action.shape)
        edge = Edge(reward=params.q[node, action], discount=zero)
        return node, edge, Prediction(jnp.zeros_like(params.logits)[node], zero)


class Flat:
    """Eight moves, all alike, and a root whose value is the timestep; one game."""

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        return timestep, Prediction(jnp.zeros((1, 8)), timestep)

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        edge = Edge(jnp.zeros(action.shape), -jnp.ones(action.shape))
        return node, edge, Prediction(jnp.zeros((len(action), 8)), -node)


@pytree
class Tables:
    """A finite decision process. S states, A actions."""

    following: Any  # [S, A] i32
    logits: Any  # [S, A]
    value: Any  # [S]
    reward: Any  # [S, A]
    discount: Any  # [S, A]
    legal: Any  # [S, A] bool


KINDS = ("two-player", "single-player", "mixed")


def tables(seed: int, states: int, actions: int, kind: str = "mixed") -> Tables:
    """Random NumPy tables: state s leads to sA + 1, ..., sA + A, as in a tree.

    One state in ten has no legal action. A move that leads there ends a
    two-player game (discount 0, a random result); in the other kinds it does not.
    """
    rng = np.random.default_rng(seed)
    shape = (states, actions)
    following = (np.arange(states)[:, None] * actions + np.arange(actions) + 1) % states
    dead = rng.random(states) < 0.1
    legal = rng.random(shape) < 0.7
    legal[np.arange(states), rng.integers(actions, size=states)] = True
    legal &= ~dead[:, None]
    reward = rng.normal(size=shape)
    discount = np.full(shape, 0.99)
    if kind == "two-player":
        discount = np.where(dead[following], 0.0, -1.0)
        reward = np.where(dead[following], rng.uniform(-1, 1, size=shape), 0.0)
    if kind == "mixed":
        discount = rng.choice([-1.0, 1.0, 0.0, 0.5], p=[0.4, 0.4, 0.1, 0.1], size=shape)
    return Tables(
        following=following.astype(np.int32),
        logits=(1.5 * rng.normal(size=shape)).astype(np.float32),
        value=rng.uniform(-1, 1, size=states).astype(np.float32),
        reward=reward.astype(np.float32),
        discount=discount.astype(np.float32),
        legal=legal,
    )


def side_by_side(parts: list[Tables]) -> Tables:
    """One table of several; a state of part i is shifted by the states before it."""
    starts = np.cumsum([0] + [len(part.value) for part in parts[:-1]])
    rows = [vars(part) for part in parts]
    whole = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    shifted = [part.following + start for part, start in zip(parts, starts, strict=True)]
    return Tables(**{**whole, "following": np.concatenate(shifted).astype(np.int32)})


@dataclass(frozen=True)
class KnownRules:
    """A walk through `Tables`; timestep: (state [B], legal at the root [B, A]).

    Its policy head is the table of logits, of which a state reads its own row.
    """

    repeats: bool = True

    def root(
        self, params: Tables, key: Array, timestep: tuple[Array, Array]
    ) -> tuple[Array, Prediction]:
        state, legal = timestep
        state = jnp.asarray(state)
        return state, Prediction(params.logits[state], params.value[state], legal, state)

    def step(
        self, params: Tables, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        edge = Edge(params.reward[node, action], params.discount[node, action])
        state = params.following[node, action]
        said = Prediction(params.logits[state], params.value[state], params.legal[state], state)
        return state, edge, said

    def head_of(self, params: Tables) -> Any:
        return {"params": params.logits, "stats": jnp.zeros(3)}

    def policy(self, head: Any, features: Array) -> Array:
        return head["params"][features]


@dataclass(frozen=True)
class Learned:
    """Hidden states that know no rules: below the root every action is allowed.

    `params` are the tables of which only the logits are read, as weights; the
    dynamics carry a vector and a scale, so that a node is more than one array.
    """

    width: int = 4
    repeats: bool = True

    def root(
        self, params: Tables, key: Array, timestep: tuple[Array, Array]
    ) -> tuple[Any, Prediction]:
        state, legal = timestep
        hidden = jnp.sin(state[:, None] * (1.0 + jnp.arange(self.width)))
        node = {"hidden": hidden, "scale": 1.0 + 0.1 * jnp.cos(state * 1.0)}
        said = self._predict(params, node)
        return node, replace(said, legal=legal)

    def step(
        self, params: Tables, key: Array, node: Any, action: Array
    ) -> tuple[Any, Edge, Prediction]:
        shift = (action[:, None] + 1.0) * (1.0 + jnp.arange(self.width))
        hidden = jnp.tanh(jnp.roll(node["hidden"], 1, axis=-1) * 1.7 + jnp.sin(shift))
        node = {"hidden": hidden, "scale": node["scale"]}
        reward = 0.3 * jnp.sin(7.0 * hidden[:, 0])
        edge = Edge(reward=reward, discount=jnp.full(action.shape, 0.97))
        return node, edge, self._predict(params, node)

    def _predict(self, params: Tables, node: Any) -> Prediction:
        hidden = node["hidden"]
        value = jnp.sum(hidden, -1) * node["scale"] / 4
        return Prediction(self.policy(self.head_of(params), hidden), value, features=hidden)

    def head_of(self, params: Tables) -> Any:
        return {"params": jnp.asarray(params.logits)[: self.width]}

    def policy(self, head: Any, features: Array) -> Array:
        return features @ head["params"]


LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)


@dataclass(frozen=True)
class TicTacToe:
    """Known rules, a uniform prior and the value 0 everywhere.

    A node is a board [B, 9]: 1 the player to move, -1 the other, 0 empty.
    """

    def root(self, params: Any, key: Array, timestep: Array) -> tuple[Array, Prediction]:
        return timestep, self._predict(timestep, jnp.zeros(timestep.shape[0], bool))

    def step(
        self, params: Any, key: Array, node: Array, action: Array
    ) -> tuple[Array, Edge, Prediction]:
        moved = node.at[jnp.arange(node.shape[0]), action].set(1)
        won = jnp.any(jnp.all(moved[:, LINES] == 1, axis=-1), axis=-1)
        over = won | jnp.all(moved != 0, axis=-1)
        edge = Edge(reward=jnp.where(won, 1.0, 0.0), discount=jnp.where(over, 0.0, -1.0))
        return -moved, edge, self._predict(-moved, over)

    def _predict(self, board: Array, over: Array) -> Prediction:
        legal = (board == 0) & ~over[:, None]
        return Prediction(jnp.zeros(board.shape), jnp.zeros(board.shape[0]), legal)
