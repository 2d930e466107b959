"""mctx's layout of a batch of search trees: what a node knows of its children."""

from typing import Any, ClassVar, Generic, TypeVar

import jax
import jax.numpy as jnp

from halfmove.compat.mctx.types import Record, RootFnOutput, record
from halfmove.core.types import Array

T = TypeVar("T")


@record
class SearchSummary(Record):
    """The root after a search."""

    visit_counts: Array  # [B, A]
    visit_probs: Array  # [B, A]
    value: Array  # [B]
    qvalues: Array  # [B, A]


@record
class Tree(Record, Generic[T]):
    """A batch of search trees, or under `vmap` one tree without the axis `B`.

    Node 0 is the root. A node that was not reached has zeros, and -1 where an
    index is meant.
    """

    node_visits: Array  # [B, N] i32
    raw_values: Array  # [B, N], what the model said
    node_values: Array  # [B, N], the mean over all visits
    parents: Array  # [B, N] i32
    action_from_parent: Array  # [B, N] i32
    children_index: Array  # [B, N, A] i32
    children_prior_logits: Array  # [B, N, A]
    children_visits: Array  # [B, N, A] i32
    children_rewards: Array  # [B, N, A]
    children_discounts: Array  # [B, N, A]
    children_values: Array  # [B, N, A]
    embeddings: Any  # [B, N, ...]
    root_invalid_actions: Array  # [B, A], not zero where invalid
    extra_data: T  # [B, ...]

    ROOT_INDEX: ClassVar[int] = 0
    NO_PARENT: ClassVar[int] = -1
    UNVISITED: ClassVar[int] = -1

    @property
    def num_actions(self) -> int:
        return self.children_index.shape[-1]

    @property
    def num_simulations(self) -> int:
        return self.node_visits.shape[-1] - 1

    def qvalues(self, indices: Any) -> Array:
        """reward + discount · value of every child. Shape [B, A] for indices [B], else [A]."""
        if jnp.ndim(indices):
            return jax.vmap(type(self).qvalues)(self, jnp.asarray(indices))
        if self.children_values.ndim != 2:
            raise ValueError(
                f"qvalues: one index was given to a tree of shape {self.children_values.shape}; "
                "give one for each game, shape [B], or index the tree inside jax.vmap"
            )
        discounted = self.children_discounts[indices] * self.children_values[indices]
        return self.children_rewards[indices] + discounted

    def summary(self) -> SearchSummary:
        """The root's value, Q-values and visits, over the batch."""
        if self.node_values.ndim != 2:
            raise ValueError(f"summary needs a batched tree, got values {self.node_values.shape}")
        value = self.node_values[:, self.ROOT_INDEX]
        visits = self.children_visits[:, self.ROOT_INDEX].astype(value.dtype)
        total = jnp.sum(visits, axis=-1, keepdims=True)
        share = visits / jnp.maximum(total, 1)
        return SearchSummary(
            visit_counts=visits,
            visit_probs=jnp.where(total > 0, share, 1 / self.num_actions),
            value=value,
            qvalues=self.qvalues(jnp.full(value.shape, self.ROOT_INDEX)),
        )


def planted(root: RootFnOutput, simulations: int, invalid: Array, extra_data: T) -> Tree[T]:
    """A tree of nothing but its root, with room for one node a simulation."""
    games, actions = root.prior_logits.shape
    scalars, rows = (games, simulations + 1), (games, simulations + 1, actions)
    kind = root.value.dtype

    def room(x: Array) -> Array:
        return jnp.zeros((*scalars, *x.shape[1:]), x.dtype).at[:, Tree.ROOT_INDEX].set(x)

    return Tree(
        node_visits=jnp.zeros(scalars, jnp.int32).at[:, Tree.ROOT_INDEX].set(1),
        raw_values=room(root.value),
        node_values=room(root.value),
        parents=jnp.full(scalars, Tree.NO_PARENT, jnp.int32),
        action_from_parent=jnp.full(scalars, Tree.NO_PARENT, jnp.int32),
        children_index=jnp.full(rows, Tree.UNVISITED, jnp.int32),
        children_prior_logits=room(root.prior_logits),
        children_visits=jnp.zeros(rows, jnp.int32),
        children_rewards=jnp.zeros(rows, kind),
        children_discounts=jnp.zeros(rows, kind),
        children_values=jnp.zeros(rows, kind),
        embeddings=jax.tree.map(room, root.embedding),
        root_invalid_actions=invalid,
        extra_data=extra_data,
    )
