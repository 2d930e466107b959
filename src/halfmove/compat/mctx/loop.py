"""The search over mctx's own tree layout, for selection functions that read all of it.

The walk carries a few [B] vectors and reads the tree from outside its loop;
only the user's function is under `vmap`. The backup scatters along the path.
Keys are split as mctx splits them, down to every level of every walk.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from halfmove.compat.mctx.tree import Tree, planted
from halfmove.compat.mctx.types import (
    InteriorActionSelectionFn,
    LoopFn,
    Params,
    RecurrentFn,
    RecurrentFnOutput,
    RootActionSelectionFn,
    RootFnOutput,
)
from halfmove.core.types import Array

# (keys [B], batched tree, nodes [B], depth) -> actions [B]
Choose = Callable[[Array, Tree[Any], Array, Array], Array]


def search(
    params: Params,
    rng_key: Array,
    *,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    root_action_selection_fn: RootActionSelectionFn,
    interior_action_selection_fn: InteriorActionSelectionFn,
    num_simulations: int,
    max_depth: int | None = None,
    invalid_actions: Array | None = None,
    extra_data: Any = None,
    loop_fn: LoopFn = jax.lax.fori_loop,
) -> Tree[Any]:
    """The trees after `num_simulations` simulations with the user's own selection functions.

    `root_action_selection_fn(key, tree, node_index)` and
    `interior_action_selection_fn(key, tree, node_index, depth)` see one
    unbatched tree each and return one action. `recurrent_fn(params, key,
    action, embedding)` is called once a simulation for the whole batch.
    `max_depth` counts edges from the root. `invalid_actions` [B, A] and
    `extra_data` [B, ...] are handed to the selection functions in the tree.
    """
    root = checked_root(root)
    if invalid_actions is None:
        invalid_actions = jnp.zeros_like(root.prior_logits)
    tree = planted(root, num_simulations, jnp.asarray(invalid_actions), extra_data)
    deepest = num_simulations if max_depth is None else max_depth
    choices = (
        lambda key, tree, node, depth: root_action_selection_fn(key, tree, node),
        interior_action_selection_fn,
    )
    choose_root, choose = (jax.vmap(f, in_axes=(0, 0, 0, None)) for f in choices)

    def body(turn: Array, carry: tuple[Array, Tree[Any]]) -> tuple[Array, Tree[Any]]:
        key, tree = carry
        key, walk_key, model_key = jax.random.split(key, 3)
        parent, action, child = _walk(walk_key, tree, choose_root, choose, deepest)
        leaf = jnp.where(child == Tree.UNVISITED, jnp.asarray(turn + 1, jnp.int32), child)
        games = jnp.arange(parent.shape[0])
        embedding = jax.tree.map(lambda x: x[games, parent], tree.embeddings)
        said, embedding = recurrent_fn(params, model_key, action, embedding)
        check_step(said, tree.num_actions, parent.shape[0])
        tree = _expand(tree, parent, action, leaf, said, embedding)
        return key, _backup(tree, leaf)

    return loop_fn(0, num_simulations, body, (rng_key, tree))[1]


def checked_root(root: RootFnOutput) -> RootFnOutput:
    """`root` as arrays; refuses shapes that are no batch of positions."""
    logits, value = jnp.asarray(root.prior_logits), jnp.asarray(root.value)
    if logits.ndim != 2:
        raise ValueError(f"root.prior_logits must have shape [B, A], got {logits.shape}")
    if value.shape != logits.shape[:1]:
        raise ValueError(f"root.value must have shape {logits.shape[:1]}, got {value.shape}")
    embedding = jax.tree.map(jnp.asarray, root.embedding)
    return RootFnOutput(prior_logits=logits, value=value, embedding=embedding)


def check_step(said: RecurrentFnOutput, actions: int, games: int) -> None:
    """Refuses a model output that does not fit the tree."""
    wanted = {"prior_logits": (games, actions)}
    for name in ("prior_logits", "reward", "discount", "value"):
        shape, right = jnp.shape(getattr(said, name)), wanted.get(name, (games,))
        if shape != right:
            raise ValueError(f"recurrent_fn: {name} must have shape {right}, got {shape}")


def _walk(
    key: Array, tree: Tree[Any], choose_root: Choose, choose: Choose, deepest: Any
) -> tuple[Array, Array, Array]:
    """(parent, action, child) [B] at the end of a walk; child is UNVISITED where new."""
    count = tree.node_visits.shape[0]
    games, start = jnp.arange(count), jnp.full(count, Tree.ROOT_INDEX, jnp.int32)
    depth = jnp.zeros((), tree.children_prior_logits.dtype)

    def level(keys: Array, node: Array, depth: Array, pick: Choose) -> tuple[Array, Array, Array]:
        both = jax.vmap(jax.random.split)(keys)
        action = pick(both[:, 1], tree, node, depth).astype(jnp.int32)
        return both[:, 0], action, tree.children_index[games, node, action]

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        keys, node, action, child, going, depth = state
        at = jnp.where(going, child, node)
        keys, chosen, below = level(keys, at, depth, choose)
        action, child = jnp.where(going, chosen, action), jnp.where(going, below, child)
        depth = depth + 1
        going = going & (child != Tree.UNVISITED) & (depth < deepest)
        return keys, at, action, child, going, depth

    keys, action, child = level(jax.random.split(key, count), start, depth, choose_root)
    depth = depth + 1
    going = (child != Tree.UNVISITED) & (depth < deepest)
    state: tuple[Array, ...] = (keys, start, action, child, going, depth)
    end = jax.lax.while_loop(lambda s: jnp.any(s[4]), step, state)
    return end[1], end[2], end[3]


def _expand(
    tree: Tree[Any],
    parent: Array,
    action: Array,
    leaf: Array,
    said: RecurrentFnOutput,
    embedding: Any,
) -> Tree[Any]:
    """Writes what the model said. A leaf at the greatest depth is written again."""
    games = jnp.arange(leaf.shape[0])
    node, edge = (games, leaf), (games, parent, action)

    def put(x: Array, at: tuple[Array, ...], new: Any) -> Array:
        return x.at[at].set(jnp.asarray(new).astype(x.dtype))

    return tree.replace(
        children_prior_logits=put(tree.children_prior_logits, node, said.prior_logits),
        raw_values=put(tree.raw_values, node, said.value),
        node_values=put(tree.node_values, node, said.value),
        node_visits=tree.node_visits.at[node].add(1),
        parents=put(tree.parents, node, parent),
        action_from_parent=put(tree.action_from_parent, node, action),
        children_index=put(tree.children_index, edge, leaf),
        children_rewards=put(tree.children_rewards, edge, said.reward),
        children_discounts=put(tree.children_discounts, edge, said.discount),
        embeddings=jax.tree.map(lambda x, new: put(x, node, new), tree.embeddings, embedding),
    )


def _backup(tree: Tree[Any], leaf: Array) -> Tree[Any]:
    """Carries the value of `leaf` [B] up to the root."""
    games = jnp.arange(leaf.shape[0])
    nodes = tree.node_visits.shape[1]

    def up(state: tuple[Array, ...]) -> tuple[Array, ...]:
        node, gain, mean, values, counts, child_values, child_visits = state
        going = node != Tree.ROOT_INDEX
        parent, action = tree.parents[games, node], tree.action_from_parent[games, node]
        reward = tree.children_rewards[games, parent, action]
        gain = reward + tree.children_discounts[games, parent, action] * gain
        count = counts[games, parent]
        above = ((values[games, parent] * count + gain) / (count + 1.0)).astype(values.dtype)
        # A game that has arrived writes past the end, which is dropped.
        to = jnp.where(going, parent, nodes)
        return (
            jnp.where(going, parent, node),
            gain,
            above,
            values.at[games, to].set(above),
            counts.at[games, to].add(1),
            child_values.at[games, to, action].set(mean),
            child_visits.at[games, to, action].add(1),
        )

    value = tree.node_values[games, leaf]
    state: tuple[Array, ...] = (
        leaf, value, value, tree.node_values, tree.node_visits,
        tree.children_values, tree.children_visits,
    )  # fmt: skip
    end = jax.lax.while_loop(lambda s: jnp.any(s[0] != Tree.ROOT_INDEX), up, state)
    return tree.replace(
        node_values=end[3], node_visits=end[4], children_values=end[5], children_visits=end[6]
    )
