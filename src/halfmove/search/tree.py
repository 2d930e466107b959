"""The search tree: what is known of every node, and what a rule sees of it.

search/walk.py goes down a tree and search/grow.py backs values up, with plain
XLA on any backend; search/kernels.py does both as one program.
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise, pytree
from halfmove.search.rule import Untried, least, softmax

UNVISITED = -1
LEVELS = 2  # of a path that are backed up at once


@pytree
class Tree:
    """A batch of search trees. Node 0 is the root; node i came with leaf i."""

    logits: Array  # [B, N, A] f32; -inf marks an illegal action
    prior: Array  # [B, N, A] f32, softmax of the logits
    visits: Array  # [B, N, A] i32
    q: Array  # [B, N, A] f32, mean value of the action
    child: Array  # [B, N, A] i32, UNVISITED where there is none
    count: Array  # [B, N] i32, visits of the node; 0 where there is none
    value: Array  # [B, N] f32, mean value of the node
    raw_value: Array  # [B, N] f32, what the model said of it
    reward: Array  # [B, N] f32, of the edge into the node
    discount: Array  # [B, N] f32, of the edge into the node
    parent: Array  # [B, N] i32, UNVISITED for the root
    action: Array  # [B, N] i32, the action that leads here
    q_min: Array  # [B] f32, least value seen in the tree
    q_max: Array  # [B] f32
    node: Any  # [B, N, ...], the model's nodes
    pending: Array | None = None  # [B, N, A] i32, leaves under way (leaves > 1)


@pytree
class Noise:
    """What was drawn for one search."""

    row: Array  # [B, A] f32
    seed: Array  # [B] u32, of the numbers drawn at every visit
    schedule: Array | None  # [B, n] i32, see search/halving.py


@pytree
class Path:
    """Where a walk ended: `action` at `parent` leads to the node to evaluate."""

    parent: Array  # [B] i32
    action: Array  # [B] i32
    leaf: Array  # [B] i32; the number of nodes where nothing is to be done


@pytree
class Descent(Path):
    """A path with every node on it."""

    nodes: Array  # [depth, B] i32, root first
    length: Array  # [B] i32, edges; 0 where nothing is to be done


@pytree
class Leaf:
    """What the model said of the node at the end of a walk."""

    logits: Array  # [B, A] f32
    value: Array  # [B] f32
    reward: Array  # [B] f32
    discount: Array  # [B] f32


def random_row(seed: Array, node: Array, count: Array, lanes: Array) -> Array:
    """Numbers in [0, 1), one a lane, from a hash of the search, node and visit.

    Computed where they are read and alike in both engines: integers only.
    """
    u32 = jnp.uint32

    def mix(x: Array) -> Array:
        x = (x ^ (x >> u32(16))) * u32(0x21F0AAAD)
        x = (x ^ (x >> u32(15))) * u32(0x735A2D97)
        return x ^ (x >> u32(15))

    where = mix(seed + node.astype(u32) * u32(0x9E3779B9)) + count.astype(u32) * u32(0x85EBCA6B)
    x = mix(mix(where) + lanes.astype(u32) * u32(0xC2B2AE35))
    return (x >> u32(8)).astype(jnp.int32).astype(jnp.float32) * jnp.float32(2.0**-24)


def with_pending(
    visits: Array, q: Array, pending: Array, value: Array, q_min: Array, untried: Untried
) -> tuple[Array, Array]:
    """Visits and Q with leaves under way counted as losses: the worst the node knows of.

    Rows [..., A]; `value` of the node and `q_min` of the tree, [..., 1] each. An action not tried
    yet has the Q `untried` (`Rule`): one under way must not look better for that.
    """
    floor = q_min if isinstance(untried, str) else untried
    low = value if floor is None else jnp.minimum(value, floor)
    # Also where every action was visited: a padded row of a GPU's program has lanes that were not.
    worst = jnp.minimum(least(jnp.where(visits > 0, q, low)), low)
    total = visits + pending
    known = q * visits.astype(jnp.float32) + worst * pending.astype(jnp.float32)
    return total, jnp.where(pending > 0, known / jnp.maximum(total, 1).astype(jnp.float32), q)


def empty(logits: Array, value: Array, node: Any, nodes: int, *, pending: bool) -> Tree:
    """A tree of nothing but its root. logits [B, A], value [B], node [B, ...]."""
    games, actions = logits.shape
    rows = (games, nodes, actions)

    def scalars(fill: float, dtype: Any) -> Array:
        return jnp.full((games, nodes), fill, dtype)

    def room(x: Array) -> Array:
        return jnp.zeros((games, nodes, *x.shape[1:]), x.dtype).at[:, 0].set(x)

    return Tree(
        logits=jnp.full(rows, -jnp.inf, jnp.float32).at[:, 0].set(logits),
        prior=jnp.zeros(rows, jnp.float32).at[:, 0].set(softmax(logits)),
        visits=jnp.zeros(rows, jnp.int32),
        q=jnp.zeros(rows, jnp.float32),
        child=jnp.full(rows, UNVISITED, jnp.int32),
        count=scalars(0, jnp.int32).at[:, 0].set(1),
        value=scalars(0.0, jnp.float32).at[:, 0].set(value),
        raw_value=scalars(0.0, jnp.float32).at[:, 0].set(value),
        reward=scalars(0.0, jnp.float32),
        discount=scalars(0.0, jnp.float32),
        parent=scalars(UNVISITED, jnp.int32),
        action=scalars(UNVISITED, jnp.int32),
        q_min=value.astype(jnp.float32),
        q_max=value.astype(jnp.float32),
        node=jax.tree.map(room, node),
        pending=jnp.zeros(rows, jnp.int32) if pending else None,
    )


def stats_of(tree: Tree, node: Array, seed: Array, untried: Untried = None) -> NodeStats:
    """Statistics of one node a game. node [B]; `untried` as in `with_pending`."""
    games = jnp.arange(node.shape[0])
    visits, q = tree.visits[games, node], tree.q[games, node]
    count = tree.count[games, node]
    if tree.pending is not None:
        pending = tree.pending[games, node]
        value, low = tree.value[games, node][:, None], tree.q_min[:, None]
        visits, q = with_pending(visits, q, pending, value, low, untried)
        count = 1 + jnp.sum(visits, axis=-1)
    lanes = jnp.arange(visits.shape[-1])
    return NodeStats(
        logits=tree.logits[games, node],
        prior=tree.prior[games, node],
        visits=visits,
        q=q,
        count=count,
        value=tree.value[games, node],
        raw_value=tree.raw_value[games, node],
        q_min=tree.q_min,
        q_max=tree.q_max,
        random=random_row(seed[:, None], node[:, None], count[:, None], lanes[None]),
    )


def root_noise(noise: Noise, count: Array) -> RootNoise:
    """What root rules see, given how often the root was visited. count [B]."""
    if noise.schedule is None:
        return RootNoise(row=noise.row, want=jnp.zeros_like(count))
    turn = jnp.minimum(count - 1, noise.schedule.shape[-1] - 1)
    return RootNoise(
        row=noise.row,
        want=jnp.take_along_axis(noise.schedule, turn[:, None], axis=-1)[:, 0],
    )


def changed(tree: Tree, **fields: Any) -> Tree:
    """The tree with other fields."""
    return Tree(**{**tree.__dict__, **fields})
