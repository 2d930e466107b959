"""The types that travel between the rooms, and the protocols they meet.

Shapes: `B` games, `A` actions, `N` nodes of a search tree. Values always
belong to the player to move; an `Edge` carries the sign between two nodes.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, dataclass_transform, runtime_checkable

import jax

Array = jax.Array
T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """A frozen dataclass whose fields JAX maps over."""
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))


@pytree
class TimeStep:
    """What a game or an environment shows after a move."""

    state: Any  # whatever the game keeps; a search node holds nothing else
    observation: Array  # [B, ...]
    legal: Array  # [B, A] bool
    to_play: Array  # [B] i32
    reward: Array  # [B, P] f32, one per player
    terminated: Array  # [B] bool
    truncated: Array  # [B] bool


@pytree
class Prediction:
    """What a model thinks of a position, as seen by the player to move."""

    logits: Array  # [B, A] f32, the prior policy
    value: Array  # [B] f32
    legal: Array | None = None  # [B, A] bool; None: every action
    features: Any = None  # what an adapted policy head reads


@pytree
class Edge:
    """What one move earned, as seen by the player who made it."""

    reward: Array  # [B] f32
    discount: Array  # [B] f32; 0 if the game ended, -1 if the turn passed


@pytree
class NodeStats:
    """All that a search rule may know of one node (one row of the tree)."""

    logits: Array  # [A] f32; -inf marks an illegal action
    prior: Array  # [A] f32, softmax of the logits; 0 where illegal
    visits: Array  # [A] i32
    q: Array  # [A] f32, mean action value; 0 where visits == 0
    count: Array  # [] i32, visits of the node itself: 1 + sum(visits)
    value: Array  # [] f32, mean value of the node
    raw_value: Array  # [] f32, what the model said of the node
    q_min: Array  # [] f32, least value seen anywhere in this tree
    q_max: Array  # [] f32, greatest
    random: Array  # [A] f32 in [0, 1), fresh for every visit of every node

    @property
    def legal(self) -> Array:
        return self.logits > float("-inf")


@pytree
class RootNoise:
    """What is drawn once per search and seen by every rule at the root."""

    row: Array  # [A] f32, added to the prior logits; -inf: leave this action out
    want: Array  # [] i32, Sequential Halving: the visit count to raise next


@pytree
class Plan:
    """What a search decided."""

    action: Array  # [B] i32; 0 where no action is legal
    policy: Array  # [B, A] f32, the improved policy, a target for learning
    value: Array  # [B] f32, the search's value of the root
    stats: NodeStats  # the root's statistics, [B, A] and [B]
    noise: RootNoise  # what was drawn for this search, [B, A] and [B]
    depth: Array | None = None  # [B] f32, moves from the root to what a simulation evaluated
    tree: Any = None  # search.tree.Tree, on request
    memory: Any = ()  # [B, ...], of a `Remembering` planner, for the next move of these games


@pytree
class Step:
    """One move of self-play, all that replay keeps of it; [B, T] of them are trajectories."""

    state: Any  # a game's state before the move, or an environment's observation
    action: Array  # [B, T] i32
    policy: Array  # [B, T, A] f32, the planner's improved policy
    value: Array  # [B, T] f32, the search's value, as seen by the mover
    reward: Array  # [B, T] f32, what the move earned the mover
    discount: Array  # [B, T] f32; 0 if the game ended by its rules, -1 if the turn passed
    last: Array  # [B, T] bool, whether no move of this game follows, for whatever reason
    weight: Array  # [B, T] f32, of the policy loss; 0: the move was not searched
    legal: Array | None = None  # [B, T, A] bool, where the state is an observation


class Model(Protocol, Hashable):
    """Where a search may go. Known rules and learned dynamics look the same."""

    def root(self, params: Any, key: Array, timestep: Any) -> tuple[Any, Prediction]:
        """The node of the position in `timestep` and what the model thinks of it."""
        ...

    def step(
        self, params: Any, key: Array, node: Any, action: Array
    ) -> tuple[Any, Edge, Prediction]:
        """The node after `action` [B], what the move earned, and the prediction there."""
        ...


class Planner(Protocol):
    """A search: a position in, a plan out."""

    def __call__(self, key: Array, model: Model, params: Any, timestep: Any) -> Plan: ...


@runtime_checkable
class Remembering(Protocol):
    """A planner that carries something from move to move of a game: a plan's `memory`."""

    def begin(self, model: Model, params: Any, games: int) -> Any:
        """The memory [B, ...] of so many new games."""
        ...

    def __call__(
        self, key: Array, model: Model, params: Any, timestep: Any, memory: Any = None
    ) -> Plan:
        """`memory` is that of the plan of these games' last search; None: new games."""
        ...


class Player(Protocol):
    """Anything that moves: a planner with a network, an engine, a person."""

    def __call__(self, key: Array, timestep: TimeStep) -> Array: ...
