"""The search tree and the engine that walks it with plain XLA, on any backend.

A tree is touched only where a path goes. The walk carries a few [B] vectors
and reads the tree from outside its loop; the backup scatters along the path.
Means are kept as mctx keeps them, so that both round alike.
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.core.types import Array, NodeStats, RootNoise, pytree
from halfmove.search.rule import Rule, best, softmax

UNVISITED = -1


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


def with_pending(visits: Array, q: Array, pending: Array, value: Array) -> tuple[Array, Array]:
    """Visits and Q with leaves under way counted as losses: the worst the node knows of.

    Rows [..., A], `value` [..., 1] of the node.
    """
    worst = jnp.min(jnp.where(visits > 0, q, value), axis=-1, keepdims=True)
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


def stats_of(tree: Tree, node: Array, seed: Array) -> NodeStats:
    """Batched statistics of one node a game. node [B]."""
    games = jnp.arange(node.shape[0])
    visits, q = tree.visits[games, node], tree.q[games, node]
    count = tree.count[games, node]
    if tree.pending is not None:
        pending = tree.pending[games, node]
        visits, q = with_pending(visits, q, pending, tree.value[games, node][:, None])
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


def walk(tree: Tree, noise: Noise, rule: Rule, fresh: Array, max_depth: int) -> Path:
    """From the root to the first edge that leads nowhere yet. `fresh` names its node."""
    games, nodes, actions = tree.logits.shape
    every = jnp.arange(games)
    away = RootNoise(row=jnp.zeros(actions), want=jnp.int32(0))

    def follow(node: Array, action: Array, playable: Array) -> tuple[Array, Array]:
        action = jnp.where(playable, action, 0)
        return action, jnp.where(playable, tree.child[every, node, action], UNVISITED)

    def there(child: Array) -> Array:
        if tree.pending is None:
            return child >= 0
        # A node under way has an edge but no statistics yet.
        return (child >= 0) & (tree.count[every, jnp.maximum(child, 0)] > 0)

    zero = jnp.zeros(games, jnp.int32)
    stats = stats_of(tree, zero, noise.seed)
    here = root_noise(noise, stats.count)
    scores = jax.vmap(rule.select_root)(stats, here)
    scores = jnp.where(stats.legal & (here.row > -jnp.inf), scores, -jnp.inf)
    playable = jnp.max(stats.logits, axis=-1) > -jnp.inf
    action, child = follow(zero, best(scores), playable)
    going = there(child) & (max_depth > 1)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        node, action, child, going, depth = state
        stats = stats_of(tree, jnp.maximum(child, 0), noise.seed)
        scores = jax.vmap(rule.select, in_axes=(0, None))(stats, away)
        chosen = best(jnp.where(stats.legal, scores, -jnp.inf))
        # A node without legal actions is a leaf that is evaluated again.
        going = going & (jnp.max(stats.logits, axis=-1) > -jnp.inf)
        below, next_child = follow(jnp.maximum(child, 0), chosen, going)
        node = jnp.where(going, child, node)
        action = jnp.where(going, below, action)
        child = jnp.where(going, next_child, child)
        return node, action, child, going & there(child) & (depth < max_depth), depth + 1

    state: tuple[Array, ...] = (zero, action, child, going, jnp.int32(2))
    node, action, child, _, _ = jax.lax.while_loop(lambda s: jnp.any(s[3]), step, state)
    leaf = jnp.where(child >= 0, child, fresh)
    return Path(parent=node, action=action, leaf=jnp.where(playable, leaf, nodes))


def reserve(tree: Tree, path: Path) -> Tree:
    """Marks a leaf as under way: its edge exists, its path counts as a loss."""
    games = jnp.arange(path.leaf.shape[0])
    nodes = tree.count.shape[1]
    at = jnp.where(path.leaf < nodes, path.parent, nodes)
    tree = _link(tree, path)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        pending, node, action = state
        pending = pending.at[games, node, action].add(1)
        up = jnp.where((node > 0) & (node < nodes), tree.parent[games, node], nodes)
        return pending, up, tree.action[games, jnp.minimum(node, nodes - 1)]

    start: tuple[Any, ...] = (tree.pending, at, path.action)
    pending, _, _ = jax.lax.while_loop(lambda s: jnp.any(s[1] < nodes), step, start)
    return _replace(tree, pending=pending)


def grow(tree: Tree, path: Path, leaf: Leaf, node: Any) -> Tree:
    """Writes the evaluated node and backs its value up to the root."""
    games = jnp.arange(path.leaf.shape[0])
    nodes = tree.count.shape[1]
    at = (games, path.leaf)
    tree = _link(tree, path)
    tree = _replace(
        tree,
        logits=tree.logits.at[at].set(leaf.logits),
        prior=tree.prior.at[at].set(softmax(leaf.logits)),
        raw_value=tree.raw_value.at[at].set(leaf.value),
        value=tree.value.at[at].set(leaf.value),
        count=tree.count.at[at].add(1),
        reward=tree.reward.at[at].set(leaf.reward),
        discount=tree.discount.at[at].set(leaf.discount),
        node=jax.tree.map(lambda t, x: t.at[at].set(x), tree.node, node),
    )
    read = (tree.parent, tree.action, tree.reward, tree.discount)

    def up(state: tuple[Any, ...]) -> tuple[Any, ...]:
        node, gain, mean, low, high, visits, q, value, count, pending = state
        going = (node > 0) & (node < nodes)
        parent, action, reward, discount = (x[games, node] for x in read)
        gain = reward + discount * gain
        edge = reward + discount * mean
        to = jnp.where(going, parent, nodes)
        before = count[games, parent].astype(jnp.float32)
        mean = (value[games, parent] * before + gain) / (before + 1.0)
        low = jnp.where(going, jnp.minimum(low, edge), low)
        high = jnp.where(going, jnp.maximum(high, edge), high)
        visits = visits.at[games, to, action].add(1)
        q = q.at[games, to, action].set(edge)
        value = value.at[games, to].set(mean)
        count = count.at[games, to].add(1)
        if pending is not None:
            pending = pending.at[games, to, action].add(-1)
        return to, gain, mean, low, high, visits, q, value, count, pending

    state = (
        path.leaf,
        leaf.value,
        leaf.value,
        tree.q_min,
        tree.q_max,
        tree.visits,
        tree.q,
        tree.value,
        tree.count,
        tree.pending,
    )
    state = jax.lax.while_loop(lambda s: jnp.any((s[0] > 0) & (s[0] < nodes)), up, state)
    names = ("q_min", "q_max", "visits", "q", "value", "count", "pending")
    return _replace(tree, **dict(zip(names, state[3:], strict=True)))


def _link(tree: Tree, path: Path) -> Tree:
    games = jnp.arange(path.leaf.shape[0])
    nodes = tree.count.shape[1]
    parent = jnp.where(path.leaf < nodes, path.parent, nodes)
    return _replace(
        tree,
        child=tree.child.at[games, parent, path.action].set(path.leaf),
        parent=tree.parent.at[games, path.leaf].set(path.parent),
        action=tree.action.at[games, path.leaf].set(path.action),
    )


def _replace(tree: Tree, **changes: Any) -> Tree:
    return Tree(**{**tree.__dict__, **changes})
