"""Backing values up with plain XLA.

Only the path is touched: every array is scattered to along it and nothing else
is read or copied. Several levels go up at once, since each costs a CPU about as
much as all. Means are kept as mctx keeps them, so that both round alike.
"""

from typing import Any

import jax
import jax.numpy as jnp

from halfmove.search.rule import softmax
from halfmove.search.tree import LEVELS, Descent, Leaf, Path, Tree, changed


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
    return changed(tree, pending=pending)


def grow(tree: Tree, path: Descent, leaf: Leaf, node: Any) -> Tree:
    """Writes the evaluated node and backs its value up to the root."""
    games = jnp.arange(path.leaf.shape[0])
    nodes = tree.count.shape[1]
    at = (games, path.leaf)
    tree = _link(tree, path)
    tree = changed(
        tree,
        logits=tree.logits.at[at].set(leaf.logits),
        prior=tree.prior.at[at].set(softmax(leaf.logits)),
        raw_value=tree.raw_value.at[at].set(leaf.value),
        value=tree.value.at[at].set(leaf.value),
        count=tree.count.at[at].add(1),
        reward=tree.reward.at[at].set(leaf.reward),
        discount=tree.discount.at[at].set(leaf.discount),
        node=jax.tree.map(lambda t, x: t.at[at].set(x, unique_indices=True), tree.node, node),
    )
    steps, length = path.nodes, path.length

    def lot(state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Edges `start` to `start + LEVELS` of every path, the deepest first."""
        start, gain, below, low, high, visits, q, value, count, pending = state
        depth = (start + jnp.arange(LEVELS))[:, None]
        on = depth < length
        nodes_here = jax.lax.dynamic_slice_in_dim(steps, start, LEVELS + 1)
        parent, child = jnp.where(on, nodes_here[:-1], 0), jnp.where(on, nodes_here[1:], 0)
        at_child = (games, child)
        action, reward, discount = (x[at_child] for x in (tree.action, tree.reward, tree.discount))
        gains = []
        for k in reversed(range(LEVELS)):
            gain = jnp.where(on[k], reward[k] + discount[k] * gain, gain)
            gains.append(gain)
        before = count[games, parent]
        number = before.astype(jnp.float32)
        means = (value[games, parent] * number + jnp.stack(gains[::-1])) / (number + 1.0)
        behind = jnp.concatenate([means[1:], below[None]])
        edge = reward + discount * jnp.where(depth + 1 == length, leaf.value, behind)
        low = jnp.minimum(low, jnp.min(jnp.where(on, edge, jnp.inf), axis=0))
        high = jnp.maximum(high, jnp.max(jnp.where(on, edge, -jnp.inf), axis=0))
        to = jnp.where(on, parent, nodes)
        visits = visits.at[games, to, action].add(1)
        q = q.at[games, to, action].set(edge)
        value = value.at[games, to].set(means)
        # Set, not added to: what was read must not be copied first.
        count = count.at[games, to].set(before + 1)
        if pending is not None:
            pending = pending.at[games, to, action].add(-1)
        start = start - LEVELS
        return start, gain, means[0], low, high, visits, q, value, count, pending

    deepest = (jnp.max(length) - 1) // LEVELS * LEVELS
    state: tuple[Any, ...] = (
        deepest, leaf.value, leaf.value, tree.q_min, tree.q_max,
        tree.visits, tree.q, tree.value, tree.count, tree.pending,
    )  # fmt: skip
    state = jax.lax.while_loop(lambda s: s[0] >= 0, lot, state)
    names = ("q_min", "q_max", "visits", "q", "value", "count", "pending")
    return changed(tree, **dict(zip(names, state[3:], strict=True)))


def _link(tree: Tree, path: Path) -> Tree:
    games = jnp.arange(path.leaf.shape[0])
    nodes = tree.count.shape[1]
    parent = jnp.where(path.leaf < nodes, path.parent, nodes)
    return changed(
        tree,
        child=tree.child.at[games, parent, path.action].set(path.leaf),
        parent=tree.parent.at[games, path.leaf].set(path.parent),
        action=tree.action.at[games, path.leaf].set(path.action),
    )
